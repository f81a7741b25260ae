"""`verify`: an exported log, checked with nothing but the file (docs/auditors.md)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from sssa.cli.errors import EXIT_NO
from sssa.cli.files import require_regular
from sssa.cli.options import Json, checked_hotkeys
from sssa.cli.output import picked, print_json, print_line
from sssa.cli.rendering import progress
from sssa.log.chain_evidence import (
    MAX_ROW,
    Anchored,
    ChainRow,
    ComparedRow,
    Reach,
    look_for,
    read_row,
    row_fault,
)
from sssa.log.comparing import Compared, InFileError, Relation, compare_files
from sssa.log.folders import Folder, Given
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.log.verify_report import Verified
from sssa.protocol.limits import CLOCK_TOLERANCE_S
from sssa.protocol.times import format_time, parse_time

_DIGEST: Final = re.compile("[0-9A-Fa-f]{64}")


def named(digest: str | None) -> Reach | None:
    """Return the search for a receipt by its digest (typer.BadParameter: it is none)."""
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


def row_lines(rows: Sequence[ComparedRow], verified: Verified, *, chain_asked: bool) -> Iterator[str]:
    """Return a line for each; with none, that there is none, if the chain was asked."""
    if chain_asked and not rows and not verified.confirmed:
        yield "the file has no confirmed vector to compare with the chain"
    for held in rows:
        if held.fault is None:
            row = held.row
            yield f"the row of uid {row.uid} at block {row.block} is that of the newest confirmed vector, exactly"
        elif held.note is not None:
            yield f"{held.fault}; {held.note}"
        else:
            yield f"the row on chain is NOT that of the newest confirmed vector: {held.fault}"


def _document(reach: Reach | None) -> dict[str, Any] | None:
    if reach is None:
        return None
    where = {"sequence": None, "line": None} if reach.at is None else reach.at._asdict()
    return {"digest": reach.digest, "reached": reach.at is not None, **where}


def _line(reach: Reach, verified: Verified) -> str:
    at = reach.at
    if at is None:
        before = f" (receipts before {verified.first} are not in it)" if verified.first else ""
        return f"does NOT reach {reach.digest}: cut away before that receipt, or another history{before}"
    where = "the one before the file's first" if at.line is None else f"line {at.line}"
    return f"reaches {reach.digest}: receipt {at.sequence}, {where}; {verified.last - at.sequence} more behind it"


_RELATIONS: Final[Mapping[Relation, str]] = {
    "same": "one history, to the same end",
    "prefix": "one history",
    "forked": "two histories, both signed",
    "apart": "no receipt in common, nor does one begin where the other ends: they cannot be compared",
}


def _folder(name: str, what: str) -> Any:
    return typer.Option(name, metavar="DIR", exists=True, file_okay=False, help=what)


File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="From `audit export`.")]
Owner = Annotated[
    str | None, typer.Option("--hotkey", metavar="SS58", help="Whose log it must be; else whose it says it is.")
]
Rows = Annotated[
    Path | None,
    typer.Option(
        "--rows",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=True,
        help="A row of weights on chain, to compare with the newest confirmed vector.",
    ),
]
Other = Annotated[
    Path | None,
    typer.Option(
        "--compare",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=True,
        help="Another export of this log: whether both tell one history. Of it receipts alone are looked at.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="DIGEST", help="Of a receipt that the file must reach, as `verify` prints it."),
]
Bundles = Annotated[Path | None, _folder("--bundles", "Bundles as dispatched, each named by its sha256.")]
Tasks = Annotated[Path | None, _folder("--tasks", "Task documents, SHA256.json by the source bundle's.")]
Answers = Annotated[Path | None, _folder("--answers", "Raw answers, each named by its sha256.")]
OnChain = Callable[[Verified], tuple[Anchored, tuple[ComparedRow, ...]]]


def verify(  # noqa: PLR0913, PLR0917 - each is an option
    file: File,
    hotkey: Owner = None,
    rows: Rows = None,
    compare: Other = None,
    against: Against = None,
    bundles: Bundles = None,
    tasks: Tasks = None,
    answers: Answers = None,
    as_json: Json = False,
) -> None:
    """Check an export with nothing but the file. Exit 1: it does not hold, and where; 2: it is no such file.

    With --against also whether it goes as far as a receipt that is known from elsewhere, with --rows whether the row on
    chain is that of its newest vector (exit 1: it is not). With folders of what it names, these are compared with it as
    well; with --compare also another export of the log (exit 1: two histories, or nothing in common).
    """
    verify_log(file, hotkey, rows, compare, against, (bundles, tasks, answers), None, as_json=as_json)


def verify_log(  # noqa: PLR0913, PLR0917 - each is an option
    file: Path,
    hotkey: str | None,
    rows: Path | None,
    compare: Path | None,
    against: str | None,
    given: tuple[Path | None, Path | None, Path | None],
    ask_chain: OnChain | None,
    *,
    as_json: bool,
) -> None:
    """Check an export and print the result (typer.Exit: 1 where it does not hold).

    Args:
        file: the export.
        hotkey: whose log it must be.
        rows: file of a row on chain.
        compare: another export.
        against: digest of a receipt.
        given: folders of bundles, tasks and answers.
        ask_chain: returns the anchor and the rows on chain; None to ask no chain.
        as_json: print one document.
    """
    reach = named(against)
    row = None if rows is None else given_row(rows)
    checked_hotkeys(None if hotkey is None else [hotkey], "--hotkey")
    require_regular(file)
    if compare is not None:
        require_regular(compare)
    bundles, tasks, answers = (None if folder is None else Folder(folder) for folder in given)
    with progress("verifying", file.stat().st_size) as advance:
        try:
            verified = verify_file(file, hotkey, lambda offset: advance(to=offset), Given(bundles, tasks, answers))
            anchor, there = (None, ()) if ask_chain is None else ask_chain(verified)
            reaches = [one for one in (reach, anchor and anchor.reach) if one is not None]
            look_for(file, reaches)
            compared = None if compare is None else compare_files(file, compare)
        except FaultError as fault:
            _print_fault(fault, as_json=as_json, file=fault.file if isinstance(fault, InFileError) else None)
            raise typer.Exit(EXIT_NO) from None
    held = [*([] if row is None else [ComparedRow(row, row_fault(verified, row))]), *there]
    ok = all(one.at is not None for one in reaches) and all(one.holds for one in held)
    ok &= compared is None or compared.one_history
    if as_json:
        relation = None if compared is None else {**_compared_document(compared), "file": str(compare)}
        print_json({"ok": ok, **_verified_document(verified, reach, anchor, held), "compared": relation})
    else:
        _print_verified(verified)
        of_rows = row_lines(held, verified, chain_asked=ask_chain is not None)
        for line in (*of_rows, *_open(verified), *_reach_lines(verified, reach, anchor)):
            print_line(line)
        if compared is not None and compare is not None:
            _print_compared(compared, (file, compare))
    if not ok:
        raise typer.Exit(EXIT_NO)


def _print_fault(fault: FaultError, *, as_json: bool, file: Path | None = None) -> None:
    """Print a fault and its place; `file` is named where there are two."""
    if as_json:
        place = {"line": fault.line, "kind": fault.kind, "round_id": fault.round_id, "path": fault.path}
        of_two = {} if file is None else {"file": str(file)}
        print_json({"ok": False, "fault": {**of_two, **place, "what": fault.what}})
    else:
        print_line(str(fault) if file is None else f"{file}: {fault}")


def _compared_document(compared: Compared) -> dict[str, Any]:
    """Return the relation of the verified file (a) to another one (b)."""
    ends = {side: {"first": compared.first[i], "last": compared.last[i]} for i, side in enumerate("ab")}
    return {"one_history": compared.one_history, **picked(compared, "relation longer common"), **ends}


def _print_compared(compared: Compared, files: tuple[Path, Path]) -> None:
    """Print how two files relate to each other."""
    print_line(f"{_RELATIONS[compared.relation]}: log of {compared.hotkey}")
    print_line(f"receipts that both have: {compared.common}")
    for path, first, last in zip(files, compared.first, compared.last, strict=True):
        span = "parts with" if compared.relation == "forked" else f"receipts {first.sequence} to"
        of_round = "" if last.round_id is None else f", round {last.round_id}"
        print_line(f"{path}: {span} {last.sequence} ({last.kind}{of_round}, {last.issued_at}), digest {last.digest}")
    if compared.longer is not None:
        print_line(f"{files['ab'.index(compared.longer)]} continues where the other one ends")


def _verified_document(
    verified: Verified, reach: Reach | None, anchor: Anchored | None, rows: Sequence[ComparedRow]
) -> dict[str, Any]:
    held = {"rows": [one.document() for one in rows], "warnings": _warnings(verified)}
    anchored = anchor and {**picked(anchor, "block problem"), **(_document(anchor.reach) or {})}
    return {**asdict(verified), **held, "against": _document(reach), "anchor": anchored}


def _reach_lines(verified: Verified, reach: Reach | None, anchor: Anchored | None) -> Iterator[str]:
    """Yield whether the file reaches the named receipt and the anchored one."""
    if reach is not None:
        yield _line(reach, verified)
    if anchor is not None:
        of = f"anchored at block {anchor.block}: "
        yield f"NOT anchored: {anchor.problem}" if anchor.reach is None else of + _line(anchor.reach, verified)


def _print_verified(verified: Verified) -> None:
    """Print the report of a file that holds."""
    rounds = _listed(verified.rounds) or "none"
    span = "" if verified.first_round is None else f" {verified.first_round} to {verified.last_round}"
    print_line(f"holds: log of {verified.hotkey}")
    for warning in _warnings(verified):
        print_line(f"warning: {warning}")
    print_line(f"receipts {verified.first} to {verified.last}, the last one's digest is {verified.head}")
    if verified.first:
        print_line(f"what comes before receipt {verified.first} is not in the file")
    under = ", ".join(f"{many:,} under {name}" for name, many in verified.versions.items())
    print_line(f"rounds{span}: {rounds}" + (f"; {under}" if under else ""))
    print_line(f"computed again: {verified.tasks} groups, {verified.answers} signed answers, {verified.proofs} proofs")
    print_line(_answers(verified))
    if verified.whole_unpaid:
        print_line(f"answers that came whole and were not paid: {_listed(verified.whole_unpaid)}")
    _print_counted(
        (verified.acts, "acts of the operator, each of flags that stood"),
        (verified.keys, "publishing keys, each in the place of the one before"),
        (verified.revocations, "revocations of attestations"),
        (verified.executions, "results of execution, each of an answer that the file shows"),
        (verified.executions_before, "results of execution of answers that the file does not show"),
        (verified.filled, "late qualities of code, each compared with its answer"),
        (verified.filled_before, "late qualities of code of answers that the file does not show"),
    )
    _print_weights(verified)


def _warnings(verified: Verified) -> list[str]:
    """Return warnings: oddities that contradict nothing in the file."""
    now = datetime.now(UTC)
    if parse_time(verified.issued[1], "issued_at") <= now + timedelta(seconds=CLOCK_TOLERANCE_S):
        return []
    return [f"the last receipt was issued at {verified.issued[1]}, in the future of this machine ({format_time(now)})"]


def _open(verified: Verified) -> Iterator[str]:
    """Yield lines on what could not be recomputed, or not yet."""
    if verified.truths or verified.truths_hidden:
        yield f"truths: {verified.truths} shown as their rounds committed to them, {verified.truths_hidden} not shown"
    if verified.scores_without_truth:
        hidden = _listed(verified.scores_without_truth)
        yield f"scores on the validator's word, because their truth is not shown: {hidden}"
    if verified.on_word:
        yield f"besides on the validator's word: {_listed(verified.on_word)}"
    if verified.given:
        yield f"compared with what was given: {_listed(verified.given)}"
    if verified.pending:
        yield f"draw pending: {verified.pending} rounds, whose epoch's salt is not public yet"


def _print_counted(*lines: tuple[int, str]) -> None:
    for many, what in lines:
        if many:
            print_line(f"{what}: {many}")


def _print_weights(verified: Verified) -> None:
    if not verified.vectors:
        print_line("weights: the file tells none")
        return
    fates = _listed(verified.fates) or "none sent"
    print_line(
        f"vectors of weights: {verified.vectors}, of which {verified.vectors_recomputed} recomputed in full; {fates}"
    )
    on_word = (
        (verified.scores_on_word, "scores of windows that began before the file"),
        (verified.reasons_on_word, "windows of which the file does not tell whether they are paid"),
        (verified.left_out, "miners left out of a vector as not registered"),
        (verified.fates_before, "fates of vectors that the file does not show"),
    )
    counted = ", ".join(f"{many} {what}" for many, what in on_word if many)
    if counted:
        print_line(f"of weights on the validator's word: {counted}")
    if verified.vectors_pending:
        print_line(
            f"weights pending: {verified.vectors_pending} vectors, computed in a round that is not in the file yet"
        )


def _answers(verified: Verified) -> str:
    """Return the line on answers: how many were recomputed, and how many by kind are the validator's word."""
    unshown = sum(verified.unshown.values())
    line = f"{verified.dispatches:,} answers: {verified.dispatches - unshown:,} recomputed"
    return f"{line}, {unshown:,} on the validator's word ({_listed(verified.unshown)})" if unshown else line


def _listed(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{many:,} {name}" for name, many in counted.items())
