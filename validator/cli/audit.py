"""`validator audit …`: writes the signed log of all rounds as a file, and checks such files (docs/auditors.md)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from validator.audit.chain_rows import anchored, held_rows
from validator.audit.log.chain_evidence import (
    MAX_ROW,
    Anchored,
    ChainRow,
    HeldRow,
    Reach,
    look_for,
    read_row,
    row_fault,
)
from validator.audit.log.comparing import Compared, InFileError, Relation, compare_files
from validator.audit.log.folders import Folder, Given
from validator.audit.log.lines import FaultError
from validator.audit.log.verify import verify_file
from validator.audit.log.verify_report import Verified
from validator.cancellation import run_whole
from validator.cli.errors import EXIT_NO, say_no
from validator.cli.files import line_writer, require_regular
from validator.cli.options import Config, Json, group
from validator.cli.output import picked, print_json, print_line
from validator.cli.rendering import progress
from validator.cli.session import checked_hotkeys, settings_of, use_store
from validator.protocol.limits import CLOCK_TOLERANCE_S, MAX_ROUND_ID
from validator.protocol.times import format_time, parse_time

if TYPE_CHECKING:
    from validator.settings.model import Settings
    from validator.store import Store


_DIGEST: Final = re.compile("[0-9A-Fa-f]{64}")


def named(digest: str | None) -> Reach | None:
    """Return what looks for a receipt by its digest (typer.BadParameter: it is none)."""
    if digest is None:
        return None
    if not _DIGEST.fullmatch(digest):
        raise typer.BadParameter("must be a sha256 as 64 hex digits", param_hint="--against")
    return Reach(digest.lower())


def given_row(file: Path) -> ChainRow:
    """Return the row in a file (JsonError: it is none; UnreadableError: it is no regular file)."""
    require_regular(file)
    with file.open("rb") as stream:
        return read_row(stream.read(MAX_ROW + 1))


def row_lines(rows: Sequence[HeldRow], found: Verified, *, asked: bool) -> Iterator[str]:
    """Return a line for each; with none, that there is none, if the chain was asked."""
    if asked and not rows and not found.confirmed:
        yield "the file has no confirmed vector to compare with the chain"
    for held in rows:
        if held.fault is None:
            row = held.row
            yield f"the row of uid {row.uid} at block {row.block} is that of the newest confirmed vector, exactly"
        elif held.note is not None:
            yield f"{held.fault}; {held.note}"
        else:
            yield f"the row on chain is NOT that of the newest confirmed vector: {held.fault}"


def ask_chain(settings: "Settings", found: Verified) -> tuple[Anchored, tuple[HeldRow, ...]]:
    """Return the anchor and the rows that a file's owner has on the settings' chain.

    No wallet is needed (ChainError).
    """
    from validator.chain.opening import reading_chain  # noqa: PLC0415 - verification loads no chain
    from validator.sources import SystemClock  # noqa: PLC0415 - see above

    chain = reading_chain(settings, SystemClock())

    async def ask() -> tuple[Anchored, tuple[HeldRow, ...]]:
        try:
            return await anchored(chain, found.hotkey, settings.validator.netuid), await held_rows(chain, found)
        finally:
            await chain.close()

    return run_whole(ask())


def _document(reach: Reach | None) -> dict[str, Any] | None:
    if reach is None:
        return None
    where = {"sequence": None, "line": None} if reach.at is None else reach.at._asdict()
    return {"digest": reach.digest, "reached": reach.at is not None, **where}


def _line(reach: Reach, found: Verified) -> str:
    at = reach.at
    if at is None:
        before = f" (receipts before {found.first} are not in it)" if found.first else ""
        return f"does NOT reach {reach.digest}: cut away before that receipt, or another history{before}"
    where = "the one before the file's first" if at.line is None else f"line {at.line}"
    return f"reaches {reach.digest}: receipt {at.sequence}, {where}; {found.last - at.sequence} more behind it"


_SPOOLED: Final = 8 * 1024 * 1024  # bytes of a receipt's lines in memory; more are in a file
AUDIT = group()
_SAID: Final[Mapping[Relation, str]] = {
    "same": "one history, to the same end",
    "prefix": "one history",
    "forked": "two histories, both signed",
    "apart": "no receipt in common, nor does one begin where the other ends: nothing can be said",
}


def _folder(name: str, what: str) -> Any:
    return typer.Option(name, metavar="DIR", exists=True, file_okay=False, help=what)


@AUDIT.command()
def export(
    since: Annotated[
        int | None, typer.Option(metavar="ROUND", min=0, max=MAX_ROUND_ID, help="Start with this round's receipt.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Else standard output.")] = None,
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
    from validator.audit.export import audit_lines, first_sequence  # noqa: PLC0415 - they load the store

    async def write_log(store: "Store", write: Callable[[bytes], None]) -> None:
        """Read it in a transaction for each receipt; what takes it may stop, and an open one would pin the store."""
        async with store.read() as tx:
            first, many = await first_sequence(tx, since), await tx.receipts.count()
        if first is None:
            nothing = "the log is not opened yet" if since is None else f"round {since} has no receipt"
            say_no(f"{nothing}; `validator rounds list` shows the rounds")
        with progress("exporting", many - first) as advance:
            for sequence in range(first, many):
                with SpooledTemporaryFile(_SPOOLED) as lines:
                    async with store.read() as tx:
                        async for data in audit_lines(tx, sequence, public=public):
                            lines.write(data + b"\n")
                    lines.seek(0)
                    for line in lines:
                        write(line[:-1])
                advance()

    with line_writer(out, public=public) as write:
        use_store(config, lambda store, _: write_log(store, write))


@AUDIT.command()
def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")],
    hotkey: Annotated[
        str | None, typer.Option(metavar="SS58", help="Whose log it must be; else whose it says it is.")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="A row of weights on chain, to compare with the newest confirmed vector.",
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="Another export of this log: whether both tell one history. Of it receipts alone are looked at.",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="Of a receipt that the file must reach, as `verify` prints it.")
    ] = None,
    chain: Annotated[
        bool,
        typer.Option(
            "--chain", help="Hold its newest vector against the row on the settings' chain, its end against an anchor."
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
    of them only the subnet and its chain. With folders of what it names, these are compared with it as well; with
    --compare also another export of the log (exit 1: two histories, or nothing in common).
    """
    reach = named(against)
    row = None if rows is None else given_row(rows)
    checked_hotkeys(None if hotkey is None else [hotkey], "--hotkey")
    require_regular(file)
    if compare is not None:
        require_regular(compare)
    folders = [None if folder is None else Folder(folder) for folder in (bundles, tasks, answers)]
    given = Given(bundles=folders[0], tasks=folders[1], answers=folders[2])
    settings = settings_of(config) if chain else None
    with progress("verifying", file.stat().st_size) as advance:
        try:
            found = verify_file(file, hotkey, lambda offset: advance(to=offset), given)
            anchor, there = (None, ()) if settings is None else ask_chain(settings, found)
            reaches = [one for one in (reach, anchor and anchor.reach) if one is not None]
            look_for(file, reaches)
            compared = None if compare is None else compare_files(file, compare)
        except FaultError as fault:
            _print_fault(fault, as_json=as_json, file=fault.file if isinstance(fault, InFileError) else None)
            raise typer.Exit(EXIT_NO) from None
    held = [*([] if row is None else [HeldRow(row, row_fault(found, row))]), *there]
    ok = all(one.at is not None for one in reaches) and all(one.holds for one in held)
    ok &= compared is None or compared.one_history
    if as_json:
        relation = None if compared is None else {**_compared_document(compared), "file": str(compare)}
        print_json({"ok": ok, **_verified_document(found, reach, anchor, held), "compared": relation})
    else:
        _print_verified(found)
        for line in (*row_lines(held, found, asked=chain), *_open(found), *_reach_lines(found, reach, anchor)):
            print_line(line)
        if compared is not None and compare is not None:
            _print_compared(compared, (file, compare))
    if not ok:
        raise typer.Exit(EXIT_NO)


