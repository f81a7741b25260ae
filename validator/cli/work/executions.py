"""What `validator executions …` does: tasks whose bundles are run after their round (SPEC 15)."""

from pathlib import Path

from validator.audit.views import execution_list, execution_of
from validator.cli.errors import say_no
from validator.cli.execution_text import write_execution
from validator.cli.explain_page import Page
from validator.cli.output import print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.cli.waiting_work import print_counts, try_now
from validator.protocol.work_states import WorkState
from validator.store import Transaction


def list_(config: Path | None, limit: int, state: WorkState | None, *, as_json: bool) -> None:
    """List executions, newest round first, with how many there are in each state."""
    found = ask_store(config, lambda tx, _: execution_list(tx, limit, state))
    if as_json:
        print_json(found)
        return
    print_counts(found.counts, "no executions")
    if not found.executions:
        return
    columns = (
        Column("id"),
        Column("task"),
        Column("type"),
        Column("state"),
        Column("tries", right=True),
        Column("answers", right=True),
        Column("pass", right=True),
        Column("reason"),
        Column("counted in", right=True),
    )
    print_table(
        columns,
        (
            (
                one.execution_id,
                one.task_id,
                one.skill_type,
                one.state,
                one.attempts,
                len(one.hotkeys),
                sum(result.event == "rerun_pass" for result in one.results),
                one.reason,
                one.counted_in,
            )
            for one in found.executions
        ),
    )


def show(execution_id: str, config: Path | None, *, as_json: bool) -> None:
    """Show an execution: the runs next to what each miner's traces claim. Exit 1: there is none."""
    found = ask_store(config, lambda tx, _: execution_of(tx, execution_id))
    if found is None:
        say_no(f"no execution has this id: {execution_id}")
    if as_json:
        print_json(found)
        return
    page = Page()
    page.title(f"Round {found.round_id}")
    write_execution(page, found)
    page.write()


def retry(execution_id: str, config: Path | None) -> None:
    """Execute a task again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    said = change_store(config, lambda tx, _: _retry(tx, execution_id))
    if said is not None:
        say_no(said)
    print_line(f"{execution_id} is due now; a running validator with a sandbox takes it before the next round settles")


async def _retry(tx: Transaction, execution_id: str) -> str | None:
    return await try_now(tx, tx.executions, "execution", execution_id, await execution_of(tx, execution_id))
