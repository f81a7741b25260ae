"""Explanation of a plan's steps, of the numbers that its run was measured at, and of its score (SPEC 12)."""

from typing import Final

from msgspec import UNSET

from validator.kinds.explained.task import Part
from validator.protocol.canonical import canonical_bytes, digest
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.results import WorkflowSubmission
from validator.protocol.round import WorkflowOutcome
from validator.protocol.sssa import Document
from validator.protocol.text import count, plain
from validator.protocol.workflow_plan import PlanNode, WorkflowPlan
from validator.protocol.workflow_run import Attempt, RunRecord, StepOutput, StepRecord, WorkflowRun
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import (
    Addend,
    Penalty,
    Version,
    criteria_met,
    keys_met,
    penalties,
    read_quality,
    result_of,
    text_of,
    words_shared,
    worth_parts,
)

SHOWN: Final = 200  # code points of parameters and outputs


class Step(Document, frozen=True):
    """One step, as declared and as it went.

    Attributes:
        after: ids of the steps it waits for.
        params: canonical JSON, cut after 200 code points.
        estimated_cost, estimated_latency: as declared, in TAO and seconds.
        retries, timeout_seconds: as declared.
        outcome, meaning: how it ended; `detail` says more where it was not started.
        attempts: its tries, in seconds since the run began.
        output_sha256: of its output; None without one.
        output: how that begins, 200 code points of text, code or JSON.
        is_result: whether this output is the one that was judged.
    """

    node_id: str
    service: str
    action: str
    after: tuple[str, ...]
    params: str
    estimated_cost: float
    estimated_latency: float
    retries: int
    timeout_seconds: float
    outcome: Reason
    meaning: str | None
    detail: str
    attempts: tuple[Attempt, ...]
    output_sha256: str | None
    output: str | None
    is_result: bool


class Run(Document, frozen=True):
    """The plan and the whole run; totals as declared, `ceiling_tao` what the run was allowed to cost."""

    run_id: str
    plan_sha256: str
    estimated_cost: float
    estimated_latency: float
    ceiling_tao: float
    seconds: float
    steps: tuple[Step, ...]


def explain_run(plan: WorkflowPlan, run: RunRecord) -> Run:
    """Return the steps of `plan`, in its order, with the result of each in `run`."""
    result = result_of(plan, run)
    steps = tuple(
        _step(plan, node, step, is_result=result is not None and step.output is result)
        for node, step in zip(plan.nodes, run.steps, strict=True)
    )
    cost, latency = plan.totals.estimated_cost, plan.totals.estimated_latency
    return Run(run.run_id, run.plan_sha256, cost, latency, run.ceiling_tao, run.seconds, steps)


def _step(plan: WorkflowPlan, node: PlanNode, step: StepRecord, *, is_result: bool) -> Step:
    return Step(
        node_id=node.id,
        service=node.service,
        action=node.action,
        after=tuple(edge.source for edge in plan.edges if edge.target == node.id),
        params=_cut(canonical_bytes(node.params).decode()),
        estimated_cost=node.estimated_cost,
        estimated_latency=node.estimated_latency,
        retries=node.error_handling.retry_count,
        timeout_seconds=node.error_handling.timeout_seconds,
        outcome=step.outcome,
        meaning=meaning_of(step.outcome),
        detail=step.detail,
        attempts=step.attempts,
        output_sha256=None if step.output is None else digest(step.output),
        output=None if step.output is None else _cut(text_of(step.output)),
        is_result=is_result,
    )


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


_NOUNS: Final = {"unplanned": "unplanned retry", "timeouts": "timeout", "hard_failures": "hard failure"}


class Measure(Document, frozen=True):
    """One measured value and the limit it is compared with."""

    name: str
    value: float
    limit: float | None
    why: str


class Check(Document, frozen=True):
    """One thing that the output was looked at for."""

    what: str
    met: bool


class OutputQuality(Document, frozen=True):
    """Quality of the output; `value` is None while it is deferred. `checks` in the order of the reference."""

    value: float | None
    why: str
    checks: tuple[Check, ...]


class Worth(Document, frozen=True):
    """S, the sum of its parts."""

    parts: tuple[Part, ...]
    score: float