def _print_fault(fault: FaultError, *, as_json: bool, file: Path | None = None) -> None:
    """Print what does not hold, and where; `file` names it where there are two."""
    if as_json:
        place = {"line": fault.line, "kind": fault.kind, "round_id": fault.round_id, "path": fault.path}
        of_two = {} if file is None else {"file": str(file)}
        print_json({"ok": False, "fault": {**of_two, **place, "what": fault.what}})
    else:
        print_line(str(fault) if file is None else f"{file}: {fault}")


def _compared_document(found: Compared) -> dict[str, Any]:
    """Return the relation of the verified file (a) to another one (b)."""
    ends = {side: {"first": found.first[i], "last": found.last[i]} for i, side in enumerate("ab")}
    return {"one_history": found.one_history, **picked(found, "relation longer common"), **ends}


def _print_compared(found: Compared, files: tuple[Path, Path]) -> None:
    """Print how two files relate to each other."""
    print_line(f"{_SAID[found.relation]}: log of {found.hotkey}")
    print_line(f"receipts that both have: {found.common}")
    for path, first, last in zip(files, found.first, found.last, strict=True):
        span = "parts with" if found.relation == "forked" else f"receipts {first.sequence} to"
        of_round = "" if last.round_id is None else f", round {last.round_id}"
        print_line(f"{path}: {span} {last.sequence} ({last.kind}{of_round}, {last.issued_at}), digest {last.digest}")
    if found.longer is not None:
        print_line(f"{files['ab'.index(found.longer)]} continues where the other one ends")


