"""One request and what came of it (SPEC 5, gate 1)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from validator.outgoing.body import Body
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon, RawAnswer

Sent = Callable[[], Awaitable[None]]
"""Awaited once, when the connection stands and before the first byte goes out; its time does not count for the
miner. What it raises comes out of the call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one hotkey.

    Attributes:
        hotkey: the receiver, to which the request is bound.
        axon: where it listens, None if the metagraph names nothing.
        path: request target with query, as signed and sent.
        body: request body, or what begins it; shared between calls.
        deadline_s: seconds from the first byte sent to the last byte received.
        limit: most bytes of the response body.
        sha256: hex digest of `whole` where whoever shares it between calls has it; None: it is made for this call.
        tail: what ends the request body, shared between more calls than `body` is.
    """

    hotkey: str
    axon: Axon | None
    path: str
    body: bytes
    deadline_s: float
    limit: int
    sha256: str | None = None
    tail: bytes = b""

    @property
    def whole(self) -> bytes:
        """All of the request body."""
        return self.body + self.tail


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a call.

    Attributes:
        reason: None when a 200 body arrived whole, within limit and deadline; else a gate 1 code or
            `PARSE_TOO_LARGE`, or `LOCAL_RESOURCES` when this machine ran out of something before the body was kept.
        status: of the response, whenever any response line arrived (D-6), else None.
        seconds: from the first byte sent to the last byte received, or to the failure; None when nothing was sent.
        body: what arrived, where `reason` is None; whoever gets the reply closes it.
        detail: one harmless line about a failure, empty otherwise.
        sending: when the first byte was sent, or where none was, when connecting began; None where it never did.
            A moment of the monotonic clock, as are those of `heard`.
        heard: when the first and the newest byte of a response arrived; None where none did.
        no_route: whether it failed for want of a route or of name service, here or at the peer's.
        raw: of the bytes of the body that arrived, also where it failed; None where none did (SPEC 16, D-28).
    """

    reason: Reason | None
    status: int | None
    seconds: float | None
    body: Body | None
    detail: str
    sending: float | None = None
    heard: tuple[float, float] | None = None
    no_route: bool = False
    raw: RawAnswer | None = None
