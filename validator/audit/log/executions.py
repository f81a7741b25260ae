"""Results of execution in a log: all of a task's together, each of an answer of an earlier round, once (SPEC 15)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from validator.audit.log.documents import Planned
from validator.protocol.round import ExecutionResult, RoundOutcome
from validator.scoring import Version

_KEPT: Final = 200_000  # tasks; a bound on what a log can make us keep, and what is older is forgotten

Key = tuple[str, str]
"""(round_id, task_id)."""


class _Executed(NamedTuple):
    """A task whose results may come: what each of them must say.

    Attributes:
        place: round and position in its plan.
        answers: (hotkey, skill type) of the valid primaries, in group order.
        made_here: a fail needs nobody's pass.
    """

    place: tuple[int, int]
    answers: tuple[tuple[str, str], ...]
    made_here: bool


@dataclass(slots=True)
class ExecutionResults:
    """What may still come, and what came.

    Attributes:
        since: the first round of the log; what earlier ones had executed is the validator's word.
        held: counted results that name an answer which the log shows.
        before: those that name an answer from before `since`.
        missing: tasks that gave no result: inconclusive, not come yet, or not looked for any more.
    """

    since: int | None = None
    held: int = 0
    before: int = 0
    _open: dict[Key, _Executed] = field(default_factory=dict)
    _counted: dict[Key, None] = field(default_factory=dict)
    _forgotten: int = 0

    @property
    def missing(self) -> int:
        """See above."""
        return len(self._open) + self._forgotten

    def fault(self, results: tuple[ExecutionResult, ...]) -> str | None:
        """Return the first place among a round's results, `[i]`, that does not follow from the rounds before it."""
        last = (-1, -1)
        seen: set[Key] = set()
        i = 0
        for key, group in groupby(results, _key):
            theirs = tuple(group)
            task = self._open.get(key)
            place = (int(key[0]), last[1] if task is None and int(key[0]) == last[0] else -1)
            if task is not None:
                place = task.place
            if key in seen or place < last or not self._follows(key, task, theirs):
                return f"[{i}]"
            seen.add(key)
            last = place
            i += len(theirs)
        return None

    def add(self, scored_by: Version, planned: Planned, outcome: RoundOutcome) -> None:
        """Take in what a settled round counted and what it has executed."""
        frozen = planned.frozen
        for result in frozen.executions:
            known = _key(result) in self._open
            self.held += known
            self.before += not known
        for key in dict.fromkeys(map(_key, frozen.executions)):
            self._open.pop(key, None)
            self._counted[key] = None
        while len(self._counted) > _KEPT:
            del self._counted[next(iter(self._counted))]
        for key, task in _executed(scored_by, planned, outcome):
            self._open[key] = task
        while len(self._open) > _KEPT:
            oldest = self._open.pop(next(iter(self._open)))
            self.since = max(self.since or 0, oldest.place[0] + 1)
            self._forgotten += 1

    def _follows(self, key: Key, task: _Executed | None, results: tuple[ExecutionResult, ...]) -> bool:
        if task is None:
            return self.since is not None and int(key[0]) < self.since and key not in self._counted
        confirmed = task.made_here or any(one.event == "rerun_pass" for one in results)
        return confirmed and tuple((one.hotkey, str(one.skill_type)) for one in results) == task.answers


def _key(result: ExecutionResult) -> Key:
    return result.round_id, result.task_id


def _executed(scored_by: Version, planned: Planned, outcome: RoundOutcome) -> Iterator[tuple[Key, _Executed]]:
    frozen = planned.frozen
    for one in scored_by.executed_tasks(frozen, planned.plan, outcome):
        answers = tuple((hotkey, str(one.skill_type)) for hotkey in one.primaries)
        made_here = frozen.tasks[one.position].made_here
        yield (frozen.round_id, one.task_id), _Executed((frozen.index, one.position), answers, made_here)
