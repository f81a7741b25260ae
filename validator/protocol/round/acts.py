"""What an operator did between two rounds and changes what is computed from then on (SPEC 9; SPEC 16, D-28)."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document

MAX_ACTS: Final = 64  # in one input; the others are for the next
RoundId = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,15})\Z")]
MAX_REASON: Final = 2_000  # code points


class ClearedFlag(Document, frozen=True):
    """A collusion flag, by its type and the round that raised it: of a miner and a type there is at most one in it."""

    skill_type: SkillType
    round_id: RoundId


class FlagsCleared(Document, frozen=True):
    """An operator cleared flags of a miner, which no longer stand in the input that has the act.

    Attributes:
        act: what it is.
        hotkey: whose flags.
        at: when, SPEC 13 form.
        reason: that the operator gave, as stored: one printable line.
        flags: by the round that raised them, then by type; never none.
    """

    act: Literal["flags_cleared"]
    hotkey: Annotated[str, Meta(pattern=r"\A[1-9A-HJ-NP-Za-km-z]{1,64}\Z")]
    at: str
    reason: Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]
    flags: Annotated[tuple[ClearedFlag, ...], Meta(min_length=1, max_length=1_000)]


Acts = Annotated[tuple[FlagsCleared, ...], Meta(max_length=MAX_ACTS)]
