"""Time limits of chain calls. A call that contains another has the larger limit: all but two follow from one number."""

from typing import Final, NamedTuple


class Limits(NamedTuple):
    """Time limits of chain calls, seconds.

    A call whose endpoint falls silent is answered by the next endpoint within the same call:
    `answer_s`, a look at the others and connecting to one of them, `look_s` each, make `call_s`.

    Attributes:
        call_s: to connect, and for every single call.
        submit_s: for a submission, from its preparation until it is final.
        no_block_s: time without a new block after which a chain counts as unreachable for those who wait for one.
    """

    call_s: float = 20.0
    submit_s: float = 150.0
    no_block_s: float = 120.0

    @property
    def look_s(self) -> float:
        """Limit of an endpoint's probe, if there are others."""
        return self.call_s / 4

    @property
    def answer_s(self) -> float:
        """Time without an answer after which an endpoint is left, if another is healthy."""
        return self.call_s * 0.45

    @property
    def still_s(self) -> float:
        """Time without a new block after which an endpoint is left, if another is healthy."""
        return self.call_s * 3


LIMITS: Final = Limits()
