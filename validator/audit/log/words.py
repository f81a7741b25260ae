"""How much of a log follows from it, and how much is the validator's word, counted by kind (SPEC 16, D-28)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from validator.audit.log.answers import Answers
from validator.audit.log.documents import Planned
from validator.protocol.reasons import Reason
from validator.protocol.round import AssessmentTask, GoalTask, Packed, RoundResults, RoundTask

_OF_GATES: Final[Mapping[int, str]] = MappingProxyType(
    {2: "not parsed", 3: "not valid", 4: "other image", 5: "traces", 6: "probes"}
)
_OF_REASONS: Final[Mapping[Reason, str]] = MappingProxyType(
    {Reason.DEADLINE_LATE: "late", Reason.DEADLINE_STATUS: "other status", Reason.PARSE_TOO_COSTLY: "too costly"}
)
_WHOLE: Final = (Reason.DEADLINE_LATE, Reason.PARSE_TOO_COSTLY)
UNREACHABLE: Final = "unreachable"
VOID: Final = "void"


def word_of(reason: Reason) -> str:
    """Return the kind of a dispatch that failed a gate and whose answer nobody has shown."""
    return _OF_REASONS.get(reason) or _OF_GATES.get(reason.gate, UNREACHABLE)


@dataclass(slots=True)
class Words:
    """What was counted.

    Attributes:
        answers: how many dispatches there were in settled rounds, with those of void tasks.
        unshown: by kind, those of them whose end is the validator's word.
        word: by kind, what else it has said and nobody can compute; see docs/audit.md.
        whole: by kind, answers that came whole and were not paid: late, void, or too costly to judge.
        versions: under which scoring version how many rounds were frozen.
    """

    answers: int = 0
    unshown: Counter[str] = field(default_factory=Counter)
    word: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)

    def planned(self, planned: Planned) -> None:
        """Count what a round's input says of the world."""
        frozen = planned.frozen
        self.versions[frozen.scoring_version] += 1
        self.word["snapshots"] += 1
        self.word["declarations"] += len(frozen.miners)
        for task in frozen.tasks:
            self.word["truths"] += task.truth_sha256 is not UNSET or task.secret is not None
            if isinstance(task, AssessmentTask):
                self.word["windows"] += task.brings_windows
        self.word["executions"] += len(frozen.executions)
        self.word["late qualities"] += len(frozen.filled)

    def answered(self, planned: Planned, answers: Answers, judged: frozenset[tuple[str, str]]) -> None:
        """Count how the dispatches of a settled round ended.

        Args:
            planned: its input and groups.
            answers: what came back.
            judged: (task_id, hotkey) of the answers that were judged again from their bytes.
        """
        results = answers.results
        self.answers += sum(len(group.members) for group in planned.plan.groups)
        void = {task.task_id for task in results.void}
        self.unshown[VOID] += len(results.alone)
        self.unshown[VOID] += sum(len(group.members) for group in planned.plan.groups if group.task_id in void)
        for one in results.rejections:
            if (one.task_id, one.hotkey) not in judged:
                self.unshown[word_of(one.reason)] += 1
        tasks = {task.task_id: task for task in planned.frozen.tasks}
        for answer in (one.packed for one in answers.passed):
            self.word["arrival times"] += 1
            if answer.run is not None:
                self.word["runs"] += 1
                self.word["code qualities"] += _is_judged_code(tasks[answer.task_id], answer)
            elif (answer.task_id, answer.hotkey) not in judged:
                self.word["probes"] += 1
                self.word["traces"] += answer.is_witness(tasks[answer.task_id].skill_type)
        self._count_whole(planned, results, void)

    def _count_whole(self, planned: Planned, results: RoundResults, void: Collection[str]) -> None:
        unpaid = {(one.task_id, one.hotkey): VOID for one in results.alone}
        unpaid |= {
            (one.task_id, one.hotkey): _OF_REASONS[one.reason] for one in results.rejections if one.reason in _WHOLE
        }
        for group, raw in zip(planned.plan.groups, results.raw, strict=True):
            for (hotkey, _), found in zip(group.members, raw, strict=True):
                kind = VOID if group.task_id in void else unpaid.get((group.task_id, hotkey))
                self.whole[kind or ""] += kind is not None and found is not None and found.complete


def _is_judged_code(task: RoundTask, answer: Packed) -> bool:
    return isinstance(task, GoalTask) and task.goal.type == "code" and answer.fields["quality"] is not None
