"""`validator waiting …`: executions and code checks that wait in the store; `retry` makes one due (SPEC 12, 15)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sssa.cli.errors import say_no
from sssa.cli.options import Config, Json, Limit, State, group
from sssa.cli.output import cell, picked, print_json, print_line
from sssa.cli.rendering import Page, print_table
from sssa.protocol.execution import AnswerResult, RunReport, WorkState
from sssa.protocol.reasons import meaning_of
from sssa.protocol.waiting_work import CodeCheck, Execution, W, WaitingWork
from validator.audit.documents import execution_document, tries_document
from validator.cli.session import ask_store, change_store
from validator.store import Transaction
from validator.store.repositories.waiting_work import WorkQueue

WAITING = group()
WorkId = Annotated[
    str, typer.Argument(metavar="ID", help="The id of the execution or check, as `waiting list` has it.")
]


@WAITING.command("list")
def list_(config: Config = None, limit: Limit = 20, state: State = None, as_json: Json = False) -> None:
    """List executions and code checks, newest round first, with how many of each there are in each state."""
    executions, checks = ask_store(config, lambda tx, _: _listings(tx, limit, state))
    if as_json:
        print_json(
            {
                "executions": {"counts": executions[0], "listed": list(map(execution_document, executions[1]))},
                "code_checks": {"counts": checks[0], "listed": list(map(_check_document, checks[1]))},
            }
        )
        return
    _print_counts("executions", executions[0])
    if executions[1]:
        print_table("id task type state tries> answers> pass> reason counted_in>", map(_execution_cells, executions[1]))
    _print_counts("code checks", checks[0])
    if checks[1]:
        print_table("id hotkey state tries> passed> lint> S> reason entered_in>", map(_check_cells, checks[1]))


@WAITING.command()
def show(work_id: WorkId, config: Config = None, as_json: Json = False) -> None:
    """Show an execution, the runs next to what each miner's traces claim, or a code check. Exit 1: there is none."""
    work = _work(config, work_id)
    if as_json:
        print_json(execution_document(work) if isinstance(work, Execution) else _check_document(work))
        return
    page = Page()
    if isinstance(work, Execution):
        page.title(f"Round {work.round_id}")
        write_execution(page, work)
    else:
        _write_check(page, work)
    page.write()


@WAITING.command()
def retry(work_id: WorkId, config: Config = None) -> None:
    """Try an execution or a code check again now. Exit 1: it neither waits nor ended inconclusive."""
    work = _work(config, work_id)

    async def make_due(tx: Transaction) -> bool:
        queue: WorkQueue[Any] = tx.executions if isinstance(work, Execution) else tx.code_checks
        return await queue.retry(work_id, datetime.now(UTC))

    if not change_store(config, lambda tx, _: make_due(tx)):
        say_no(f"{work_id} is {work.state}: only what waits or ended inconclusive can be tried again")
    print_line(f"{work_id} is due now; a running validator or worker with a sandbox takes it")


Listing = tuple[Mapping[str, int], tuple[W, ...]]


async def _listings(
    tx: Transaction, limit: int, state: WorkState | None
) -> tuple[Listing[Execution], Listing[CodeCheck]]:
    return await _listing(tx.executions, limit, state), await _listing(tx.code_checks, limit, state)


async def _listing(queue: WorkQueue[W], limit: int, state: WorkState | None) -> Listing[W]:
    """Return how much work is in each state, and at most `limit` pieces of one state, or of all."""
    return await queue.counts(), await queue.listing(limit, state)


def _work(config: Path | None, work_id: str) -> Execution | CodeCheck:
    """Return the work of this id; end with exit code 1 if there is none."""

    async def get(tx: Transaction) -> Execution | CodeCheck | None:
        return await tx.executions.get(work_id) or await tx.code_checks.get(work_id)

    work = ask_store(config, lambda tx, _: get(tx)) if "\0" not in work_id else None
    if work is None:
        say_no(f"no execution and no code check has this id: {work_id}")
    return work


def _print_counts(name: str, counts: Mapping[str, int]) -> None:
    print_line(f"{name}: {', '.join(f'{state} {many}' for state, many in counts.items()) or 'none'}")


