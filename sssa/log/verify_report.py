"""Report of a verification: counts of what was recomputed and of the validator's word (SPEC 16, D-28). No I/O."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from sssa.log.answers import Answers
from sssa.log.lines import Planned
from sssa.log.weight_vectors import Confirmed, Mechanism
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, RoundResults
from sssa.protocol.round import AssessmentTask, GoalTask, RoundTask, is_committed

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
    """Return the kind of a dispatch that failed a gate and whose answer is not given."""
    return _OF_REASONS.get(reason) or _OF_GATES.get(reason.gate, UNREACHABLE)


@dataclass(slots=True)
class Counts:
    """The counts of a log, under the names of `Verified`: its whole numbers, and the others by kind."""

    numbers: Counter[str] = field(default_factory=Counter)
    rounds: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    scores_without_truth: Counter[str] = field(default_factory=Counter)
    unshown: Counter[str] = field(default_factory=Counter)
    whole_unpaid: Counter[str] = field(default_factory=Counter)
    on_word: Counter[str] = field(default_factory=Counter)

    def frozen(self, planned: Planned, *, readable: bool) -> None:
        """Count the facts of a round's input; `readable`: its version is known."""
        frozen = planned.frozen
        committed = Counter(task.truth_sha256 is UNSET for task in frozen.tasks if is_committed(task))
        self.numbers.update(pending=not planned.drawn, truths=committed[True], truths_hidden=committed[False])
        if not readable:
            return
        self.versions[frozen.scoring_version] += 1
        self.on_word["snapshots"] += 1
        self.on_word["declarations"] += len(frozen.miners)
        for task in frozen.tasks:
            self.on_word["truths"] += task.truth_sha256 is not UNSET or task.secret is not None
            if isinstance(task, AssessmentTask):
                self.on_word["windows"] += task.brings_windows
        self.on_word["executions"] += len(frozen.executions)
        self.on_word["late qualities"] += len(frozen.filled)

    def answered(self, planned: Planned, answers: Answers, judged: frozenset[tuple[str, str]]) -> None:
        """Count how the dispatches of a settled round ended.

        `judged`: (task_id, hotkey) of answers that were judged again.
        """
        results = answers.results
        self.numbers["answers"] += len(answers.passed)
        self.numbers["tasks"] += len(planned.plan.groups)
        self.numbers["dispatches"] += sum(len(group.members) for group in planned.plan.groups)
        void = {task.task_id for task in results.void}
        self.unshown[VOID] += len(results.alone)
        self.unshown[VOID] += sum(len(group.members) for group in planned.plan.groups if group.task_id in void)
        for one in results.rejections:
            if (one.task_id, one.hotkey) not in judged:
                self.unshown[word_of(one.reason)] += 1
        tasks = {task.task_id: task for task in planned.frozen.tasks}
        for answer in (one.packed for one in answers.passed):
            self.on_word["arrival times"] += 1
            if answer.run is not None:
                self.on_word["runs"] += 1
                self.on_word["code qualities"] += _is_judged_code(tasks[answer.task_id], answer)
            elif (answer.task_id, answer.hotkey) not in judged:
                self.on_word["probes"] += 1
                self.on_word["traces"] += answer.is_witness(tasks[answer.task_id].skill_type)
        self._count_whole(planned, results, void)

    def _count_whole(self, planned: Planned, results: RoundResults, void: Collection[str]) -> None:
        unpaid = {(one.task_id, one.hotkey): VOID for one in results.alone}
        unpaid |= {
            (one.task_id, one.hotkey): _OF_REASONS[one.reason] for one in results.rejections if one.reason in _WHOLE
        }
        for group, raw in zip(planned.plan.groups, results.raw, strict=True):
            for (hotkey, _), answer in zip(group.members, raw, strict=True):
                kind = VOID if group.task_id in void else unpaid.get((group.task_id, hotkey))
                self.whole_unpaid[kind or ""] += kind is not None and answer is not None and answer.complete


def _is_judged_code(task: RoundTask, answer: Packed) -> bool:
    return isinstance(task, GoalTask) and task.goal.type == "code" and answer.fields["quality"] is not None


@dataclass(frozen=True, slots=True)
class Verified:
    """A file that holds.

    Attributes:
        first, last: numbers of the first and last receipt; from 0 the log is complete up to `last`.
        head: digest of the last receipt's line: two exports of one log agree on it.
        rounds: how many ended in which state.
        first_round, last_round: their ids, None without rounds.
        tasks, answers, proofs: how many were computed again.
        pending: rounds whose groups cannot be drawn again before their epoch's salt is public ("draw pending").
        executions: counted results of execution, each of a valid primary that the file shows (SPEC 15).
        executions_before: counted results of answers from before the file, or forgotten since: the validator's word.
        filled: late qualities, each compared with an answer that the file shows (SPEC 12).
        filled_before: late qualities of answers from before the file, or forgotten since: the validator's word.
        vectors: vectors that were computed, sent or not (SPEC 16, D-28).
        vectors_recomputed: of which everything followed from the file, but who was registered.
        vectors_pending: that wait for a round which was open when they were computed and is not in the file.
        scores_on_word: scores of a kind whose windows began before the file: the validator's word.
        reasons_on_word: windows of which the file does not tell whether, or why, they are unpaid: the validator's word.
        left_out: miners with a window who were left out of a vector as not registered: the validator's word.
        fates: number of submissions by their last state.
        fates_before: fates of vectors from before the file, or forgotten since: the validator's word.
        confirmed: of each mechanism the vector that was confirmed last.
        blocks: the first and the last one that a round or a vector of the file was taken at; None without any.
        versions: scoring version to how many rounds were frozen under it.
        truths: truths that are shown, each as its round committed to it (SPEC 16, D-31).
        truths_hidden: truths that are committed to and not shown.
        scores_without_truth: scores that rest on those, by kind of task: the validator's word.
        dispatches: of settled rounds, those of void tasks too; the result of each follows from the file or is among:
        unshown: by kind, how many ended as they did by the validator's word (docs/auditors.md).
        whole_unpaid: by kind, answers that came whole and were not paid: late, void, too costly.
        issued: when the first and the last receipt were issued, by the validator's clock.
        acts: of operators, each compared with the flags that it clears.
        keys, revocations: statements of publishing keys, and what was taken back (docs/attestations.md).
        on_word: by kind, other claims that nobody can compute.
        given: by kind, how much was compared with what was given next to the file.
    """

    hotkey: str
    first: int
    last: int
    head: str
    rounds: Mapping[str, int]
    first_round: int | None
    last_round: int | None
    tasks: int
    answers: int
    proofs: int
    pending: int
    executions: int
    executions_before: int
    filled: int
    filled_before: int
    vectors: int
    vectors_recomputed: int
    vectors_pending: int
    scores_on_word: int
    reasons_on_word: int
    left_out: int
    fates: Mapping[str, int]
    fates_before: int
    confirmed: tuple[Confirmed, ...]
    mechanisms: tuple[Mechanism, ...]
    blocks: tuple[int, int] | None
    versions: Mapping[str, int]
    truths: int
    truths_hidden: int
    scores_without_truth: Mapping[str, int]
    dispatches: int
    unshown: Mapping[str, int]
    whole_unpaid: Mapping[str, int]
    issued: tuple[str, str]
    acts: int
    keys: int
    revocations: int
    on_word: Mapping[str, int]
    given: Mapping[str, int]


NUMBERS: Final = tuple(one.name for one in fields(Verified) if one.type is int)
"""Names of the plain counts of a report, and of the numbers of its first and last receipt."""
