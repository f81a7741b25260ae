"""`validator flags …`: collusion flags (SPEC 9), listed or cleared in the store; the next round freezes the change."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from sssa.cli.errors import say_no
from sssa.cli.options import Config, Json, group
from sssa.cli.output import cell, print_json, print_line
from sssa.cli.rendering import print_listing, print_rows
from sssa.protocol.text import count
from validator.audit.views import flag_details
from validator.cli.session import ask_store, change_store
from validator.store.rows import FlagDetail

FLAGS = group()
_COLUMNS = (
    "id> hotkey type=skill_type round=round_id> with_primaries=mean_with_primaries> with_auditors=mean_with_auditors> "
    "own=mean_own> witnesses=mean_witnesses> samples> raised=raised_at cleared=cleared_at why_cleared=cleared_reason~"
)


@FLAGS.command("list")
def list_(
    config: Config = None,
    everything: Annotated[bool, typer.Option("--all", help="Cleared flags too.")] = False,
    as_json: Json = False,
) -> None:
    """List the standing flags, oldest first."""
    flags = ask_store(config, lambda tx, _: tx.flags.listing(include_cleared=everything))
    print_listing("flags", flags, _COLUMNS, as_json=as_json, none="" if everything else "no standing flags")


@FLAGS.command()
def show(
    which: Annotated[str, typer.Argument(metavar="ID|HOTKEY", help="A flag's id, or a hotkey for all of its flags.")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show flags with the agreements that led to them, cleared ones too. Exit 1: there is none."""
    details = ask_store(config, lambda tx, _: flag_details(tx, which))
    if not details:
        say_no(f"no flag has this id or hotkey: {which}")
    if as_json:
        print_json({"flags": details})
        return
    for detail in details:
        _print(detail)


def _print(detail: FlagDetail) -> None:
    flag = detail.flag
    state = "standing" if flag.standing else f"cleared {cell(flag.cleared_at)}: {flag.cleared_reason}"
    print_line(f"Flag {flag.id} of {flag.hotkey} for {flag.skill_type}: {state}")
    print_line(
        f"raised in round {flag.round_id} at {cell(flag.raised_at)}: {flag.samples} samples, mean agreement "
        f"{flag.mean_with_primaries:.4f} with primaries, {flag.mean_with_auditors:.4f} with auditors, mean quality "
        f"{flag.mean_own:.4f}, that of the auditors {flag.mean_witnesses:.4f}"
    )
    print_rows("round=round_id> with_primaries> with_auditors> own> witnesses> reason", detail.agreements)
    print_line()


@FLAGS.command()
def clear(
    hotkey: Annotated[str, typer.Argument(metavar="HOTKEY", help="Whose standing flags.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the flags.")],
    config: Config = None,
) -> None:
    """Clear all standing flags of a hotkey. Exit 1: it has none."""
    now = datetime.now(UTC)
    cleared = change_store(config, lambda tx, _: tx.acts.clear(hotkey, reason, now))
    if not cleared:
        say_no(f"nothing to clear: {hotkey} has no standing flag")
    print_line(f"cleared {count(cleared, 'flag')} of {hotkey}")
