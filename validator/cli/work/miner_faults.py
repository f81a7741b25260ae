"""What `validator miners faults` does: it counts what was found in stored rounds."""

from pathlib import Path

from validator.audit.views import FaultList, FaultShare, fault_list
from validator.cli.output import NONE, print_json, print_line
from validator.cli.progress import progress
from validator.cli.session import ask_store
from validator.cli.tables import Column, print_table


def faults(rounds: int, config: Path | None, *, kinds: bool, as_json: bool) -> None:
    """Show what was found in the newest rounds, by miner or by kind of fault."""
    with progress("reading rounds", rounds) as step:
        found = ask_store(config, lambda tx, _: fault_list(tx, rounds, step))
    if as_json:
        print_json(found)
        return
    if not found.tasks:
        print_line(
            f"no task of the last {found.rounds} settled rounds says what there is to find: "
            "`validator tasks seed` makes such tasks, and canaries are such (SPEC 16, D-33)"
        )
        return
    if kinds:
        _print_kinds(found)
    else:
        _print_miners(found)
    print_line(
        f"of {found.tasks} tasks in {found.rounds} settled rounds; answers that passed the gates; none of it is scored"
    )


def _print_kinds(found: FaultList) -> None:
    columns = (Column("kind of fault"), *(Column(name, right=True) for name in ("found", "of", "share", "found by")))
    hardest_first = sorted(found.kinds.items(), key=lambda one: (one[1].found / max(1, one[1].known), one[0]))
    print_table(
        columns,
        (
            (
                kind,
                share.found,
                share.known,
                _percent(share),
                sum(kind in miner.kinds and miner.kinds[kind].found > 0 for miner in found.miners),
            )
            for kind, share in hardest_first
        ),
    )
    print_line("hardest first; found by: how many miners found it at least once")


def _print_miners(found: FaultList) -> None:
    families = sorted({family for miner in found.miners for family in miner.families})
    columns = (
        Column("hotkey"),
        *(Column(name, right=True) for name in ("answers", "found", "share", *families, "beside")),
    )
    print_table(
        columns,
        (
            (
                miner.hotkey,
                miner.answers,
                f"{miner.total.found}/{miner.total.known}",
                _percent(miner.total),
                *(_of(miner.families.get(family)) for family in families),
                miner.beside,
            )
            for miner in found.miners
        ),
    )
    print_line("beside: findings that name no known fault; --kinds lists the kinds of fault")


def _of(share: FaultShare | None) -> str:
    return NONE if share is None else f"{share.found}/{share.known}"


def _percent(share: FaultShare) -> str:
    return NONE if not share.known else f"{share.found / share.known:.0%}"
