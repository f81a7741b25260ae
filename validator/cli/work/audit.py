"""What `validator audit verify` and `compare` do: they read files alone, and import no store (docs/audit.md)."""

from collections.abc import Callable
from pathlib import Path

import typer

from validator.audit.log import (
    FaultError,
    Folder,
    Given,
    InFileError,
    compare_files,
    row_fault,
)
from validator.cli.anchored import Beyond, named
from validator.cli.audit_chain import ask_chain
from validator.cli.audit_checkpoint import verified
from validator.cli.audit_rows import HeldRow, given_row
from validator.cli.audit_text import print_compared, print_fault, print_verified
from validator.cli.cases import require_regular
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.progress import progress
from validator.cli.signing import checked_hotkeys


def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: Path,
    hotkey: str | None,
    rows: Path | None,
    checkpoint: Path | None,
    against: str | None,
    config: Path | None,
    bundles: Path | None,
    tasks: Path | None,
    answers: Path | None,
    *,
    chain: bool,
    as_json: bool,
) -> None:
    """Check an export with nothing but the file. Exit 1: it does not hold, and where; 2: it is no such file."""
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


def compare(a: Path, b: Path, *, as_json: bool) -> None:
    """Say whether two exports tell one history. Exit 1: they do not, and where they part; 2: one is no such file."""
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
