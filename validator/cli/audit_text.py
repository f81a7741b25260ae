"""What `validator audit` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from validator.audit.log import Compared, FaultError, Verified
from validator.audit.log.comparing import Relation
from validator.cli.anchored import Beyond
from validator.cli.audit_rows import HeldRow, row_lines
from validator.cli.output import print_json, print_line
from validator.protocol.limits import CLOCK_TOLERANCE_S
from validator.protocol.times import format_time, parse_time

_SAID: Final[Mapping[Relation, str]] = {
    "same": "one history, to the same end",
    "prefix": "one history",
    "forked": "two histories, both signed",
    "apart": "no receipt in common, nor does one begin where the other ends: nothing can be said",
}


def print_fault(fault: FaultError, *, as_json: bool, file: Path | None = None) -> None:
    """Print what does not hold, and where; `file` names it where there are two."""
    if as_json:
        place = {"line": fault.line, "kind": fault.kind, "round_id": fault.round_id, "path": fault.path}
        of_two = {} if file is None else {"file": str(file)}
        print_json({"ok": False, "fault": {**of_two, **place, "what": fault.what}})
    else:
        print_line(str(fault) if file is None else f"{file}: {fault}")


def print_compared(found: Compared, files: tuple[Path, Path], *, as_json: bool) -> None:
    """Print how two files stand to each other."""
    if as_json:
        named = zip("ab", files, found.first, found.last, strict=True)
        sides = {
            side: {"file": str(path), "first": one._asdict(), "last": end._asdict()} for side, path, one, end in named
        }
        told = {"relation": found.relation, "longer": found.longer, "hotkey": found.hotkey, "common": found.common}
        print_json({"ok": found.one_history, **told, **sides})
        return
    print_line(f"{_SAID[found.relation]}: log of {found.hotkey}")
    print_line(f"receipts that both have: {found.common}")
    for path, first, last in zip(files, found.first, found.last, strict=True):
        span = "parts with" if found.relation == "forked" else f"receipts {first.sequence} to"
        of_round = "" if last.round_id is None else f", round {last.round_id}"
        print_line(f"{path}: {span} {last.sequence} ({last.kind}{of_round}, {last.issued_at}), digest {last.digest}")
    if found.longer is not None:
        print_line(f"{files['ab'.index(found.longer)]} goes on where the other one ends")


def print_verified(found: Verified, beyond: Beyond, rows: Sequence[HeldRow], *, as_json: bool, asked: bool) -> None:
    """Print what was checked, what could not be yet, what stands on chain, and how far the file goes."""
    warnings = _warnings(found)
    if as_json:
        held = {"rows": [one.document() for one in rows], "warnings": warnings}
        ok = beyond.reached and all(one.holds for one in rows)
        print_json({"ok": ok, **asdict(found), **held, **beyond.document()})
        return
    rounds = ", ".join(f"{many} {state}" for state, many in found.rounds.items()) or "none"
    span = "" if found.first_round is None else f" {found.first_round} to {found.last_round}"
    print_line(f"holds: log of {found.hotkey}")
    for warning in warnings:
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
        (found.executions, "results of execution, each of an answer that the file shows"),
        (found.executions_before, "results of execution of answers that the file does not show"),
        (found.filled, "late qualities of code, each held against its answer"),
        (found.filled_before, "late qualities of code of answers that the file does not show"),
    )
    _print_weights(found)
    for line in row_lines(rows, found, asked=asked):
        print_line(line)
    _print_open(found)
    for line in beyond.lines(found):
        print_line(line)


def _warnings(found: Verified) -> list[str]:
    """Return what is odd and contradicts nothing in the file."""
    now = datetime.now(UTC)
    if parse_time(found.issued[1], "issued_at") <= now + timedelta(seconds=CLOCK_TOLERANCE_S):
        return []
    return [f"the last receipt was issued at {found.issued[1]}, in the future of this machine ({format_time(now)})"]


def _print_open(found: Verified) -> None:
    """Print what could not be computed again, or not yet."""
    if found.truths or found.truths_untold:
        print_line(f"truths: {found.truths} shown as their rounds committed to them, {found.truths_untold} not shown")
    if found.untold:
        scores = ", ".join(f"{many} {kind}" for kind, many in found.untold.items())
        print_line(f"scores on the validator's word, because their truth is not shown: {scores}")
    if found.word:
        print_line(f"besides on the validator's word: {_listed(found.word)}")
    if found.given:
        print_line(f"held against what was given: {_listed(found.given)}")
    if found.pending:
        print_line(f"draw pending: {found.pending} rounds, whose epoch's salt is not public yet")


def _print_counted(*lines: tuple[int, str]) -> None:
    for many, what in lines:
        if many:
            print_line(f"{what}: {many}")


def _print_weights(found: Verified) -> None:
    if not found.vectors:
        print_line("weights: the file tells none")
        return
    fates = ", ".join(f"{many} {state}" for state, many in found.fates.items()) or "none sent"
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