def explain_measured(run: WorkflowRun) -> tuple[Measure, ...]:
    """Return what the formula takes of a run, next to the limits."""
    return (
        Measure("steps", run.steps_completed, run.total_steps, "completed, of the plan's or the task's required steps"),
        Measure("cost", run.actual_tao, run.max_budget_tao, "TAO, of the task's budget"),
        Measure("time", run.actual_seconds, run.max_latency_seconds, "seconds, of the task's limit"),
        Measure(
            "retries",
            run.actual_retries,
            run.declared_retry_budget,
            "tries after the first; the limit is what was declared",
        ),
        Measure("timeouts", run.timeouts, None, "tries cut off at their declared limit"),
        Measure("hard failures", run.hard_failures, None, "steps that were tried and failed finally"),
    )


def explain_output(version: Version, task: WorkflowTask, submission: WorkflowSubmission) -> OutputQuality:
    """Return how the output was judged: by ROUGE-L, checklist, keys or tests."""
    output = result_of(submission.plan, submission.run)
    if output is None:
        return OutputQuality(submission.quality, "no step that ends the plan gave an output", ())
    match task.type:
        case "rag":
            return OutputQuality(submission.quality, _words(task, output), ())
        case "agent":
            criteria = task.reference.given("checklist")
            met = criteria_met(criteria, output)
            checks = tuple(Check(f"{c.type} {c.value}", held) for c, held in zip(criteria, met, strict=True))
            return OutputQuality(submission.quality, f"{sum(met)} of {len(met)} criteria met", checks)
        case "data_transform":
            return _keys(task, output, submission.quality)
        case _:
            return OutputQuality(submission.quality, _code(version, task, output, submission.quality), ())


def explain_worth(version: Version, outcome: WorkflowOutcome) -> Worth:
    """Return the parts of S, each with why."""
    run, score, gate = outcome.measured, outcome.score, version.rules.workflow.gate
    gated = f"success {score.success:.4f} is not above {gate:.12g}: counts nothing"
    earned = score.success > gate
    whys = {
        "success": f"quality {run.output_quality:.4f} × {run.steps_completed} of {run.total_steps} steps",
        "cost": f"1 − {run.actual_tao:g} of {run.max_budget_tao:g} TAO" if earned else gated,
        "latency": f"1 − {run.actual_seconds:g} of {run.max_latency_seconds:g} seconds" if earned else gated,
        "reliability": _penalties(penalties(version, run)),
    }
    return Worth(tuple(_part(part, whys[part.name]) for part in worth_parts(version, score)), score.score)


def _part(part: Addend, why: str) -> Part:
    if part.weight * part.value > part.contribution:
        why = f"{why}; no step completed: counts nothing (D-32)"
    return Part(*part, why)


def _penalties(found: tuple[Penalty, ...]) -> str:
    taken = [f"{plain(one.weight)} × {count(one.times, _NOUNS[one.name])}" for one in found if one.times]
    return " − ".join(["1", *taken]) if taken else "no unplanned retry, timeout or hard failure"


def _words(task: WorkflowTask, output: StepOutput) -> str:
    common, expected, given = words_shared(task.reference.given("text"), output.text or "")
    lengths = f"({expected} of the reference + {given} of the output)"
    return f"ROUGE-L over words: {common} in common, in their order; 2 × {common} / {lengths}"


def _keys(task: WorkflowTask, output: StepOutput, quality: float | None) -> OutputQuality:
    if task.reference.expected_text is not UNSET:
        same = read_quality(task, output) == 1.0
        return OutputQuality(quality, "the text of the reference" if same else "not the reference's text", ())
    met = keys_met(task.reference.given("expected"), output)
    if met is None:
        same = read_quality(task, output) == 1.0
        return OutputQuality(quality, "the same JSON as the reference" if same else "not the reference's JSON", ())
    why = f"{sum(met.values())} of the reference's {count(len(met), 'key')} have its value and type"
    return OutputQuality(quality, why, tuple(Check(f"key {key}", held) for key, held in met.items()))


def _code(version: Version, task: WorkflowTask, output: StepOutput, quality: float | None) -> str:
    if read_quality(task, output) is not None:
        return "no code"
    if quality is None:
        return "deferred: code is judged by running the task's tests in a sandbox, after the round"
    rules = version.rules.workflow
    return (
        f"{plain(rules.tests)} × share of the task's tests passed + {plain(rules.lint)} × max(0, 1 − "
        f"{plain(rules.finding)} × lint findings), as the sandbox found"
    )
