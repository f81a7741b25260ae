"""The tasks to execute, and comparison of miners' traces with two runs of the bundle and one of nothing (SPEC 15)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any

from validator.protocol.draws import draw
from validator.protocol.reasons import Reason
from validator.protocol.round import AssessedMember, RoundInput, RoundOutcome, RoundPlan, is_submitted
from validator.protocol.skill_types import BASE_TRACES, is_runtime
from validator.scoring.constants import ExecutionRules, Ruled
from validator.scoring.values import (
    ComparedAnswer,
    ComparedExecution,
    ComparedFile,
    ExecutionRun,
    StableFile,
    TracedAnswer,
)
from validator.state.values import ExecutedTask


def compare_execution(  # noqa: PLR0913 - everything that decides a task's results
    version: Ruled,
    runs: Sequence[ExecutionRun],
    answers: Sequence[TracedAnswer],
    *,
    probes: Mapping[str, AbstractSet[Any]],
    mark: tuple[str, Any] | None,
    made_here: bool,
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
        submitted: the bundle is of a submitted skill, which gives no result.
    """
    rules = version.rules.execution
    files = {name: _stable(runs, probes.get(name, frozenset()), name) for name in BASE_TRACES}
    reason = _unfit(rules, runs, files, submitted=submitted)
    compared = () if reason else tuple(_compare(rules, files, mark, answer) for answer in answers)
    passed = any(one.event == "rerun_pass" for one in compared)
    if not made_here and not passed and compared:
        reason = Reason.EXECUTION_UNCONFIRMED
    return ComparedExecution(reason, files, compared)


def _stable(runs: Sequence[ExecutionRun], probes: AbstractSet[Any], name: str) -> StableFile:
    first, second, nothing = (frozenset(run.signatures[name]) for run in runs)
    either, tracer = first | second, nothing | probes
    return StableFile((first & second) - tracer, either | tracer, tracer, len(either) - len(first & second))


def _unfit(
    rules: ExecutionRules, runs: Sequence[ExecutionRun], files: Mapping[str, StableFile], *, submitted: bool
) -> Reason | None:
    """Return why nothing can be said of anybody."""
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


def _compare(
    rules: ExecutionRules, files: Mapping[str, StableFile], mark: tuple[str, Any] | None, answer: TracedAnswer
) -> ComparedAnswer:
    faults = [] if answer.probes else ["probes"]
    marked = None if mark is None else mark[1] in answer.signatures[mark[0]]
    if marked is False:
        faults.append("mark")
    compared = {}
    for name, ours in files.items():
        theirs = frozenset(answer.signatures[name]) - ours.tracer
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
        outcome: what they came to; void tasks have no members there.
    """
    if not frozen.executes:
        return ()
    valid = {(one.task_id, one.hotkey) for one in outcome.members if isinstance(one, AssessedMember)}
    seed = bytes.fromhex(frozen.seed)
    found: list[tuple[bytes, ExecutedTask]] = []
    for position, (task, group) in enumerate(zip(frozen.tasks, plan.groups, strict=True)):
        primaries = tuple(hotkey for hotkey in group.primaries if (task.task_id, hotkey) in valid)
        if is_runtime(task.skill_type) and primaries and not is_submitted(task):
            first = min(draw(seed, "rerun", frozen.round_id, task.task_id, hotkey) for hotkey in primaries)
            found.append((first, ExecutedTask(task.task_id, task.skill_type, position, primaries, task.made_here)))
    return tuple(one for _, one in sorted(found, key=itemgetter(0)))
