"""What `validator checks …` does: code of plans that is judged after its round (SPEC 12)."""

from pathlib import Path

from validator.audit.views import CheckView, check_list, check_of
from validator.cli.errors import say_no
from validator.cli.explain_page import Page
from validator.cli.output import print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.cli.waiting_work import print_counts, try_now, write_tries
from validator.protocol.work_states import WorkState
from validator.store import Transaction

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


def list_(config: Path | None, limit: int, state: WorkState | None, *, as_json: bool) -> None:
    """List code checks, newest round first, with how many there are in each state."""
    found = ask_store(config, lambda tx, _: check_list(tx, limit, state))
    if as_json:
        print_json(found)
        return
    print_counts(found.counts, "no code checks")
    if found.checks:
        print_table(_COLUMNS, map(_cells, found.checks))


def _cells(one: CheckView) -> tuple[object, ...]:
    report = one.report
    passed = None if report is None else f"{report.passed} of {report.total}"
    lint = None if report is None else report.findings
    return one.check_id, one.hotkey, one.state, one.attempts, passed, lint, one.score, one.reason, one.entered_in


def show(check_id: str, config: Path | None, *, as_json: bool) -> None:
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
    write_tries(page, found)
    if found.entered_in is not None and found.score is not None:
        page.line(f"entered its window with round {found.entered_in}: {found.score:.4f}")
    elif found.score is not None:
        page.line(f"the next round that is settled enters it: {found.score:.4f}")
    page.line(f"`validator explain {found.round_id} {found.hotkey}` has the plan, its run and the parts of the score")
    page.write()


def retry(check_id: str, config: Path | None) -> None:
    """Try a code check again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    said = change_store(config, lambda tx, _: _retry(tx, check_id))
    if said is not None:
        say_no(said)
    print_line(f"{check_id} is due now; a running validator with a sandbox for code takes it within seconds")


async def _retry(tx: Transaction, check_id: str) -> str | None:
    return await try_now(tx, tx.code_checks, "code check", check_id, await check_of(tx, check_id))
