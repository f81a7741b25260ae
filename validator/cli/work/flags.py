"""What `validator flags …` does: collusion flags (SPEC 9)."""

from datetime import UTC, datetime
from pathlib import Path

from validator.audit.views import FlagDetailView, flag_details, flag_list
from validator.cli.errors import say_no
from validator.cli.output import cell, print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table


def list_(config: Path | None, *, everything: bool, as_json: bool) -> None:
    """List the standing flags, oldest first."""
    found = ask_store(config, lambda tx, _: flag_list(tx, include_cleared=everything))
    if as_json:
        print_json({"flags": found})
        return
    if not found:
        print_line("no flags" if everything else "no standing flags")
        return
    columns = (
        Column("id", right=True),
        Column("hotkey"),
        Column("type"),
        Column("round", right=True),
        Column("with primaries", right=True),
        Column("with auditors", right=True),
        Column("samples", right=True),
        Column("raised"),
        Column("cleared"),
        Column("why cleared", fold=True),
    )
    print_table(
        columns,
        (
            (
                flag.id,
                flag.hotkey,
                flag.skill_type,
                flag.round_id,
                flag.mean_with_primaries,
                flag.mean_with_auditors,
                flag.samples,
                flag.raised_at,
                flag.cleared_at,
                flag.cleared_reason,
            )
            for flag in found
        ),
    )


def show(which: str, config: Path | None, *, as_json: bool) -> None:
    """Show flags with the agreements that led to them, cleared ones too. Exit 1: there is none."""
    found = ask_store(config, lambda tx, _: flag_details(tx, which))
    if not found:
        say_no(f"no flag has this id or hotkey: {which}")
    if as_json:
        print_json({"flags": found})
        return
    for detail in found:
        _print(detail)


def clear(hotkey: str, reason: str, config: Path | None) -> None:
    """Clear all standing flags of a hotkey. Exit 1: it has none."""
    now = datetime.now(UTC)
    cleared = change_store(config, lambda tx, _: tx.flags.clear(hotkey, reason, now))
    if not cleared:
        say_no(f"nothing to clear: {hotkey} has no standing flag")
    print_line(f"cleared {cleared} {'flag' if cleared == 1 else 'flags'} of {hotkey}")


def _print(detail: FlagDetailView) -> None:
    flag = detail.flag
    state = "standing" if flag.standing else f"cleared {cell(flag.cleared_at)}: {flag.cleared_reason}"
    print_line(f"Flag {flag.id} of {flag.hotkey} for {flag.skill_type}: {state}")
    print_line(
        f"raised in round {flag.round_id} at {cell(flag.raised_at)}: {flag.samples} samples, mean agreement "
        f"{flag.mean_with_primaries:.4f} with primaries, {flag.mean_with_auditors:.4f} with auditors"
    )
    columns = (
        Column("round", right=True),
        Column("with primaries", right=True),
        Column("with auditors", right=True),
        Column("reason"),
    )
    print_table(columns, ((a.round_id, a.with_primaries, a.with_auditors, a.reason) for a in detail.agreements))
    print_line()
