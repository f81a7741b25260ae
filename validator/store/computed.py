"""What is remembered of a vector that was computed (SPEC 16, D-23)."""

from dataclasses import dataclass
from datetime import datetime

from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.remedies import remedy_of
from validator.protocol.sssa import Document


class UnpaidWindow(Document, frozen=True):
    """A window with entries that did not pay.

    Attributes:
        hotkey, skill_type: whose.
        reason: code, the first of D-23 that held.
        detail: the numbers behind it, for people.
        epoch: since the vector of this epoch, for this reason without a break.
        round_id: the newest round that was frozen when that vector was computed.
    """

    hotkey: str
    skill_type: str
    reason: Reason
    detail: str
    epoch: int
    round_id: int | None

    @property
    def told(self) -> "UnpaidTold":
        """It in words."""
        return UnpaidTold(
            hotkey=self.hotkey,
            skill_type=self.skill_type,
            reason=self.reason,
            meaning=meaning_of(self.reason),
            detail=self.detail,
            remedy=remedy_of(self.reason),
            since_epoch=self.epoch,
            since_round=self.round_id,
        )


class UnpaidTold(Document, frozen=True):
    """An unpaid window in words, as listings and `--json` show it.

    Attributes:
        meaning, remedy: what the reason says, and what brings the window back; None where nobody here knows.
        since_epoch, since_round: as `epoch` and `round_id` of `UnpaidWindow`.
    """

    hotkey: str
    skill_type: str
    reason: Reason
    meaning: str | None
    detail: str
    remedy: str | None
    since_epoch: int
    since_round: int | None


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A mechanism's vector for an epoch, as it was computed last for that epoch; whether it was sent or not.

    Attributes:
        netuid, mechid, epoch: which one.
        round_id: the newest round that was frozen by then; None where there was none.
        block: of the snapshot.
        scoring_version: that it was computed under.
        positive: whether any miner had a score above 0.
        unpaid: by hotkey, then in the order of SPEC 1.
        link: number of its receipt.
    """

    netuid: int
    mechid: int
    epoch: int
    round_id: int | None
    block: int
    scoring_version: str
    positive: bool
    unpaid: tuple[UnpaidWindow, ...]
    computed_at: datetime
    link: int | None = None
