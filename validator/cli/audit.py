"""`validator audit …`: the signed log of all rounds, as a file that anybody can check (docs/audit.md)."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from validator.audit.log import (
    FaultError,
    Folder,
    Given,
    InFileError,
    PlainTruthError,
    compare_files,
    first_without_plain_truth,
    row_fault,
)
from validator.cli.anchored import Beyond, named
from validator.cli.audit_chain import ask_chain
from validator.cli.audit_checkpoint import verified
from validator.cli.audit_rows import HeldRow, given_row
from validator.cli.audit_text import print_compared, print_fault, print_verified, write_log
from validator.cli.cases import require_regular
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO, say_no
from validator.cli.options import Config, Json
from validator.cli.progress import progress
from validator.cli.session import ask_store
from validator.cli.signing import checked_hotkeys
from validator.cli.sink import sink
from validator.protocol.limits import MAX_ROUND_ID


def _folder(name: str, what: str) -> Any:
    return typer.Option(name, metavar="DIR", exists=True, file_okay=False, help=what, show_default=False)


def export(
    since: Annotated[
        int | None,
        typer.Option(
            metavar="ROUND", min=0, max=MAX_ROUND_ID, help="Start with this round's receipt.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Else standard output.", show_default=False),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="For others: without the truths of tasks that are not retired.")
    ] = False,
    config: Config = None,
) -> None:
    """Write receipts, inputs, groups, answers, scores and proofs as JSON lines; a validator may be running.

    The file tells the truth of tasks that may come again, and its owner alone may read it. With --public it tells that
    of retired tasks alone (`validator tasks retire`), and anybody may read it. Exit 1: there is no such receipt, or
    the log tells truths from before they were committed to; --since starts behind them.
    """
    with sink(out, public=public) as write:
        try:
            written = ask_store(config, lambda tx, _: write_log(tx, since, write, public=public))
        except PlainTruthError as refused:
            say_no(_first_public(refused, config))
        if not written:
            nothing = "the log is not opened yet" if since is None else f"round {since} has no receipt"
            say_no(f"{nothing}; `validator rounds list` shows the rounds")


def _first_public(refused: PlainTruthError, config: Path | None) -> str:
    first = ask_store(config, lambda tx, _: first_without_plain_truth(tx, refused.round_id))
    if first is None:
        return f"{refused.detail}: its input tells them, and so do those of all rounds since; none can be shown yet"
    return f"{refused.detail}: its input tells them; the first round that may be shown is {first}: --since {first}"


def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")],
    hotkey: Annotated[
        str | None,
        typer.Option(metavar="SS58", help="Whose log it must be; else whose it says it is.", show_default=False),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A row of weights on chain, to hold against the newest confirmed vector.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Go on from where this file has it, and write there how far it holds.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="DIGEST", help="Of a receipt that the file must reach, as `verify` prints it.", show_default=False
        ),
    ] = None,
    chain: Annotated[
        bool,
        typer.Option(
            "--chain",
            help="Hold its newest vector against the row on the settings' chain, its end against an anchor.",
        ),
    ] = False,
    config: Config = None,
    bundles: Annotated[Path | None, _folder("--bundles", "Bundles as dispatched, each named by its sha256.")] = None,
    tasks: Annotated[Path | None, _folder("--tasks", "Task documents, SHA256.json by the source bundle's.")] = None,
    answers: Annotated[Path | None, _folder("--answers", "Raw answers, each named by its sha256.")] = None,
    as_json: Json = False,
) -> None:
    """Check an export with nothing but the file. Exit 1: it does not hold, and where; 2: it is no such file.

    With --against or --chain also whether it goes as far as a receipt that is known from elsewhere, with --rows or
    --chain whether the row on chain is that of its newest vector (exit 1: it is not). Only --chain needs settings, and
    of them only the subnet and its chain. With folders of what it names, these are held against it as well.
    """
    reach = named(against)
    row = None if rows is None else given_row(rows)
    checked_hotkeys(None if hotkey is None else [hotkey], "--hotkey")
    require_regular(file)
    size = file.stat().st_size
    if checkpoint is not None and (bundles or tasks or answers):
        raise typer.BadParameter(
            "goes without folders: what lies before it is not read again", param_hint="--checkpoint"
        )
    folders = [None if folder is None else Folder(folder) for folder in (bundles, tasks, answers)]
    given = Given(bundles=folders[0], tasks=folders[1], answers=folders[2])
    settings = settings_of(config) if chain else None
    with progress("verifying", size) as advance:
        try:
            found = verified(file, checkpoint, hotkey, _up_to(advance), given)
            there = None if settings is None else ask_chain(settings, found)
            beyond = Beyond(reach, None if there is None else there.anchored)
            beyond.look(file)
        except FaultError as fault:
            print_fault(fault, as_json=as_json)
            raise typer.Exit(EXIT_NO) from None
    held = [] if row is None else [HeldRow(row, row_fault(found, row))]
    held += () if there is None else there.rows
    print_verified(found, beyond, held, as_json=as_json, asked=chain)
    if not beyond.reached or not all(one.holds for one in held):
        raise typer.Exit(EXIT_NO)


def compare(
    a: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")],
    b: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="Another one of that log.")],
    as_json: Json = False,
) -> None:
    """Say whether two exports tell one history. Exit 1: they do not, and where they part; 2: one is no such file.

    Receipts alone are compared: they name everything else. `audit verify` says whether a file holds to its receipts.
    """
    for file in (a, b):
        require_regular(file)
    with progress("comparing", a.stat().st_size + b.stat().st_size) as advance:
        try:
            found = compare_files(a, b, _up_to(advance))
        except InFileError as fault:
            print_fault(fault, as_json=as_json, file=fault.file)
            raise typer.Exit(EXIT_NO) from None
    print_compared(found, (a, b), as_json=as_json)
    if not found.one_history:
        raise typer.Exit(EXIT_NO)


def _up_to(advance: Callable[[int], None]) -> Callable[[int], None]:
    """Return what takes how much is done for a bar that takes steps."""
    done = 0

    def advanced(offset: int) -> None:
        nonlocal done
        advance(offset - done)
        done = offset

    return advanced
