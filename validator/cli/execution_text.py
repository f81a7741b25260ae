"""An execution on a page: what the runs showed next to what the miners' traces claim (SPEC 15)."""

from validator.audit.views import ExecutionView, ResultView
from validator.cli.explain_page import Page
from validator.cli.tables import Column
from validator.cli.waiting_work import write_tries
from validator.protocol.execution import RunReport


def write_execution(page: Page, execution: ExecutionView) -> None:
    """Add everything that is known of an execution."""
    page.heading(f"Executed: task {execution.task_id} ({execution.skill_type}), {execution.state}")
    page.line(f"execution {execution.execution_id}, for {len(execution.hotkeys)} valid primaries")
    write_tries(page, execution)
    if execution.report is not None:
        _write_runs(page, execution.report)
    for result in execution.results:
        _write_result(page, execution.report, result)
    if execution.state == "inconclusive":
        page.line("it says nothing of any miner, and nothing was counted")
    elif execution.counted_in is not None:
        page.line(f"counted in round {execution.counted_in}")
    elif execution.results:
        page.line("the next round that is settled counts it")


def _write_runs(page: Page, report: RunReport) -> None:
    page.line("three runs: the bundle, the bundle again, and nothing, the probes alone")
    columns = (
        Column("trace"),
        Column("stable", right=True),
        Column("varies", right=True),
        Column("of the tracer", right=True),
        Column("in any run", right=True),
    )
    rows = ((name, one.stable, one.varying, one.tracer, one.possible) for name, one in report.files.items())
    page.table(columns, rows)


def _write_result(page: Page, runs: RunReport | None, result: ResultView) -> None:
    faults = f": {', '.join(result.report.faults)}" if result.report.faults else ""
    page.line(f"{result.hotkey}: {result.event}{faults}", style="red" if faults else "")
    if result.report.mark is not None:
        named = f": {runs.mark}" if runs is not None and runs.mark is not None else ""
        page.line(f"the execution mark is {'in' if result.report.mark else 'missing from'} its traces{named}")
    columns = (
        Column("trace"),
        Column("the runs show", right=True),
        Column("the miner claims", right=True),
        Column("in both", right=True),
        Column("missing", right=True),
        Column("invented", right=True),
    )
    stable = {name: one.stable for name, one in runs.files.items()} if runs else {}
    rows = (
        (name, stable.get(name), one.claimed, one.shared, one.missing, one.invented)
        for name, one in result.report.files.items()
    )
    page.table(columns, rows)
    for name, one in result.report.files.items():
        page.things(f"{name}: every run shows it, the miner does not claim it", one.shown_missing)
        page.things(f"{name}: the miner claims it, no run shows it", one.shown_invented)
    if result.struck is not None:
        page.line(f"the window entry of the answer was {result.struck:.4f} and is 0 since then (D-30)", style="red")
