"""What is remembered of a vector that was computed (SPEC 16, D-23)."""

from dataclasses import dataclass
from datetime import datetime

from validator.protocol.sssa import Document


class UnpaidWindow(Document, frozen=True):
    """A window with entries that did not pay.

    Attributes:
        hotkey, skill_type: whose.
        reason: code, the first of D-23 that held.
        epoch: since the vector of this epoch, for this reason without a break.
        round_id: the newest round that was frozen when that vector was computed.
    """

    hotkey: str
    skill_type: str
    reason: str
    epoch: int
    round_id: int | None


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A mechanism's vector for an epoch, as it was computed last for that epoch; whether it was sent or not.

    Attributes:
        netuid, mechid, epoch: which one.
        round_id: the newest round that was frozen by then; None where there was none.
        block: of the snapshot; None where an older program did not write it down, and `scoring_version` likewise.
        positive: whether any miner had a score above 0.
        unpaid: by hotkey, then in the order of SPEC 1; None where an older program computed the vector.
    """

    netuid: int
    mechid: int
    epoch: int
    round_id: int | None
    block: int | None
    scoring_version: str | None
    positive: bool
    unpaid: tuple[UnpaidWindow, ...] | None
    computed_at: datetime
