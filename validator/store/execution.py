"""The execution of a task, from the store to the page (SPEC 15)."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from validator.protocol.execution import AnswerResult, RunReport
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan
from validator.protocol.skill_types import SkillType
from validator.protocol.work_states import WorkState
from validator.scoring import Version


class QueuedExecution(NamedTuple):
    """A task that a round wants to have executed.

    Attributes:
        execution_id: sorts as rounds, then tasks in plan order.
        round_id, task_id, skill_type: which task.
        place: in the order of the round's executions, from 0 on.
        hotkeys: the valid primaries, in group order.
    """

    execution_id: str
    round_id: int
    task_id: str
    skill_type: SkillType
    place: int
    hotkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution of a task as it stands.

    Attributes:
        execution_id, round_id, task_id, skill_type, place, hotkeys: see `QueuedExecution`.
        state: `pending`, `running`, `done` with results, or `inconclusive` without them.
        attempts: tries that were begun, a running one included.
        due_at: not tried before.
        started_at: of the last try; None before the first.
        reason: of the end; while it is pending, of the last try.
        report: what the runs showed; None where they were not compared.
        results: in group order.
        entered_in: the round that counted the results; None until one has.
    """

    execution_id: str
    round_id: int
    task_id: str
    skill_type: SkillType
    place: int
    hotkeys: tuple[str, ...]
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    reason: Reason | None
    detail: str | None
    report: RunReport | None
    entered_in: int | None
    results: tuple[AnswerResult, ...] = ()

    @property
    def work_id(self) -> str:
        """Its id as one of all kinds of work."""
        return self.execution_id

    @property
    def queued(self) -> QueuedExecution:
        """As the round that settled the task queued it."""
        return QueuedExecution(
            self.execution_id, self.round_id, self.task_id, self.skill_type, self.place, self.hotkeys
        )


def queued_executions(
    version: Version, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome
) -> tuple[QueuedExecution, ...]:
    """Return what a settled round wants to have executed, for settling and for replay alike; `version` is its own."""
    return tuple(
        QueuedExecution(
            f"{frozen.index:016d}-{one.position:03d}", frozen.index, one.task_id, one.skill_type, place, one.primaries
        )
        for place, one in enumerate(version.executed_tasks(frozen, plan, outcome))
    )
