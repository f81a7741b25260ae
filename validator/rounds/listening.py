"""What the round loop tells those who watch it."""

from dataclasses import dataclass
from typing import Protocol

from validator.protocol.reasons import Reason
from validator.protocol.round import RoundOutcome
from validator.rounds.prepare import Prepared
from validator.rounds.settle import Returned


@dataclass(frozen=True, slots=True)
class EndedRound:
    """How a round ended: `outcome` is None unless it was settled, `returned` None when it was skipped."""

    round_id: str
    reason: Reason
    seconds: float
    outcome: RoundOutcome | None = None
    returned: Returned | None = None


class RoundListener(Protocol):
    """Watches rounds; its methods must be quick and must not raise."""

    def started(self, prepared: Prepared) -> None:
        """Note a round whose dispatches go out now."""

    def ended(self, end: EndedRound) -> None:
        """Note a round that ended, however it did."""
