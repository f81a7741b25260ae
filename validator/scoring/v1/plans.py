"""Scores of one workflow task's group: what every member's run was worth (SPEC 12)."""

from collections.abc import Sequence

from validator.protocol.reasons import Reason
from validator.protocol.results import Rejection, WorkflowSubmission
from validator.protocol.round import GoalTask, GroupOutcome, GroupPlan, RanMember, WorkflowOutcome
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring.v1.claims import majority_threshold
from validator.scoring.v1.rules import Ruled
from validator.scoring.v1.task import failed_member
from validator.scoring.v1.workflow import score_workflow
from validator.scoring.v1.workflow_runs import measure
from validator.scoring.values import ScoredTask


def score_plans(
    version: Ruled,
    task: GoalTask,
    plan: GroupPlan,
    submissions: Sequence[WorkflowSubmission],
    rejections: Sequence[Rejection],
) -> ScoredTask:
    """Return what one workflow task comes to: consensus 1.0 and role 1.0 for everybody.

    Args:
        version: the round's.
        task: the task.
        plan: its group; a member with neither submission nor rejection must not exist.
        submissions: plans of this task that were run, any order.
        rejections: failed dispatches of this task, any order.
    """
    passed = {s.hotkey: s for s in submissions}
    failed = {r.hotkey: r for r in rejections}
    members = tuple(
        _ran(version, task.goal, passed[hotkey]) if hotkey in passed else failed_member(failed[hotkey])
        for hotkey, _ in plan.members
    )
    reason = Reason.SKIPPED_NO_CANDIDATES if plan.mode == "skip" else Reason.SETTLED
    return ScoredTask(_group(plan, reason, len(passed)), members)


def _ran(version: Ruled, task: WorkflowTask, submission: WorkflowSubmission) -> RanMember:
    outcome = None
    if submission.quality is not None:
        measured = measure(task, submission.plan, submission.run, submission.quality)
        outcome = WorkflowOutcome(measured, score_workflow(version, measured))
    return RanMember(
        task_id=submission.task_id,
        hotkey=submission.hotkey,
        role=submission.role,
        reason=Reason.WORKFLOW_DEFERRED if outcome is None else Reason.ACCEPTED,
        consensus=1.0,
        window_entry=None if outcome is None else outcome.score.score,
        workflow=outcome,
    )


def _group(plan: GroupPlan, reason: Reason, n_valid: int) -> GroupOutcome:
    return GroupOutcome(
        task_id=plan.task_id,
        reason=reason,
        mode=plan.mode,
        n_valid=n_valid,
        threshold=majority_threshold(n_valid),
        verdict=None,
        mean_risk=None,
        finding_keys=(),
        provenance=None,
        scored_verdict=None,
        auditor_agreement=None,
    )
