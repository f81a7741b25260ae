"""Everything that settling a round stores beside its documents: made here, for settling and for replay alike."""

from dataclasses import dataclass
from typing import NamedTuple

from validator.protocol.means import mean
from validator.protocol.reasons import Reason
from validator.protocol.round import (
    AgreementSample,
    AssessedMember,
    FailedMember,
    FlagRaised,
    MemberOutcome,
    ReputationEvent,
    RoundInput,
    RoundOutcome,
)
from validator.scoring import Version
from validator.store.records import RoundSummary, TaskState, WindowEntry


class TaskEnd(NamedTuple):
    """How a task ended."""

    task_id: str
    state: TaskState
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class OutcomeRows:
    """What follows from a round's outcome, a field per part, in the order in which each is written."""

    summary: RoundSummary
    task_ends: tuple[TaskEnd, ...]
    agreements: tuple[AgreementSample, ...]
    flags: tuple[FlagRaised, ...]
    reputation_events: tuple[ReputationEvent, ...]
    window_entries: tuple[WindowEntry, ...]


def rows_of(version: Version, frozen: RoundInput, outcome: RoundOutcome) -> OutcomeRows:
    """Return the rows of a settled round; `version` is its own."""
    return OutcomeRows(
        summary=summary_of(outcome.members),
        task_ends=tuple(TaskEnd(group.task_id, group.task_state, group.reason) for group in outcome.groups),
        agreements=outcome.samples,
        flags=outcome.flags,
        reputation_events=outcome.reputation,
        window_entries=tuple(
            WindowEntry(hotkey, skill_type, frozen.index, task_id, value)
            for hotkey, skill_type, task_id, value in (
                *version.filled_entries(frozen),
                *version.window_entries(frozen, outcome),
            )
        ),
    )


def summary_of(members: tuple[MemberOutcome, ...]) -> RoundSummary:
    """Return how many answers passed and failed, and the means of those with a value."""
    failed = sum(isinstance(member, FailedMember) for member in members)
    assessed = [member for member in members if isinstance(member, AssessedMember)]
    qualities = [member.emission.quality for member in assessed if member.emission is not None]
    consensus = [member.consensus for member in assessed if member.components is not None]
    return RoundSummary(
        accepted_count=len(members) - failed,
        failed_count=failed,
        mean_quality=mean(qualities) if qualities else None,
        mean_consensus=mean(consensus) if consensus else None,
    )
