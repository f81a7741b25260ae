"""Workflow scoring, formula 1.0.0 (SPEC 12)."""

from typing import Final

from validator.protocol.workflow_score import WorkflowRun, WorkflowScore

_SUCCESS_GATE: Final = 0.7


def score_workflow(run: WorkflowRun) -> WorkflowScore:
    """Return S = 0.50 success + 0.25 cost + 0.15 latency + 0.10 reliability (SPEC 12).

    Raises:
        ValueError: more steps completed than there are.
    """
    if run.steps_completed > run.total_steps:
        raise ValueError("must not exceed total_steps - at `$.steps_completed`")
    success = run.output_quality * run.steps_completed / run.total_steps if run.total_steps else 0.0
    earned = success > _SUCCESS_GATE
    cost = max(0.0, 1.0 - run.actual_tao / run.max_budget_tao) if earned else 0.0
    latency = max(0.0, 1.0 - run.actual_seconds / run.max_latency_seconds) if earned else 0.0
    reliability = _reliability(run)
    score = 0.50 * success + 0.25 * cost + 0.15 * latency + 0.10 * reliability
    return WorkflowScore(success, cost, latency, reliability, score)


def _reliability(run: WorkflowRun) -> float:
    unplanned = max(0, run.actual_retries - run.declared_retry_budget)
    penalty = 0.10 * unplanned + 0.20 * run.timeouts + 0.50 * run.hard_failures
    return min(1.0, max(0.0, 1.0 - penalty))
