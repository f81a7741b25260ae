"""Score formula of a workflow run, from its measured numbers (SPEC 12)."""

from validator.protocol.workflow_run import WorkflowRun, WorkflowScore
from validator.scoring.v1.rules import Ruled
from validator.scoring.values import Addend, Penalty


def score_workflow(version: Ruled, run: WorkflowRun) -> WorkflowScore:
    """Return S = 0.50 success + 0.25 cost + 0.15 latency + 0.10 reliability; 0 if no step completed (SPEC 12, D-32).

    Raises:
        ValueError: more steps completed than there are.
    """
    if run.steps_completed > run.total_steps:
        raise ValueError("must not exceed total_steps - at `$.steps_completed`")
    success = run.output_quality * run.steps_completed / run.total_steps if run.total_steps else 0.0
    earned = success > version.rules.workflow.gate
    cost = max(0.0, 1.0 - run.actual_tao / run.max_budget_tao) if earned else 0.0
    latency = max(0.0, 1.0 - run.actual_seconds / run.max_latency_seconds) if earned else 0.0
    reliability = _reliability(version, run)
    score = 0.0
    for _, weight, value in _weighted(version, success, cost, latency, reliability):
        score += weight * value
    return WorkflowScore(success, cost, latency, reliability, score if run.steps_completed else 0.0)


def worth_parts(version: Ruled, score: WorkflowScore) -> tuple[Addend, ...]:
    """Return the four parts of S; added up from left to right they are S: nothing each, where S is nothing."""
    parts = _weighted(version, score.success, score.cost, score.latency, score.reliability)
    return tuple(Addend(name, weight, value, weight * value if score.score else 0.0) for name, weight, value in parts)


def _weighted(version: Ruled, *values: float) -> list[tuple[str, float, float]]:
    parts = zip(version.rules.workflow.parts, values, strict=True)
    return [(name, weight, value) for (name, weight), value in parts]


def penalties(version: Ruled, run: WorkflowRun) -> tuple[Penalty, ...]:
    """Return what the reliability is lowered by."""
    rules = version.rules.workflow
    return (
        Penalty("unplanned", rules.unplanned, max(0, run.actual_retries - run.declared_retry_budget)),
        Penalty("timeouts", rules.timeout, run.timeouts),
        Penalty("hard_failures", rules.hard_failure, run.hard_failures),
    )


def _reliability(version: Ruled, run: WorkflowRun) -> float:
    unplanned, timeouts, failures = (one.weight * one.times for one in penalties(version, run))
    return min(1.0, max(0.0, 1.0 - (unplanned + timeouts + failures)))
