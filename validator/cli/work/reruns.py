"""What `validator reruns …` does: answers that are run again (SPEC 15)."""

from pathlib import Path

from validator.audit.views import rerun_list, rerun_of
from validator.cli.errors import say_no
from validator.cli.explain_page import Page
from validator.cli.output import print_json, print_line
from validator.cli.rerun_text import write_rerun
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.cli.waiting_work import print_counts, try_now
from validator.protocol.work_states import WorkState
from validator.store import Transaction


def list_(config: Path | None, limit: int, state: WorkState | None, *, as_json: bool) -> None:
    """List reruns, newest round first, with how many there are in each state."""
    found = ask_store(config, lambda tx, _: rerun_list(tx, limit, state))
    if as_json:
        print_json(found)
        return
    print_counts(found.counts, "no reruns")
    if not found.reruns:
        return
    columns = (
        Column("id"),
        Column("hotkey"),
        Column("type"),
        Column("why"),
        Column("state"),
        Column("tries", right=True),
        Column("event"),
        Column("reason"),
        Column("counted in", right=True),
    )
    print_table(
        columns,
        (
            (
                one.rerun_id,
                one.hotkey,
                one.skill_type,
                one.why,
                one.state,
                one.attempts,
                one.event,
                one.reason,
                one.counted_in,
            )
            for one in found.reruns
        ),
    )


def show(rerun_id: str, config: Path | None, *, as_json: bool) -> None:
    """Show a rerun: what the miner's traces claim beside what was seen. Exit 1: there is none."""
    found = ask_store(config, lambda tx, _: rerun_of(tx, rerun_id))
    if found is None:
        say_no(f"no rerun has this id: {rerun_id}")
    if as_json:
        print_json(found)
        return
    page = Page()
    page.title(f"Round {found.round_id}, miner {found.hotkey}")
    write_rerun(page, found)
    page.write()


def retry(rerun_id: str, config: Path | None) -> None:
    """Try a rerun again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    said = change_store(config, lambda tx, _: _retry(tx, rerun_id))
    if said is not None:
        say_no(said)
    print_line(f"{rerun_id} is due now; a running validator with a sandbox takes it within seconds")


async def _retry(tx: Transaction, rerun_id: str) -> str | None:
    return await try_now(tx, tx.reruns, "rerun", rerun_id, await rerun_of(tx, rerun_id))
