"""A workflow task as lines of text: `write_workflow` for `validator explain`, a row per member for `rounds show`."""

from collections.abc import Sequence
from typing import Final

from sssa.cli.output import cell
from sssa.cli.rendering import Page
from sssa.kinds.workflow.explanation import (
    JudgedLater,
    Measure,
    OutputQuality,
    PlannerLine,
    Run,
    Step,
    WorkflowExplanation,
    Worth,
)
from sssa.protocol.reasons import Reason
from sssa.protocol.round import GroupOutcome
from sssa.scoring import Rules
from validator.audit.documents import DispatchDocument, TaskDocument
from validator.cli.kinds.page_parts import (
    PARTS,
    print_members,
    write_beginning,
    write_check,
    write_entry,
    write_members,
)

_KEY: Final = 16


def write_workflow(page: Page, rules: Rules, task: WorkflowExplanation, hotkey: str) -> None:
    """Write why the miner `hotkey` got the goal, the result of its plan, and its score."""
    write_beginning(page, rules, task, task.workflow_type, f"goal: {task.goal}")
    if task.outcome is not None and task.gates is not None:
        _write_group(page, task.outcome, task.members, hotkey)
    if task.run is not None:
        _write_plan(page, task.run)
        _write_run(page, task.run)
    if task.measured is not None:
        _write_measured(page, task.measured)
    if task.quality is not None:
        _write_quality(page, task.quality)
    if task.worth is not None:
        _write_worth(page, task.worth)
    elif task.gates is not None:
        write_entry(page, task)
    if task.later is not None:
        _write_later(page, task.later)
    write_check(page, task)


def _write_group(page: Page, group: GroupOutcome, members: Sequence[PlannerLine], hotkey: str) -> None:
    page.heading("The group")
    page.line(f"{group.mode}, {group.n_valid} valid; plans are measured by themselves, not against each other")
    write_members(page, "completed=steps_completed> steps> quality> worth=entry>", members, hotkey)


def _write_plan(page: Page, run: Run) -> None:
    page.heading(f"The plan {run.plan_sha256[:_KEY]}…")
    page.line(
        f"{len(run.steps)} steps; it expected {run.estimated_cost:g} TAO and {run.estimated_latency:g} s, and was "
        f"allowed {run.ceiling_tao:g} TAO"
    )
    page.rows(
        "step=node_id~ service~ action~ after~ TAO=estimated_cost:g> s=estimated_latency:g> retries> "
        "limit_s=timeout_seconds:g> params~",
        run.steps,
    )


def _write_run(page: Page, run: Run) -> None:
    page.heading(f"The run: {run.seconds:.3f} s")
    page.table("step~ try> from> to> TAO> outcome~", (row for step in run.steps for row in _tries(step)))
    meanings = {one: meaning for step in run.steps for one, meaning in _failures(step)}
    for outcome, meaning in meanings.items():
        page.line(f"{outcome}: {meaning}")
    for step in run.steps:
        if step.output is not None and step.output_sha256 is not None:
            judged = ", which is judged" if step.is_result else ""
            page.line(f"output of {step.node_id}{judged}: {step.output_sha256[:_KEY]}… {step.output}")


def _tries(step: Step) -> Sequence[Sequence[object]]:
    if not step.attempts:
        return [(step.node_id, "-", "-", "-", "-", f"{step.outcome} {step.detail}".rstrip())]
    return [
        (
            step.node_id if number == 1 else "",
            number,
            f"{one.started:.3f}",
            f"{one.ended:.3f}",
            f"{one.cost_tao:g}",
            f"{one.outcome} ({one.detail})" if one.detail else one.outcome,
        )
        for number, one in enumerate(step.attempts, 1)
    ]


def _failures(step: Step) -> Sequence[tuple[str, str]]:
    outcomes = [*(attempt.outcome for attempt in step.attempts), step.outcome]
    return [(str(one), one.meaning) for one in outcomes if one is not Reason.STEP_SUCCEEDED]


def _write_measured(page: Page, measured: Sequence[Measure]) -> None:
    page.heading("What was measured")
    page.rows(".=name measured=value:g> limit:g> what=why~", measured)


def _write_quality(page: Page, quality: OutputQuality) -> None:
    page.heading(f"Quality of the output {'deferred' if quality.value is None else f'{quality.value:.4f}'}")
    page.line(quality.why)
    checks = quality.checks
    page.lists({"met": [one.what for one in checks if one.met], "missed": [one.what for one in checks if not one.met]})


def _write_later(page: Page, later: JudgedLater) -> None:
    page.heading(f"Its code, judged after the round: {later.state}")
    tries = "tried once" if later.attempts == 1 else f"tried {later.attempts} times"
    if later.state == "pending" and not later.attempts:
        page.line("it waits, and has not been tried yet")
    elif later.state == "pending":
        page.line(f"it waits, {tries}; the next try is not before {cell(later.due_at)}")
    else:
        page.line(tries)
    if later.reason is not None and later.report is None:
        detail = f" ({later.detail})" if later.detail else ""
        page.line(f"{later.reason}: {later.meaning or '-'}{detail}")
    if later.state == "inconclusive":
        page.line("it tells nothing of the planner, and nothing enters the score window")
    if later.report is None:
        return
    report = later.report
    page.line(f"{report.passed} of {report.total} tests passed, {report.findings} findings of the linter")
    if later.quality is not None and later.entry is not None:
        page.line(f"quality {later.quality:.4f}; with it the run is worth {later.entry:.4f}")
    if later.entered_in is None:
        page.line("it enters the score window with the next round that is settled")
    else:
        page.line(f"it entered the score window with round {later.entered_in}")
    if later.measured is not None and later.worth is not None:
        _write_measured(page, later.measured)
        _write_worth(page, later.worth)


def _write_worth(page: Page, worth: Worth) -> None:
    page.heading(f"S of the run {worth.score:.4f}")
    page.rows(f"part=name {PARTS}", worth.parts)
    if not worth.score and any(one.weight * one.value for one in worth.parts):
        page.line("S = 0.0000, as no step completed; it enters the score window")
        return
    terms = " + ".join(f"{one.weight:.2f} × {one.value:.4f}" for one in worth.parts)
    page.line(f"S = {terms} = {worth.score:.4f}; it enters the score window")


def subject(task: TaskDocument) -> str:
    """Return the goal in a line."""
    return f"goal {task.bundle_sha256}"


def outcome_line(outcome: GroupOutcome) -> str:
    """Return the group's outcome in a line."""
    return f"{outcome.n_valid} plans were run"


def print_plans(dispatches: Sequence[DispatchDocument]) -> None:
    """Print a row per member."""
    print_members(dispatches, "steps> quality> TAO> run_s> S>", map(_plan_cells, dispatches))


def _plan_cells(one: DispatchDocument) -> tuple[object, ...]:
    run = one.workflow.measured if one.workflow else None
    if run is None:
        return None, None, None, None, one.emission
    steps, tao, seconds = f"{run.steps_completed} of {run.total_steps}", run.actual_tao, run.actual_seconds
    return steps, run.output_quality, f"{tao:g}", f"{seconds:.3f}", one.emission