def _execution_cells(one: Execution) -> tuple[object, ...]:
    passed = sum(result.event == "rerun_pass" for result in one.results)
    answers = one.attempts, len(one.hotkeys), passed
    return one.work_id, one.task_id, one.skill_type, one.state, *answers, one.reason, one.entered_in


def _check_cells(one: CodeCheck) -> tuple[object, ...]:
    report = one.report
    passed = None if report is None else f"{report.passed} of {report.total}"
    lint = None if report is None else report.findings
    return one.work_id, one.hotkey, one.state, one.attempts, passed, lint, one.score, one.reason, one.entered_in


def _check_document(one: CodeCheck) -> dict[str, Any]:
    task, result = picked(one, "round_id task_id hotkey"), picked(one, "report score entered_in")
    return {"check_id": one.work_id, **task, **tries_document(one), **result}


def _write_check(page: Page, one: CodeCheck) -> None:
    page.title(f"Round {one.round_id}, miner {one.hotkey}")
    page.heading(f"Code of the plan for task {one.task_id}, {one.state}")
    _write_tries(page, one)
    if one.entered_in is not None and one.score is not None:
        page.line(f"entered its window with round {one.entered_in}: {one.score:.4f}")
    elif one.score is not None:
        page.line(f"the next round that is settled enters it: {one.score:.4f}")
    page.line(
        f"`validator explain {one.hotkey} --round {one.round_id}` has the plan, its run and the parts of the score"
    )


def _write_tries(page: Page, one: WaitingWork) -> None:
    tries = "tried once" if one.attempts == 1 else f"tried {one.attempts} times"
    if one.state == "pending":
        page.line(f"{tries}; the next try is not before {cell(one.due_at)}")
    elif one.state == "running":
        page.line(f"{tries}; running since {cell(one.started_at)}")
    else:
        page.line(f"{tries}; ended at {cell(one.ended_at)}")
    if one.reason is not None:
        detail = f" ({one.detail})" if one.detail else ""
        page.line(f"{one.reason}: {meaning_of(one.reason) or '-'}{detail}")


def write_execution(page: Page, execution: Execution) -> None:
    """Add everything that is known of an execution to a page (SPEC 15)."""
    page.heading(f"Executed: task {execution.task_id} ({execution.skill_type}), {execution.state}")
    page.line(f"execution {execution.work_id}, for {len(execution.hotkeys)} valid primaries")
    _write_tries(page, execution)
    if execution.report is not None:
        page.line("three runs: the bundle, the bundle again, and nothing, the probes alone")
        files = execution.report.files.items()
        rows = ((name, one.stable, one.varying, one.tracer, one.possible) for name, one in files)
        page.table("trace stable> varies> of_the_tracer> in_any_run>", rows)
    for result in execution.results:
        _write_result(page, execution.report, result)
    if execution.state == "inconclusive":
        page.line("it says nothing of any miner, and nothing was counted")
    elif execution.entered_in is not None:
        page.line(f"counted in round {execution.entered_in}")
    elif execution.results:
        page.line("the next round that is settled counts it")


def _write_result(page: Page, runs: RunReport | None, result: AnswerResult) -> None:
    faults = f": {', '.join(result.report.faults)}" if result.report.faults else ""
    page.line(f"{result.hotkey}: {result.event or 'no event'}{faults}", style="red" if faults else "")
    if result.event is None:
        page.line("its traces pass when names that differ in digits alone count as one: it is no fail (SPEC 15)")
    if result.report.mark is not None:
        named = f": {runs.mark}" if runs is not None and runs.mark is not None else ""
        page.line(f"the execution mark is {'in' if result.report.mark else 'missing from'} its traces{named}")
    stable = {name: one.stable for name, one in runs.files.items()} if runs else {}
    files = result.report.files.items()
    page.table(
        "trace the_runs_show> the_miner_claims> in_both> missing> invented>",
        ((name, stable.get(name), one.claimed, one.shared, one.missing, one.invented) for name, one in files),
    )
    for name, one in files:
        page.lists(
            {
                f"{name}: every run shows it, the miner does not claim it": one.shown_missing,
                f"{name}: the miner claims it, no run shows it": one.shown_invented,
            }
        )
    if result.struck is not None:
        page.line(f"the window entry of the answer was {result.struck:.4f} and is 0 since then (D-30)", style="red")
