"""`validator executions …`, `… code-checks …`: work that waits in the store; `retry` makes it due (SPEC 12, 15)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from validator.audit.documents import execution_document, tries_document
from validator.cli.errors import say_no
from validator.cli.options import Config, Json, Limit, State, group
from validator.cli.output import cell, picked, print_json, print_line
from validator.cli.rendering import Page, print_table
from validator.cli.session import ask_store, change_store
from validator.protocol.execution import AnswerResult, RunReport, WorkState
from validator.protocol.reasons import meaning_of
from validator.store import Transaction
from validator.store.repositories.waiting_work import WorkQueue
from validator.store.waiting_work import CodeCheck, Execution, W, WaitingWork

EXECUTIONS = group()
CODE_CHECKS = group()
ExecutionId = Annotated[str, typer.Argument(metavar="ID", help="The execution's id, as `executions list` has it.")]
CheckId = Annotated[str, typer.Argument(metavar="ID", help="The check's id, as `code-checks list` has it.")]


@EXECUTIONS.command("list")
def list_executions(config: Config = None, limit: Limit = 20, state: State = None, as_json: Json = False) -> None:
    """List executions, newest round first, with how many there are in each state."""
    counts, found = ask_store(config, lambda tx, _: _listed(tx.executions, limit, state))
    if as_json:
        print_json({"counts": counts, "executions": list(map(execution_document, found))})
        return
    _print_counts(counts, "no executions")
    if found:
        print_table("id task type state tries> answers> pass> reason counted_in>", map(_execution_cells, found))


async def _listed(queue: WorkQueue[W], limit: int, state: WorkState | None) -> tuple[Mapping[str, int], tuple[W, ...]]:
    """Return how much work is in each state, and at most `limit` pieces of one state, or of all."""
    return await queue.counts(), await queue.listing(limit, state)


def _execution_cells(one: Execution) -> tuple[object, ...]:
    passed = sum(result.event == "rerun_pass" for result in one.results)
    answers = one.attempts, len(one.hotkeys), passed
    return one.work_id, one.task_id, one.skill_type, one.state, *answers, one.reason, one.entered_in


@EXECUTIONS.command("show")
def show_execution(execution_id: ExecutionId, config: Config = None, as_json: Json = False) -> None:
    """Show an execution: the runs next to what each miner's traces claim. Exit 1: there is none."""
    found = _found(config, "execution", execution_id, lambda tx: tx.executions)
    if as_json:
        print_json(execution_document(found))
        return
    page = Page()
    page.title(f"Round {found.round_id}")
    write_execution(page, found)
    page.write()


@EXECUTIONS.command("retry")
def retry_execution(execution_id: ExecutionId, config: Config = None) -> None:
    """Execute a task again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    _retry(config, "execution", execution_id, lambda tx: tx.executions)
    print_line(f"{execution_id} is due now; a running validator with a sandbox takes it before the next round settles")


@CODE_CHECKS.command("list")
def list_checks(config: Config = None, limit: Limit = 20, state: State = None, as_json: Json = False) -> None:
    """List code checks, newest round first, with how many there are in each state."""
    counts, found = ask_store(config, lambda tx, _: _listed(tx.code_checks, limit, state))
    if as_json:
        print_json({"counts": counts, "checks": list(map(_check_json, found))})
        return
    _print_counts(counts, "no code checks")
    if found:
        print_table("id hotkey state tries> passed> lint> S> reason entered_in>", map(_check_cells, found))


def _check_cells(one: CodeCheck) -> tuple[object, ...]:
    report = one.report
    passed = None if report is None else f"{report.passed} of {report.total}"
    lint = None if report is None else report.findings
    return one.work_id, one.hotkey, one.state, one.attempts, passed, lint, one.score, one.reason, one.entered_in


@CODE_CHECKS.command("show")
def show_check(check_id: CheckId, config: Config = None, as_json: Json = False) -> None:
    """Show a code check: the result of it, and what it is worth. Exit 1: there is none."""
    found = _found(config, "code check", check_id, lambda tx: tx.code_checks)
    if as_json:
        print_json(_check_json(found))
        return
    page = Page()
    page.title(f"Round {found.round_id}, miner {found.hotkey}")
    page.heading(f"Code of the plan for task {found.task_id}, {found.state}")
    _write_tries(page, found)
    if found.entered_in is not None and found.score is not None:
        page.line(f"entered its window with round {found.entered_in}: {found.score:.4f}")
    elif found.score is not None:
        page.line(f"the next round that is settled enters it: {found.score:.4f}")
    page.line(
        f"`validator explain {found.hotkey} --round {found.round_id}` has the plan, its run and the parts of the score"
    )
    page.write()


@CODE_CHECKS.command("retry")
def retry_check(check_id: CheckId, config: Config = None) -> None:
    """Try a code check again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    _retry(config, "code check", check_id, lambda tx: tx.code_checks)
    print_line(f"{check_id} is due now; a running validator with a sandbox for code takes it within seconds")


def _check_json(one: CodeCheck) -> dict[str, Any]:
    task, result = picked(one, "round_id task_id hotkey"), picked(one, "report score entered_in")
    return {"check_id": one.work_id, **task, **tries_document(one), **result}


def _found(config: Path | None, name: str, work_id: str, queue: Callable[[Transaction], WorkQueue[W]]) -> W:
    """Return waiting work of this id; end with exit code 1 where there is none."""
    found = ask_store(config, lambda tx, _: queue(tx).get(work_id)) if "\0" not in work_id else None
    if found is None:
        say_no(f"no {name} has this id: {work_id}")
    return found


def _retry(config: Path | None, name: str, work_id: str, queue: Callable[[Transaction], WorkQueue[W]]) -> None:
    """Make waiting work due now; end with exit code 1 where that cannot be."""
    found = _found(config, name, work_id, queue)

    async def retry(tx: Transaction) -> str | None:
        if await queue(tx).retry(work_id, datetime.now(UTC)):
            return None
        return f"{work_id} is {found.state}: only what waits or ended inconclusive can be tried again"

    if fault := change_store(config, lambda tx, _: retry(tx)):
        say_no(fault)


def _print_counts(counts: Mapping[str, int], none: str) -> None:
    print_line(", ".join(f"{name} {many}" for name, many in counts.items()) or none)


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
