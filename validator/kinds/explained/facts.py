"""What is stored of one task of a settled round, for whatever kind of task explains it."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from validator.protocol.results import RoundResults
from validator.protocol.round import GroupOutcome, MemberOutcome, RoundInput, RoundTask
from validator.scoring import PlannedTask, Version
from validator.store.dispatch import Dispatch
from validator.store.rows import TaskState
from validator.store.waiting_work import CodeCheck

T = TypeVar("T", bound=RoundTask)


class TaskFacts(NamedTuple, Generic[T]):
    """One task: its group as planned and as it came out, and everything that came back; `version` is the round's.

    `checks`: of the code of its answers, as they stand now.
    """

    version: Version
    task: T
    position: int
    state: TaskState
    planned: PlannedTask
    outcome: GroupOutcome
    members: Sequence[MemberOutcome]
    dispatches: Sequence[Dispatch]
    results: RoundResults
    checks: Sequence[CodeCheck] = ()

    def member(self, hotkey: str) -> MemberOutcome | None:
        """Return what the task came to for `hotkey`, None if that was no member, or the task is void."""
        return _of(hotkey, self.members)

    def as_stored(self, frozen: RoundInput, hotkey: str) -> bool:
        """Whether scoring the task again gives exactly what is stored of `hotkey`."""
        stored = self.member(hotkey)
        if stored is None:
            return True
        again = self.version.score_group(self.planned.task, self.planned.group, frozen.snapshot.epoch, self.results)
        return stored == _of(hotkey, again.members)


def _of(hotkey: str, members: Sequence[MemberOutcome]) -> MemberOutcome | None:
    return next((member for member in members if member.hotkey == hotkey), None)