def _verified_document(
    found: Verified, reach: Reach | None, anchor: Anchored | None, rows: Sequence[HeldRow]
) -> dict[str, Any]:
    held = {"rows": [one.document() for one in rows], "warnings": _warnings(found)}
    anchored = anchor and {**picked(anchor, "block problem"), **(_document(anchor.reach) or {})}
    return {**asdict(found), **held, "against": _document(reach), "anchor": anchored}


def _reach_lines(found: Verified, reach: Reach | None, anchor: Anchored | None) -> Iterator[str]:
    """Yield how far the file goes: to a receipt that was named, and to what its owner put on chain."""
    if reach is not None:
        yield _line(reach, found)
    if anchor is not None:
        of = f"anchored at block {anchor.block}: "
        yield f"NOT anchored: {anchor.problem}" if anchor.reach is None else of + _line(anchor.reach, found)


def _print_verified(found: Verified) -> None:
    """Print what was checked."""
    rounds = _listed(found.rounds) or "none"
    span = "" if found.first_round is None else f" {found.first_round} to {found.last_round}"
    print_line(f"holds: log of {found.hotkey}")
    for warning in _warnings(found):
        print_line(f"warning: {warning}")
    print_line(f"receipts {found.first} to {found.last}, the last one's digest is {found.head}")
    if found.first:
        print_line(f"what comes before receipt {found.first} is not in the file")
    under = ", ".join(f"{many:,} under {name}" for name, many in found.versions.items())
    print_line(f"rounds{span}: {rounds}" + (f"; {under}" if under else ""))
    print_line(f"computed again: {found.tasks} groups, {found.answers} signed answers, {found.proofs} proofs")
    print_line(_answers(found))
    if found.whole_unpaid:
        print_line(f"answers that came whole and were not paid: {_listed(found.whole_unpaid)}")
    _print_counted(
        (found.acts, "acts of the operator, each of flags that stood"),
        (found.keys, "publishing keys, each in the place of the one before"),
        (found.revocations, "revocations of attestations"),
        (found.executions, "results of execution, each of an answer that the file shows"),
        (found.executions_before, "results of execution of answers that the file does not show"),
        (found.filled, "late qualities of code, each compared with its answer"),
        (found.filled_before, "late qualities of code of answers that the file does not show"),
    )
    _print_weights(found)


def _warnings(found: Verified) -> list[str]:
    """Return what is odd and contradicts nothing in the file."""
    now = datetime.now(UTC)
    if parse_time(found.issued[1], "issued_at") <= now + timedelta(seconds=CLOCK_TOLERANCE_S):
        return []
    return [f"the last receipt was issued at {found.issued[1]}, in the future of this machine ({format_time(now)})"]


def _open(found: Verified) -> Iterator[str]:
    """Yield what could not be computed again, or not yet."""
    if found.truths or found.truths_untold:
        yield f"truths: {found.truths} shown as their rounds committed to them, {found.truths_untold} not shown"
    if found.untold:
        yield f"scores on the validator's word, because their truth is not shown: {_listed(found.untold)}"
    if found.word:
        yield f"besides on the validator's word: {_listed(found.word)}"
    if found.given:
        yield f"compared with what was given: {_listed(found.given)}"
    if found.pending:
        yield f"draw pending: {found.pending} rounds, whose epoch's salt is not public yet"


def _print_counted(*lines: tuple[int, str]) -> None:
    for many, what in lines:
        if many:
            print_line(f"{what}: {many}")


def _print_weights(found: Verified) -> None:
    if not found.vectors:
        print_line("weights: the file tells none")
        return
    fates = _listed(found.fates) or "none sent"
    print_line(f"vectors of weights: {found.vectors}, of which {found.vectors_recomputed} recomputed in full; {fates}")
    words = (
        (found.scores_on_word, "scores of windows that began before the file"),
        (found.reasons_on_word, "windows of which the file does not tell whether they are paid"),
        (found.left_out, "miners left out of a vector as not registered"),
        (found.fates_before, "fates of vectors that the file does not show"),
    )
    told = ", ".join(f"{many} {what}" for many, what in words if many)
    if told:
        print_line(f"of weights on the validator's word: {told}")
    if found.vectors_pending:
        print_line(f"weights pending: {found.vectors_pending} vectors, computed in a round that is not in the file yet")


def _answers(found: Verified) -> str:
    """Return how many answers follow from the file, and why the others ended as they did by the validator's word."""
    unshown = sum(found.unshown.values())
    said = f"{found.dispatches:,} answers: {found.dispatches - unshown:,} recomputed"
    return f"{said}, {unshown:,} on the validator's word ({_listed(found.unshown)})" if unshown else said


def _listed(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{many:,} {name}" for name, many in counted.items())
