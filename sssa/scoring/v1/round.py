"""A whole round's outcome from its frozen input and what came back (SPEC 4 to 10): the same twice, byte for byte."""

from collections.abc import Iterator, Mapping

from msgspec import UNSET, structs

from sssa.protocol.reasons import Reason
from sssa.protocol.results import RoundResults, Submission, WorkflowSubmission
from sssa.protocol.round import (
    AssessedMember,
    FailedMember,
    GoalTask,
    GroupOutcome,
    GroupPlan,
    MemberOutcome,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
    is_submitted,
)
from sssa.scoring.scoring_types import ScoredTask
from sssa.scoring.v1.keys import FindingKeys
from sssa.scoring.v1.reputation import reputation_events
from sssa.scoring.v1.task import score_task
from sssa.scoring.v1.version_calls import Scoring
from sssa.scoring.v1.workflow import score_plans


def score_round(
    version: Scoring,
    frozen: RoundInput,
    plan: RoundPlan,
    results: RoundResults,
    keys: FindingKeys | None = None,
) -> RoundOutcome:
    """Return the round's outcome.

    Args:
        version: the one that the round was frozen under.
        frozen: the round's input.
        plan: `plan_round(frozen)`.
        results: one submission or rejection per planned dispatch, except of those that are void, alone or with their
            task: everything but D-10 is as if they had not been planned (D-26).
        keys: filled on the way; the round's proofs need the same.
    """
    void = {task.task_id: task.reason for task in results.void}
    keys = keys or FindingKeys()
    scored = {
        task.task_id: version.score_group(frozen, task, group, results, keys)
        for task, group in zip(frozen.tasks, plan.groups, strict=True)
        if task.task_id not in void
    }
    return round_outcome(version, frozen, plan, void, scored)


def round_outcome(
    version: Scoring,
    frozen: RoundInput,
    plan: RoundPlan,
    void: Mapping[str, Reason],
    scored: Mapping[str, ScoredTask],
) -> RoundOutcome:
    """Return the round's outcome from those of its tasks.

    Args:
        version: the one that the round was frozen under.
        frozen: the round's input.
        plan: `plan_round(frozen)`.
        void: task_id to reason, of the tasks that enter nothing.
        scored: task_id to `score_group`, of all others.
    """
    groups = tuple(
        _void_group(group, void[group.task_id]) if group.task_id in void else scored[group.task_id].group
        for group in plan.groups
    )
    ended = [(task, scored[task.task_id]) for task in frozen.tasks if task.task_id not in void]
    counting = [(task, outcome) for task, outcome in ended if not is_submitted(task)]
    samples, flags = version.collusion_round(frozen, counting)
    return RoundOutcome(
        round_id=frozen.round_id,
        scoring_version=version.name,
        groups=groups,
        members=tuple(member for _, outcome in ended for member in outcome.members),
        samples=samples,
        flags=flags,
        reputation=reputation_events(version, frozen, plan, [outcome for _, outcome in counting], flags),
    )


def score_group(  # noqa: PLR0913, PLR0917 - a task of a round and what came back
    version: Scoring,
    frozen: RoundInput,
    task: RoundTask,
    group: GroupPlan,
    results: RoundResults,
    keys: FindingKeys,
) -> ScoredTask:
    """Return the outcome of one task of a round, an assessment or a workflow.

    Args:
        version: the round's.
        frozen: the round's input.
        task: not void.
        group: as planned.
        results: of the round; what belongs to other tasks is left out.
        keys: of the round's findings.
    """
    group, epoch = without_void(group, results), frozen.snapshot.epoch
    rejections = [r for r in results.rejections if r.task_id == task.task_id]
    if isinstance(task, GoalTask):
        return score_plans(version, task, group, results.answers(task.task_id, WorkflowSubmission), rejections)
    scored = score_task(version, task, group, epoch, results.answers(task.task_id, Submission), rejections, keys)
    return entering_nothing(scored) if is_submitted(task) else scored


def entering_nothing(scored: ScoredTask) -> ScoredTask:
    """Return a submitted skill's outcome: as any other, but no answer enters anything (SPEC 5, D-45)."""
    return ScoredTask(scored.group, tuple(map(_entering_nothing, scored.members)))


def _entering_nothing(member: MemberOutcome) -> MemberOutcome:
    tallied = isinstance(member, AssessedMember | FailedMember) and member.tally is not UNSET
    nothing = {"window_entry": None, **({"tally": None, "curated_score": None} if tallied else {})}
    if isinstance(member, AssessedMember):
        return structs.replace(member, reason=Reason.ACCEPTED_SUBMITTED, emission=None, **nothing)
    return structs.replace(member, **nothing)


def without_void(group: GroupPlan, results: RoundResults) -> GroupPlan:
    """Return a group without the members whose dispatches are void (D-26)."""
    void = {one.hotkey for one in results.alone if one.task_id == group.task_id}
    if not void:
        return group
    primaries = tuple(hotkey for hotkey in group.primaries if hotkey not in void)
    return structs.replace(group, primaries=primaries, auditors=tuple(a for a in group.auditors if a not in void))


def _void_group(plan: GroupPlan, reason: Reason) -> GroupOutcome:
    return GroupOutcome(plan.task_id, reason, plan.mode, 0, 1, None, None, (), None, None, None)


def window_entries(frozen: RoundInput, outcome: RoundOutcome) -> Iterator[tuple[str, str, str, float]]:
    """Yield (hotkey, skill_type, task_id, value) of everything that enters a score window, in plan order (SPEC 11)."""
    types = {task.task_id: str(task.skill_type) for task in frozen.tasks}
    for member in outcome.members:
        if member.window_entry is not None:
            yield member.hotkey, types[member.task_id], member.task_id, member.window_entry
