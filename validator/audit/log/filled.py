"""Late qualities in a log: each of a deferred answer, filled once, worth what its round makes of it (SPEC 12)."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from validator.audit.log.documents import Planned
from validator.protocol.limits import MAX_FILLED
from validator.protocol.round import (
    FilledQuality,
    GoalTask,
    RoundInput,
    RoundOutcome,
    RoundResults,
    WorkflowSubmission,
)
from validator.protocol.workflow_score import WorkflowRun
from validator.scoring import Version

_KEPT: Final = 100_000  # deferred answers; of older ones a log's word is taken

Key = tuple[int, str, str]


class _Waiting(NamedTuple):
    """A deferred answer: the version of its round, the id of its check, and what was measured of its run."""

    version: Version
    check_id: str
    measured: WorkflowRun


@dataclass(slots=True)
class Deferred:
    """The answers of a log whose quality is to come.

    Attributes:
        since: the first round of the log; what earlier ones deferred is the validator's word.
        held: how many were filled whose answer the log tells of.
        before: how many of answers from before `since`.
        forgotten: how many were deferred, not filled, and are not looked for any more.
    """

    since: int | None = None
    held: int = 0
    before: int = 0
    forgotten: int = 0
    _waiting: dict[Key, _Waiting] = field(default_factory=dict)
    _untold: dict[Key, None] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """How many answers were deferred and not filled."""
        return len(self._waiting) + self.forgotten

    def fault(self, frozen: RoundInput) -> tuple[str, str] | None:
        """Return the first place of a round's input that fills what it must not, or wrongly, and what is wrong."""
        if len(frozen.filled) > MAX_FILLED:
            return "filled", f"{len(frozen.filled)} of them, at most {MAX_FILLED}"
        before = ""
        for i, one in enumerate(frozen.filled):
            if one.check_id <= before:
                return f"filled[{i}]", "is filled twice, or out of order"
            before = one.check_id
            wrong = self._wrong(frozen, one)
            if wrong is not None:
                return f"filled[{i}]{wrong[0]}", wrong[1]
        return None

    def _wrong(self, frozen: RoundInput, one: FilledQuality) -> tuple[str, str] | None:
        key = _key(one)
        if key[0] >= frozen.index:
            return ".round_id", "is not of a round before this one"
        waiting = self._waiting.get(key)
        if waiting is None:
            told = self.since is None or key[0] >= self.since
            if told or key in self._untold:
                return "", "fills an answer that was not deferred, or was filled before"
            return None
        if one.check_id != waiting.check_id:
            return ".check_id", f"is not {waiting.check_id}"
        if waiting.version.fill_run(waiting.measured, one.report).score.score != one.score:
            return ".score", "is not what the run is worth with the report"
        return None

    def add(self, version: Version, planned: Planned, results: RoundResults, outcome: RoundOutcome) -> None:
        """Take in a settled round: what it filled is filled, what it deferred waits."""
        frozen = planned.frozen
        for one in frozen.filled:
            if self._waiting.pop(_key(one), None) is not None:
                self.held += 1
                continue
            self.before += 1
            self._untold[_key(one)] = None
        tasks = {task.task_id: task for task in frozen.tasks if isinstance(task, GoalTask)}
        ran = {(one.task_id, one.hotkey): one for one in results.passed if isinstance(one, WorkflowSubmission)}
        for deferred in version.deferred_runs(frozen, planned.plan, outcome):
            answer, task = ran[deferred.task_id, deferred.hotkey], tasks[deferred.task_id]
            measured = version.measure(task.goal, answer.plan, answer.run, 0.0)
            key = (frozen.index, deferred.task_id, deferred.hotkey)
            self._waiting[key] = _Waiting(version, deferred.check_id, measured)
        while len(self._waiting) > _KEPT:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            self.since = max(self.since or 0, oldest[0] + 1)
            self.forgotten += 1
        while len(self._untold) > _KEPT:
            del self._untold[next(iter(self._untold))]


def _key(one: FilledQuality) -> Key:
    return int(one.round_id), one.task_id, one.hotkey
