"""`validator checks …`: code of plans that is judged after its round (SPEC 12)."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from validator.audit.views import CheckView, check_list, check_of
from validator.cli.errors import say_no
from validator.cli.explain_page import Page
from validator.cli.options import Config, Json
from validator.cli.output import cell, print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.store import Transaction
from validator.store.records import WorkState

CheckId = Annotated[
    str, typer.Argument(metavar="ID", help="The check's id, as `checks list` has it.", show_default=False)
]
_COLUMNS = (
    Column("id"),
    Column("hotkey"),
    Column("state"),
    Column("tries", right=True),
    Column("passed", right=True),
    Column("lint", right=True),
    Column("S", right=True),
    Column("reason"),
    Column("entered in", right=True),
)


def list_(
    config: Config = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="At most so many.")] = 20,
    state: Annotated[WorkState | None, typer.Option("--state", help="Those in this state alone.")] = None,
    as_json: Json = False,
) -> None:
    """List code checks, newest round first, with how many there are in each state."""
    found = ask_store(config, lambda tx, _: check_list(tx, limit, state))
    if as_json:
        print_json(found)
        return
    print_line(", ".join(f"{name} {many}" for name, many in found.counts.items()) or "no code checks")
    if found.checks:
        print_table(_COLUMNS, map(_cells, found.checks))


def _cells(one: CheckView) -> tuple[object, ...]:
    report = one.report
    passed = None if report is None else f"{report.passed} of {report.total}"
    lint = None if report is None else report.findings
    return one.check_id, one.hotkey, one.state, one.attempts, passed, lint, one.score, one.reason, one.entered_in


def show(check_id: CheckId, config: Config = None, as_json: Json = False) -> None:
    """Show a code check: what became of it, and what it is worth. Exit 1: there is none."""
    found = ask_store(config, lambda tx, _: check_of(tx, check_id))
    if found is None:
        say_no(f"no code check has this id: {check_id}")
    if as_json:
        print_json(found)
        return
    page = Page()
    page.title(f"Round {found.round_id}, miner {found.hotkey}")
    page.heading(f"Code of the plan for task {found.task_id}, {found.state}")
    tries = "tried once" if found.attempts == 1 else f"tried {found.attempts} times"
    if found.state == "pending":
        page.line(f"{tries}; the next try is not before {cell(found.due_at)}")
    elif found.state == "running":
        page.line(f"{tries}; running since {cell(found.started_at)}")
    else:
        page.line(f"{tries}; ended at {cell(found.ended_at)}")
    if found.reason is not None:
        detail = f" ({found.detail})" if found.detail else ""
        page.line(f"{found.reason}: {found.meaning or '-'}{detail}")
    if found.entered_in is not None and found.score is not None:
        page.line(f"entered its window with round {found.entered_in}: {found.score:.4f}")
    elif found.score is not None:
        page.line(f"the next round that is settled enters it: {found.score:.4f}")
    page.line(f"`validator explain {found.round_id} {found.hotkey}` has the plan, its run and the parts of the score")
    page.write()


def retry(check_id: CheckId, config: Config = None) -> None:
    """Try a code check again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    said = change_store(config, lambda tx, _: _retry(tx, check_id))
    if said is not None:
        say_no(said)
    print_line(f"{check_id} is due now; a running validator with a sandbox for code takes it within seconds")


async def _retry(tx: Transaction, check_id: str) -> str | None:
    """Make the check due; return why that cannot be."""
    found = await check_of(tx, check_id)
    if found is None:
        return f"no code check has this id: {check_id}"
    now = datetime.now(UTC)
    if await tx.code_checks.hasten(check_id, now) or await tx.code_checks.reopen(check_id, now):
        return None
    return f"{check_id} is {found.state}: only what waits or ended inconclusive can be tried again"
