"""The few numbers of a settled round that listings show."""

from collections.abc import Sequence

from validator.protocol.means import mean
from validator.protocol.reasons import Reason
from validator.protocol.round import MemberOutcome
from validator.store.records import RoundSummary


def summarise(members: Sequence[MemberOutcome]) -> RoundSummary:
    """Return how many answers passed and failed, and the means of what had a value."""
    failed = sum(1 for member in members if Reason(member.reason).gate)
    qualities = [member.emission.quality for member in members if member.emission is not None]
    consensus = [member.consensus for member in members if member.components is not None]
    return RoundSummary(
        accepted=len(members) - failed,
        failed=failed,
        mean_quality=mean(qualities) if qualities else None,
        mean_consensus=mean(consensus) if consensus else None,
    )
