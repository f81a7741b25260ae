"""Workflow scoring, formula 1.0.0 (SPEC 12)."""

from typing import Final, NamedTuple

from validator.protocol.workflow_score import WorkflowRun, WorkflowScore

SUCCESS_GATE: Final = 0.7
_SUCCESS, _COST, _LATENCY, _RELIABILITY = 0.50, 0.25, 0.15, 0.10
_UNPLANNED, _TIMEOUT, _HARD_FAILURE = 0.10, 0.20, 0.50


class Contribution(NamedTuple):
    """One part of S: weight times value."""

    name: str
    weight: float
    value: float
    contribution: float


class Penalty(NamedTuple):
    """What lowers the reliability: each `times` by `weight`."""

    name: str
    weight: float
    times: int


def score_workflow(run: WorkflowRun) -> WorkflowScore:
    """Return S = 0.50 success + 0.25 cost + 0.15 latency + 0.10 reliability (SPEC 12).

    Raises:
        ValueError: more steps completed than there are.
    """
    if run.steps_completed > run.total_steps:
        raise ValueError("must not exceed total_steps - at `$.steps_completed`")
    success = run.output_quality * run.steps_completed / run.total_steps if run.total_steps else 0.0
    earned = success > SUCCESS_GATE
    cost = max(0.0, 1.0 - run.actual_tao / run.max_budget_tao) if earned else 0.0
    latency = max(0.0, 1.0 - run.actual_seconds / run.max_latency_seconds) if earned else 0.0
    reliability = _reliability(run)
    score = _SUCCESS * success + _COST * cost + _LATENCY * latency + _RELIABILITY * reliability
    return WorkflowScore(success, cost, latency, reliability, score)


def contributions(score: WorkflowScore) -> tuple[Contribution, ...]:
    """Return the four parts of S; added up from left to right they are S."""
    return tuple(
        Contribution(name, weight, value, weight * value)
        for name, weight, value in (
            ("success", _SUCCESS, score.success),
            ("cost", _COST, score.cost),
            ("latency", _LATENCY, score.latency),
            ("reliability", _RELIABILITY, score.reliability),
        )
    )


def penalties(run: WorkflowRun) -> tuple[Penalty, ...]:
    """Return what the reliability is lowered by."""
    return (
        Penalty("unplanned", _UNPLANNED, max(0, run.actual_retries - run.declared_retry_budget)),
        Penalty("timeouts", _TIMEOUT, run.timeouts),
        Penalty("hard_failures", _HARD_FAILURE, run.hard_failures),
    )


def _reliability(run: WorkflowRun) -> float:
    unplanned, timeouts, failures = (one.weight * one.times for one in penalties(run))
    return min(1.0, max(0.0, 1.0 - (unplanned + timeouts + failures)))
