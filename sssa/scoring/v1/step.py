"""State change of a settled round under 1.0.0: windows, reputations, flags (SPEC 8 to 12; 16, D-26)."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from sssa.protocol.reasons import OURS, Reason
from sssa.protocol.results import Passed, WorkflowSubmission
from sssa.protocol.round import (
    ClearedFlag,
    ExecutionResult,
    FailedMember,
    GoalTask,
    RanMember,
    RoundInput,
    RoundOutcome,
    RoundTask,
    is_submitted,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring.scoring_types import ScoredTask
from sssa.scoring.v1.collusion import add_sample, pair_of
from sssa.scoring.v1.execution import executed_tasks
from sssa.scoring.v1.planning import struck_entries
from sssa.scoring.v1.round import window_entries
from sssa.scoring.v1.version_calls import Scoring
from sssa.scoring.v1.workflow import deferred_runs, filled_entries, measure
from sssa.state.mechanism_state import RESULTS, ROLES, ROUNDS, DeferredAnswer, Delta, Late, PairKey, State
from sssa.state.round_end import Change, Ended, begin_step


def measured_runs(task: RoundTask, answers: Sequence[Passed], scored: ScoredTask) -> dict[tuple[str, str], WorkflowRun]:
    """Return measurements of the runs of a task whose quality is awaited, by (task_id, hotkey); see `Ended`."""
    if not isinstance(task, GoalTask):
        return {}
    runs = {one.hotkey: one for one in answers if isinstance(one, WorkflowSubmission)}
    return {
        (task.task_id, member.hotkey): measure(task.goal, runs[member.hotkey].plan, runs[member.hotkey].run, 0.0)
        for member in scored.members
        if isinstance(member, RanMember) and member.reason == Reason.WORKFLOW_DEFERRED
    }


def step(version: Scoring, state: State, ended: Ended) -> Delta:
    """Return the delta of an ended round; see `changed`."""
    return changed(version, state, ended).delta()


def changed(version: Scoring, state: State, ended: Ended) -> Change:
    """Return the change by an ended round, to be extended.

    Args:
        version: the one that the round was frozen under.
        state: before the round.
        ended: the round.

    Raises:
        UnknownFlagError: an act in the input clears a flag that does not stand.
    """
    change = begin_step(state, ended)
    if ended.outcome is not None:
        _settle(version, change, ended, ended.outcome)
    return change


def _settle(version: Scoring, change: Change, ended: Ended, outcome: RoundOutcome) -> None:
    frozen = ended.frozen
    types = {task.task_id: task.skill_type for task in frozen.tasks if not is_submitted(task)}
    settled = {group.task_id for group in outcome.groups if group.task_state == "settled"}
    _enter_reputation(version, change, frozen, outcome)
    ours = {group.task_id for group in outcome.groups if group.reason in OURS}
    _roles(change, ended, settled | ours)
    dispatches = [
        ((one.hotkey, types[one.task_id]), isinstance(one, FailedMember))
        for one in outcome.members
        if one.task_id in settled and one.task_id in types
    ]
    _counts(change, frozen.index, dispatches)
    for hotkey, name, task_id, value in (
        *filled_entries(frozen),
        *window_entries(frozen, outcome),
    ):
        key = hotkey, SkillType(name)
        change.update(key, window=change.pair(key).window.entered(frozen.index, task_id, value))
    for struck in struck_entries(frozen):
        _strike(change, struck)
    for result in frozen.executions:
        if result.event is not None:
            key = result.hotkey, result.skill_type
            one = frozen.index, result.event == "rerun_fail"
            change.update(key, results=(*change.pair(key).results, one)[-RESULTS:])
    _late(version, change, ended, outcome)


def _enter_reputation(version: Scoring, change: Change, frozen: RoundInput, outcome: RoundOutcome) -> None:
    """Enter reputations, agreement samples and flags; those of unknown miners stay unknown (SPEC 9, 10)."""
    for event in outcome.reputation:
        if change.miner(event.hotkey).known:
            change.update((event.hotkey, event.skill_type), reputation=event.after)
    for sample in outcome.samples:
        pair, key = pair_of(sample), (sample.hotkey, sample.skill_type)
        if pair is not None and change.miner(sample.hotkey).known:
            change.update(key, agreements=add_sample(version, change.pair(key).agreements, pair).window)
    for flag in outcome.flags:
        change.update((flag.hotkey, flag.skill_type), agreements=())  # D-9
        change.flag(flag.hotkey, ClearedFlag(flag.skill_type, frozen.round_id))


def _roles(change: Change, ended: Ended, tasks: set[str]) -> None:
    """Record assigned roles, those of void dispatches included (D-26)."""
    assigned: defaultdict[PairKey, set[str]] = defaultdict(set)
    for task, group in zip(ended.frozen.tasks, ended.plan.groups, strict=True):
        if task.task_id in tasks:
            for hotkey, role in group.members:
                assigned[hotkey, task.skill_type].add(role)
    for key, roles in assigned.items():
        if change.miner(key[0]).known:
            letter = "p" if "primary" in roles else "a"
            change.update(key, roles=(letter + change.pair(key).roles)[:ROLES])


def _counts(change: Change, index: int, dispatches: Sequence[tuple[PairKey, bool]]) -> None:
    """Count dispatches and failures; an answer that passed proves its miner (SPEC 8; SPEC 11, D-23)."""
    sent, failed = Counter(key for key, _ in dispatches), Counter(key for key, fails in dispatches if fails)
    for key, many in sent.items():
        pair = change.pair(key)
        kept = tuple(one for one in pair.counts if one[0] > index - ROUNDS)
        fields = {"counts": (*kept, (index, many, failed[key]))}
        if many > failed[key]:
            earlier = pair.excluded is not None and pair.excluded < index
            change.update(key, **fields, proven=index, excluded=None if earlier else pair.excluded)
        else:
            change.update(key, **fields)


def _strike(change: Change, struck: ExecutionResult) -> None:
    """Set a window entry to 0 and count a failure of its round (D-30)."""
    key, index = (struck.hotkey, struck.skill_type), int(struck.round_id)
    pair = change.pair(key)
    counts = tuple((number, sent, failed + (number == index)) for number, sent, failed in pair.counts)
    change.update(key, counts=counts, window=pair.window.struck(index, struck.task_id))


def _late(version: Scoring, change: Change, ended: Ended, outcome: RoundOutcome) -> None:
    """Remove arrived results from the expected ones, and add those of this round (SPEC 12, 15)."""
    frozen = ended.frozen
    for key in dict.fromkeys((int(one.round_id), one.task_id) for one in frozen.executions):
        change.receive_late(*key)
    for one in frozen.filled:
        change.receive_late(int(one.round_id), one.task_id, one.hotkey)
    executed = executed_tasks(frozen, ended.plan, outcome)
    deferred = tuple(
        DeferredAnswer(one.task_id, one.hotkey, one.check_id, version.name, ended.measured[one.task_id, one.hotkey])
        for one in deferred_runs(frozen, ended.plan, outcome)
    )
    if executed or deferred:
        change.await_late(frozen.index, Late(executed, deferred))
