"""From what a run was measured at to its score, each number with why (SPEC 12)."""

from typing import Final

from msgspec import UNSET

from validator.kinds.explained.words import count, plain
from validator.protocol.results import WorkflowSubmission
from validator.protocol.round import WorkflowOutcome
from validator.protocol.sssa import Document
from validator.protocol.workflow_run import StepOutput, WorkflowRun
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import Addend, Penalty, Version

_NOUNS: Final = {"unplanned": "unplanned retry", "timeouts": "timeout", "hard_failures": "hard failure"}


class Measure(Document, frozen=True):
    """One measured value and the limit it is held against."""

    name: str
    value: float
    limit: float | None
    why: str


class Check(Document, frozen=True):
    """One thing that the output was looked at for."""

    what: str
    met: bool


class OutputQuality(Document, frozen=True):
    """How good the output is; `value` None while it is deferred. `checks` in the order of the reference."""

    value: float | None
    why: str
    checks: tuple[Check, ...]


class Part(Document, frozen=True):
    """One part of S; `contribution` is weight times value."""

    name: str
    weight: float
    value: float
    contribution: float
    why: str


class Worth(Document, frozen=True):
    """S, the sum of its parts."""

    parts: tuple[Part, ...]
    score: float


def explain_measured(run: WorkflowRun) -> tuple[Measure, ...]:
    """Return what the formula takes of a run, beside the limits."""
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
        Measure("hard failures", run.hard_failures, None, "steps that were tried and failed for good"),
    )


def explain_output(version: Version, task: WorkflowTask, submission: WorkflowSubmission) -> OutputQuality:
    """Return how the output was judged: by ROUGE-L, checklist, keys or tests."""
    output = version.result_of(submission.plan, submission.run)
    if output is None:
        return OutputQuality(submission.quality, "no step that ends the plan gave an output", ())
    match task.type:
        case "rag":
            return OutputQuality(submission.quality, _words(version, task, output), ())
        case "agent":
            criteria = task.reference.given("checklist")
            met = version.criteria_met(criteria, output)
            checks = tuple(Check(f"{c.type} {c.value}", held) for c, held in zip(criteria, met, strict=True))
            return OutputQuality(submission.quality, f"{sum(met)} of {len(met)} criteria met", checks)
        case "data_transform":
            return _keys(version, task, output, submission.quality)
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
        "reliability": _penalties(version.penalties(run)),
    }
    return Worth(tuple(_part(part, whys[part.name]) for part in version.worth_parts(score)), score.score)


def _part(part: Addend, why: str) -> Part:
    if part.weight * part.value > part.contribution:
        why = f"{why}; no step completed: counts nothing (D-32)"
    return Part(part.name, part.weight, part.value, part.contribution, why)


def _penalties(found: tuple[Penalty, ...]) -> str:
    taken = [f"{plain(one.weight)} × {count(one.times, _NOUNS[one.name])}" for one in found if one.times]
    return " − ".join(["1", *taken]) if taken else "no unplanned retry, timeout or hard failure"


def _words(version: Version, task: WorkflowTask, output: StepOutput) -> str:
    common, expected, given = version.words_shared(task.reference.given("text"), output.text or "")
    lengths = f"({expected} of the reference + {given} of the output)"
    return f"ROUGE-L over words: {common} in common, in their order; 2 × {common} / {lengths}"


def _keys(version: Version, task: WorkflowTask, output: StepOutput, quality: float | None) -> OutputQuality:
    if task.reference.expected_text is not UNSET:
        same = version.read_quality(task, output) == 1.0
        return OutputQuality(quality, "the text of the reference" if same else "not the reference's text", ())
    met = version.keys_met(task.reference.given("expected"), output)
    if met is None:
        same = version.read_quality(task, output) == 1.0
        return OutputQuality(quality, "the same JSON as the reference" if same else "not the reference's JSON", ())
    why = f"{sum(met.values())} of the reference's {count(len(met), 'key')} have its value and type"
    return OutputQuality(quality, why, tuple(Check(f"key {key}", held) for key, held in met.items()))


def _code(version: Version, task: WorkflowTask, output: StepOutput, quality: float | None) -> str:
    if version.read_quality(task, output) is not None:
        return "no code"
    if quality is None:
        return "deferred: code is judged by running the task's tests in a sandbox, after the round"
    rules = version.rules.workflow
    return (
        f"{plain(rules.tests)} × share of the task's tests passed + {plain(rules.lint)} × max(0, 1 − "
        f"{plain(rules.finding)} × lint findings), as the sandbox found"
    )
