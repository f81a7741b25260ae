"""The tasks to execute, and comparison of miners' traces with two runs of the bundle and one of nothing (SPEC 15)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any, NamedTuple

from sssa.protocol.draws import draw
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessedMember, RoundInput, RoundOutcome, RoundPlan, is_submitted
from sssa.protocol.skill_types import BASE_TRACES, is_runtime
from sssa.scoring.scoring_types import (
    ComparedAnswer,
    ComparedExecution,
    ComparedFile,
    ExecutionRun,
    StableFile,
    TracedAnswer,
)
from sssa.scoring.v1.rules import ExecutionRules, Ruled
from sssa.state.mechanism_state import ExecutedTask

_Families = Mapping[str, AbstractSet[Any]]
"""Base file to the `#` forms of families."""


def compare_execution(  # noqa: PLR0913 - everything that decides a task's results
    version: Ruled,
    runs: Sequence[ExecutionRun],
    answers: Sequence[TracedAnswer],
    *,
    probes: Mapping[str, AbstractSet[Any]],
    mark: tuple[str, Any] | None,
    made_here: bool,
    digitless: Callable[[Any], Any],
    submitted: bool = False,
) -> ComparedExecution:
    """Return the results of a task's execution, or why it is inconclusive.

    Args:
        version: the round's.
        runs: of the bundle, of the bundle again, of nothing.
        answers: the valid primaries' traces, in group order.
        probes: base file to the signatures that the probes have in it.
        mark: base file and signature of the record of the execution mark; None where none is planted.
        made_here: the task was made at this validator for the round, so that a fail needs no other miner's pass.
        digitless: a signature's `#` form; signatures of a base file with an equal one are a family.
        submitted: the bundle is of a submitted skill, which gives no result.
    """
    files = {name: _RunFile.of(runs, probes, mark, digitless, name) for name in BASE_TRACES}
    task = _RunTask(version.rules.execution, files, mark)
    large = task.large_families()
    stable = {name: one.stable(large[name]) for name, one in files.items()}
    reason = _inconclusive_reason(version.rules.execution, runs, stable, submitted=submitted)
    compared = () if reason else tuple(task.judge(answer, large) for answer in answers)
    events = {one.event for one in compared}
    if not made_here and "rerun_fail" in events and "rerun_pass" not in events:
        reason = Reason.EXECUTION_UNCONFIRMED
    return ComparedExecution(reason, stable, compared)


class _RunFile(NamedTuple):
    """One base file of the three runs.

    Attributes:
        first, second: a and b, the signatures of the bundle's runs.
        tracer: e, those of the run of nothing, and of the probes.
        single: what no family has as a member: e, and the execution mark.
        digitless: a signature's `#` form.
    """

    first: frozenset[Any]
    second: frozenset[Any]
    tracer: frozenset[Any]
    single: frozenset[Any]
    digitless: Callable[[Any], Any]

    @classmethod
    def of(
        cls,
        runs: Sequence[ExecutionRun],
        probes: Mapping[str, AbstractSet[Any]],
        mark: tuple[str, Any] | None,
        digitless: Callable[[Any], Any],
        name: str,
    ) -> "_RunFile":
        first, second, nothing = (frozenset(run.signatures[name]) for run in runs)
        tracer = nothing | probes.get(name, frozenset())
        single = tracer | {mark[1]} if mark is not None and mark[0] == name else tracer
        return cls(first, second, tracer, single, digitless)

    def families(self, least: int, *traces: AbstractSet[Any]) -> frozenset[Any]:
        """Return the `#` forms of the families of which one of these traces has `least` members."""
        sizes = (Counter(map(self.digitless, one - self.single)) for one in traces)
        return frozenset(form for counts in sizes for form, size in counts.items() if size >= least)

    def merged(self, signatures: AbstractSet[Any], families: AbstractSet[Any]) -> frozenset[Any]:
        """Return the signatures with each of these families as one."""
        members = {one: self.digitless(one) for one in signatures - self.single} if families else {}
        return frozenset(form if (form := members.get(one)) in families else one for one in signatures)

    def stable(self, families: AbstractSet[Any]) -> StableFile:
        first, second = self.merged(self.first, families), self.merged(self.second, families)
        either, both = first | second, first & second
        return StableFile(both - self.tracer, either | self.tracer, self.tracer, len(either) - len(both))


def _inconclusive_reason(
    rules: ExecutionRules, runs: Sequence[ExecutionRun], files: Mapping[str, StableFile], *, submitted: bool
) -> Reason | None:
    """Return why the execution gives no result, None if it does."""
    stable = sum(len(one.stable) for one in files.values())
    if submitted:
        return Reason.EXECUTION_SUBMITTED
    if not all(run.ended for run in runs):
        return Reason.EXECUTION_ENDED
    if not all(run.probes for run in runs):
        return Reason.EXECUTION_PROBE
    if stable < rules.min_stable:
        return Reason.EXECUTION_FEW
    if sum(one.varying for one in files.values()) > stable:
        return Reason.EXECUTION_VARIES
    return None


class _RunTask(NamedTuple):
    """The three runs of a task, with which answers are compared.

    Attributes:
        files: by base file.
        mark: base file and signature of the execution mark; None where none is planted.
    """

    rules: ExecutionRules
    files: Mapping[str, _RunFile]
    mark: tuple[str, Any] | None

    def large_families(self) -> _Families:
        """Return the families of the first look, by base file."""
        least = self.rules.family
        return {name: one.families(least, one.first, one.second) for name, one in self.files.items()}

    def judge(self, answer: TracedAnswer, large: _Families) -> ComparedAnswer:
        """Compare an answer; a fail that smaller families explain gives no event."""
        compared = self._compare(answer, large)
        if compared.event == "rerun_fail":
            small = {
                name: one.families(self.rules.small_family, one.first | one.second | answer.signatures[name])
                for name, one in self.files.items()
            }
            if self._compare(answer, small).event == "rerun_pass":
                return compared._replace(event=None)
        return compared

    def _compare(self, answer: TracedAnswer, families: _Families) -> ComparedAnswer:
        """Compare an answer with the runs, each of these families as one signature."""
        rules, faults = self.rules, [] if answer.probes else ["probes"]
        marked = None if self.mark is None else self.mark[1] in answer.signatures[self.mark[0]]
        if marked is False:
            faults.append("mark")
        compared = {}
        for name, run in self.files.items():
            ours = run.stable(families[name])
            theirs = run.merged(answer.signatures[name], families[name]) - ours.tracer
            one = ComparedFile(len(theirs), len(ours.stable & theirs), ours.stable - theirs, theirs - ours.possible)
            if name == "fs":
                missing = len(one.missing) > len(ours.stable) // rules.missing_files
            else:
                missing = one.shared < rules.shared * len(ours.stable)
            if missing:
                faults.append(f"{name} missing")
            if len(one.invented) > len(theirs) // rules.invented + ours.varying:
                faults.append(f"{name} invented")
            compared[name] = one
        return ComparedAnswer(answer.hotkey, "rerun_fail" if faults else "rerun_pass", tuple(faults), marked, compared)


def executed_tasks(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[ExecutedTask, ...]:
    """Return the tasks that are executed after a round, in the order of the smallest `rerun` draw.

    Args:
        frozen: the round's input; its seed draws.
        plan: its groups.
        outcome: their results; void tasks have no members there.
    """
    if not frozen.executes:
        return ()
    valid = {(one.task_id, one.hotkey) for one in outcome.members if isinstance(one, AssessedMember)}
    seed = bytes.fromhex(frozen.seed)
    drawn: list[tuple[bytes, ExecutedTask]] = []
    for position, (task, group) in enumerate(zip(frozen.tasks, plan.groups, strict=True)):
        primaries = tuple(hotkey for hotkey in group.primaries if (task.task_id, hotkey) in valid)
        if is_runtime(task.skill_type) and primaries and not is_submitted(task):
            first = min(draw(seed, "rerun", frozen.round_id, task.task_id, hotkey) for hotkey in primaries)
            drawn.append((first, ExecutedTask(task.task_id, task.skill_type, position, primaries, task.made_here)))
    return tuple(one for _, one in sorted(drawn, key=itemgetter(0)))
