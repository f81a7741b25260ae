"""What is kept for good of an answer's raw bytes, whatever becomes of them (SPEC 16, D-28)."""

from typing import Annotated, NamedTuple

from msgspec import Meta

from validator.protocol.canonical import sha256_hex
from validator.protocol.limits import MAX_SAFE_INTEGER


class RawAnswer(NamedTuple):
    """The bytes of an answer as they arrived. Its stored form is the list of the three.

    Attributes:
        sha256: of the bytes that arrived, hex.
        size: how many those were.
        complete: whether they were the whole body of a response with status 200.
    """

    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    size: Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
    complete: bool

    def holds(self, data: bytes) -> bool:
        """Whether these are the bytes."""
        return len(data) == self.size and sha256_hex(data) == self.sha256


RawAnswers = tuple[tuple[RawAnswer | None, ...], ...]
"""Of a round's dispatches: per task, and in it per member, both in plan order. None where no byte of a body arrived."""
