"""`validator flags …`: collusion flags (SPEC 9), listed or cleared in the store; the next round freezes the change."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from validator.audit.explain.pair import explain_pair
from validator.audit.views import PairView, flag_details, pair_list
from validator.cli.errors import say_no
from validator.cli.options import Config, Json, group
from validator.cli.output import cell, print_json, print_line
from validator.cli.rendering import print_listing, print_rows, print_table
from validator.cli.session import ask_store, change_store
from validator.kinds.explained.selection import count
from validator.protocol.tallies import pair_of
from validator.store import Transaction
from validator.store.rows import FlagDetail

FLAGS = group("flags", "Collusion flags, three of which eject a miner, and evidence between pairs of miners.")
_COLUMNS = (
    "id> hotkey type=skill_type round=round_id> with_primaries=mean_with_primaries> with_auditors=mean_with_auditors> "
    "samples> raised=raised_at cleared=cleared_at why_cleared=cleared_reason~"
)


@FLAGS.command("list")
def list_(
    config: Config = None,
    everything: Annotated[bool, typer.Option("--all", help="Cleared flags too.")] = False,
    as_json: Json = False,
) -> None:
    """List the standing flags, oldest first."""
    found = ask_store(config, lambda tx, _: tx.flags.listing(include_cleared=everything))
    print_listing("flags", found, _COLUMNS, as_json=as_json, none="" if everything else "no standing flags")


@FLAGS.command()
def show(
    which: Annotated[
        str | None,
        typer.Argument(metavar="[ID|HOTKEY]", help="A flag's id, or a hotkey for its flags and pairs."),
    ] = None,
    other: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="Another hotkey: every step of the evidence between the two."),
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show flags with the agreements that led to them, cleared ones too. Exit 1: there is none.

    Without an argument, show the pairs of miners that evidence says share one analysis, from a value of 1,000 on
    (scoring version 2.0.0); with a hotkey, all of its pairs; with two, the faults that both could name, next to what
    two independent miners of their abilities would have done.
    """
    if which is not None and other is not None:
        _show_pair(config, which, other, as_json=as_json)
        return

    async def ask(tx: Transaction) -> tuple[tuple[FlagDetail, ...], tuple[PairView, ...]]:
        return () if which is None else await flag_details(tx, which), await pair_list(tx, which)

    found, pairs = ask_store(config, lambda tx, _: ask(tx))
    if which is not None and not found and not pairs:
        say_no(f"no flag has this id or hotkey: {which}")
    if as_json:
        print_json({"flags": found, "pairs": pairs})
        return
    for detail in found:
        _print(detail)
    if pairs:
        rows = ((*one.pair, f"{one.value:.4g}", one.proven, one.last_round) for one in pairs)
        print_table("hotkey other value> proven last_round>", rows)
    elif which is None:
        print_line("no pair of miners from a value of 1,000 on")


def _show_pair(config: Config, which: str, other: str, *, as_json: bool) -> None:
    found = ask_store(config, lambda tx, _: explain_pair(tx, which, other))
    if found is None:
        say_no(f"no evidence between these hotkeys: {which}, {other}")
    if as_json:
        print_json(found)
        return
    print_line(
        f"{found.pair[0]} and {found.pair[1]}: value {found.value:.4g}, {'proven' if found.proven else 'not proven'}"
    )
    print_line(
        f"of {found.counted} faults both named or both missed {found.same}; "
        f"two independent miners of their abilities would have {found.expected:.1f}"
    )
    for step in found.steps:
        ratio = "-" if step.ratio is None else f"{step.ratio:.4g}"
        print_line()
        print_line(
            f"round {step.round_id}, task {step.task_id}, {step.skill_type}: ratio {ratio}, "
            f"value {step.before:.4g} -> {step.after:.4g}{', proven' if step.proven else ''}"
        )
        rows = (
            (
                one.kind,
                *(("-", "-") if one.chances is None else (f"{chance:.2f}" for chance in one.chances)),
                *one.found,
            )
            for one in step.faults
        )
        print_table("kind chance> other> found other_found", rows)


def _print(detail: FlagDetail) -> None:
    flag = detail.flag
    state = "standing" if flag.standing else f"cleared {cell(flag.cleared_at)}: {flag.cleared_reason}"
    print_line(f"Flag {flag.id} of {flag.hotkey} for {flag.skill_type}: {state}")
    print_line(
        f"raised in round {flag.round_id} at {cell(flag.raised_at)}: {flag.samples} samples, mean agreement "
        f"{flag.mean_with_primaries:.4f} with primaries, {flag.mean_with_auditors:.4f} with auditors"
    )
    print_rows("round=round_id> with_primaries> with_auditors> reason", detail.agreements)
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


@FLAGS.command()
def reset(
    hotkey: Annotated[str, typer.Argument(metavar="HOTKEY", help="One of a pair of miners.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The other one.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the pair.")],
    config: Config = None,
) -> None:
    """Set the evidence that two miners share one analysis back to 1. Exit 1: there is none against them."""
    now, pair = datetime.now(UTC), pair_of(hotkey, other)
    if not change_store(config, lambda tx, _: tx.acts.reset(pair, reason, now)):
        say_no(f"nothing to reset: there is no evidence against {hotkey} and {other}")
    print_line(f"reset the pair of {pair[0]} and {pair[1]}; the next round says so")
