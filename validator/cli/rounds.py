"""`validator rounds …`: rounds, their groups, answers and results. Reads the store."""

from collections.abc import Iterable
from typing import Annotated

import typer

from sssa.cli.errors import say_no
from sssa.cli.options import Config, Json, RoundId, group
from sssa.cli.output import cell, print_json, print_line
from sssa.cli.rendering import print_listing, print_rows
from sssa.protocol.limits import MAX_ROUND_ID
from validator.audit.documents import RoundDocument, TaskDocument, round_document
from validator.audit.views import round_list
from validator.cli.kinds import page_of
from validator.cli.session import ask_store

ROUNDS = group()
_COLUMNS = (
    "round=round_id> state reason epoch> block> started=started_at tasks=task_count> dispatches=dispatch_count> "
    "accepted=accepted_count> failed=failed_count> mean_Q=mean_quality> mean_consensus>"
)


@ROUNDS.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most rounds.")] = 20,
    before: Annotated[
        int | None, typer.Option(metavar="ID", min=0, max=MAX_ROUND_ID, help="Only rounds before this one, for paging.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List rounds, newest first."""
    rounds = ask_store(config, lambda tx, _: round_list(tx, limit, before))
    print_listing("rounds", rounds, _COLUMNS, as_json=as_json)


@ROUNDS.command()
def show(round_id: RoundId, config: Config = None, as_json: Json = False) -> None:
    """Show a round: groups, exclusions, dispatches with reasons and scores, flags, reputation. Exit 1: no such one."""
    document = ask_store(config, lambda tx, _: round_document(tx, round_id))
    if document is None:
        say_no(f"there is no round {round_id} in the store; `validator rounds list` shows them")
    if as_json:
        print_json(document)
    else:
        print_round(document)


def print_round(document: RoundDocument) -> None:
    """Print a whole round; the meanings of its reason codes come last."""
    record = document.round
    reason = f" ({record.reason})" if record.reason and record.reason != record.state else ""
    print_line(f"Round {record.round_id}: {record.state}{reason}, epoch {record.epoch}, block {record.block}")
    print_line(f"started {cell(record.started_at)}, ended {cell(record.settled_at)}")
    print_line(
        f"{record.task_count} tasks, {record.dispatch_count} dispatches, {cell(record.accepted_count)} accepted, "
        f"{cell(record.failed_count)} failed, mean Q {cell(record.mean_quality)}, "
        f"mean consensus {cell(record.mean_consensus)}"
    )
    for stall in document.stalls:
        print_line(f"the validator stood still from {cell(stall.started_at)} for {stall.seconds:.1f} s (D-26)")
    for task in document.tasks:
        _print_task(task)
    for flag in document.flags:
        print_line()
        print_line(
            f"Flag {flag.id} raised: {cell(flag.hotkey)} for {flag.skill_type}, {flag.samples} samples, mean agreement "
            f"{cell(flag.mean_with_primaries)} with primaries, {cell(flag.mean_with_auditors)} with auditors, quality "
            f"{cell(flag.mean_own)}, that of the auditors {cell(flag.mean_witnesses)}"
            + ("" if flag.standing else ", cleared since")
        )
    if document.reputation:
        print_line()
        print_line("Reputation")
        print_rows("hotkey type=skill_type event=kind before> after> cause", document.reputation)
    if meanings := sorted(_meanings(document)):
        print_line()
        print_line("What the reasons mean")
    for code, meaning in meanings:
        print_line(f"{code}: {meaning}")


def _print_task(task: TaskDocument) -> None:
    print_line()
    ended = f" ({task.reason})" if task.reason and task.reason != task.state else ""
    print_line(f"Task {task.task_id}: {task.skill_type}, slot {task.slot}, mode {task.mode}, {task.state}{ended}")
    page = page_of(task.skill_type)
    print_line(page.subject(task))
    if task.outcome is not None:
        print_line(page.outcome_line(task.outcome))
    if task.dispatches:
        page.dispatches(task.dispatches)
    for word, hotkeys in (("promoted", task.promoted), ("demoted", task.demoted)):
        for hotkey in hotkeys:
            print_line(f"{word} {hotkey}")
    for one in task.excluded:
        print_line(f"excluded {one.hotkey}: {one.reason}")


def _meanings(document: RoundDocument) -> Iterable[tuple[str, str]]:
    codes = {document.round.reason}
    for task in document.tasks:
        codes |= {task.reason, *(one.reason for one in task.excluded), *(one.reason for one in task.dispatches)}
    return {(code, code.meaning) for code in codes if code and code.meaning}
