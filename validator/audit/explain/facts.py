"""What is stored of one task of a settled round, for whatever kind of task explains it."""

from collections.abc import Sequence
from typing import NamedTuple

from validator.groups.planning import PlannedTask
from validator.protocol.round import GroupOutcome, MemberOutcome, RoundResults
from validator.store.records import DispatchRecord, TaskState


class TaskFacts(NamedTuple):
    """One task: its group as planned and as it came out, and everything that came back."""

    position: int
    state: TaskState
    planned: PlannedTask
    outcome: GroupOutcome
    members: Sequence[MemberOutcome]
    dispatches: Sequence[DispatchRecord]
    results: RoundResults
