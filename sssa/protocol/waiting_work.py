"""Values and states of waiting work: executions (SPEC 15) and code checks (SPEC 12), run between the rounds."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeVar

from msgspec import Struct

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.execution import AnswerResult, RunReport, WorkState
from sssa.protocol.reasons import Reason
from sssa.protocol.round import ExecutionResult, FilledQuality
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_run import CodeReport

WorkKind = Literal["executions", "code"]
EXECUTIONS: Final[WorkKind] = "executions"
CODE: Final[WorkKind] = "code"


class Executed(Struct, frozen=True, tag="execution"):
    """The result of an execution: what the runs showed, and the result of each valid primary in group order.

    An inconclusive execution whose runs were compared has a report and no results.
    """

    report: RunReport
    results: tuple[AnswerResult, ...] = ()


class Judged(Struct, frozen=True, tag="code"):
    """The result of a code check: what tests and linter found, and S with that quality by the version of the round."""

    report: CodeReport
    score: float


class QueuedWork(NamedTuple):
    """A piece of work that a settled round leaves.

    Attributes:
        work_id: sorts as rounds, then tasks in plan order, then members.
        place: of an execution in the order of the round's draws, of a code check 0.
        hotkeys: the valid primaries in group order; of a code check the miner whose plan has the code.
    """

    work_id: str
    round_id: int
    task_id: str
    skill_type: SkillType
    place: int
    hotkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """A piece of waiting work: pending -> running -> done or inconclusive, or pending again.

    Attributes:
        state: `pending`, `running`, `done` with a result that counts, or `inconclusive` without one.
        attempts: tries that were begun, a running one included; the last began at `started_at`.
        due_at: not tried before.
        reason: of the end; while it is pending, of the last try.
        entered_in: the round whose input has the result; None until one has.
    """

    kind: WorkKind
    work_id: str
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
    result: Executed | Judged | None
    entered_in: int | None

    @property
    def queued(self) -> QueuedWork:
        """The work, as the round that settled its task queued it."""
        return QueuedWork(self.work_id, self.round_id, self.task_id, self.skill_type, self.place, self.hotkeys)


class Execution(WaitingWork):
    """The execution of a task."""

    __slots__ = ()

    @property
    def report(self) -> RunReport | None:
        """Result of the comparison of runs; None if they were not compared."""
        return self.result.report if isinstance(self.result, Executed) else None

    @property
    def results(self) -> tuple[AnswerResult, ...]:
        """The results in group order; none of one that has not ended, or is inconclusive."""
        return self.result.results if isinstance(self.result, Executed) else ()

    @property
    def counted(self) -> tuple[ExecutionResult, ...]:
        """The results as a round's input has them."""
        return tuple(
            ExecutionResult(str(self.round_id), self.task_id, one.hotkey, self.skill_type, one.event)
            for one in self.results
        )

    @property
    def written(self) -> bytes:
        """Result as canonical bytes, for the record of the round that counts it."""
        results = [{"hotkey": one.hotkey, "event": one.event, "report": one.report} for one in self.results]
        return canonical_bytes({"execution_id": self.work_id, "report": self.report, "results": results})

    def only(self, hotkey: str) -> "Execution":
        """Return it with the result of one miner alone."""
        if not isinstance(self.result, Executed):
            return self
        its = tuple(one for one in self.result.results if one.hotkey == hotkey)
        return replace(self, result=Executed(self.result.report, its))


class CodeCheck(WaitingWork):
    """The judging of one plan's code."""

    __slots__ = ()

    @property
    def hotkey(self) -> str:
        """Hotkey of the planner."""
        return self.hotkeys[0]

    @property
    def report(self) -> CodeReport | None:
        """Result of tests and linter; None if there is none."""
        return self.result.report if isinstance(self.result, Judged) else None

    @property
    def score(self) -> float | None:
        """S with the report's quality, by the scoring version of the answer's round."""
        return self.result.score if isinstance(self.result, Judged) else None

    @property
    def filled(self) -> FilledQuality | None:
        """The result as a round's input has it; None without one."""
        if not isinstance(self.result, Judged):
            return None
        place = self.work_id, str(self.round_id), self.task_id, self.hotkey
        return FilledQuality(*place, self.result.report, self.result.score)


W = TypeVar("W", bound=WaitingWork)


class Upcoming(NamedTuple):
    """Waiting work that is due, with the number of the try that it waits for, from 1.

    `turn`: how many come before it, from 0: of its kind, or of the same miner.
    """

    work_id: str
    attempt: int
    turn: int
