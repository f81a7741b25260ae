"""Evidence from outside a log: a receipt to reach, and a row of weights on chain (SPEC 16, D-28)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta

from sssa.log.lines import Line, LineReader
from sssa.log.verify_report import Verified
from sssa.protocol.limits import MAX_LOG_MINERS, MAX_RECEIPT, MIB
from sssa.protocol.receipt import U16, Count, Receipt
from sssa.protocol.sssa import Document
from sssa.protocol.strict_json import decode


class Reached(NamedTuple):
    """The place of a receipt in the log, and its line in the file, None where the file begins right after it."""

    sequence: int
    line: int | None


@dataclass(slots=True)
class Reach:
    """The search for a receipt in a file by the digest of its line; `at` is None while it was not seen."""

    digest: str
    at: Reached | None = field(init=False, default=None)

    def see(self, line: Line, *, first: bool) -> None:
        """Look at the next receipt's line; the first one of the file names the one before it."""
        if first and (receipt := _receipt(line)).previous == self.digest:
            self.at = Reached(receipt.sequence - 1, None)
        elif line.digest == self.digest:
            self.at = Reached(_receipt(line).sequence, line.number)


def look_for(path: Path, wanted: Sequence[Reach]) -> None:
    """Look for receipts in a file that `verify_file` found to hold, in one pass (FaultError)."""
    remaining = list(wanted)
    with path.open("rb") as file:
        first = True
        for line in LineReader(file).receipts() if remaining else ():
            for one in remaining:
                one.see(line, first=first)
            remaining = [one for one in remaining if one.at is None]
            first = False
            if not remaining:
                return


def _receipt(line: Line) -> Receipt:
    return line.parsed(Receipt, limit=MAX_RECEIPT)


MAX_ROW: Final = MIB


class ChainRow(Document, frozen=True):
    """The weights of a validator for a mechanism on chain, [uid, u16] by uid, and the block at which they were read."""

    netuid: Count
    mechid: Count
    uid: U16
    block: Count
    row: Annotated[tuple[tuple[U16, U16], ...], Meta(max_length=MAX_LOG_MINERS + 1)]


def read_row(data: bytes) -> ChainRow:
    """Return the row in a document (JsonError: it is none)."""
    return decode(data, ChainRow, limit=MAX_ROW)


def row_fault(verified: Verified, row: ChainRow) -> str | None:
    """Return the first difference between a row and the log's newest confirmed vector, None if there is none."""
    of = f"netuid {row.netuid}, mechanism {row.mechid}"
    confirmed = next((one for one in verified.confirmed if (one.netuid, one.mechid) == (row.netuid, row.mechid)), None)
    if confirmed is None:
        return f"{of}: the file has no confirmed vector"
    if row.block < confirmed.block:
        return f"{of}: the row was read at block {row.block}, the newest confirmed vector is in block {confirmed.block}"
    ours, theirs = dict(confirmed.row), dict(row.row)
    for uid in sorted(ours.keys() | theirs.keys()):
        if ours.get(uid) != theirs.get(uid):
            vector = f"the vector of epoch {confirmed.epoch} (receipt {confirmed.sequence})"
            return f"{of}, uid {uid}: {theirs.get(uid, 0)} on chain, {ours.get(uid, 0)} in {vector}"
    return None


class Anchored(NamedTuple):
    """An anchor on chain: the search for its receipt, and its block; or why there is none."""

    reach: Reach | None
    block: int | None
    problem: str


class ComparedRow(NamedTuple):
    """A row on chain compared with the newest confirmed vector; `note` says why a difference is no fault."""

    row: ChainRow
    fault: str | None
    note: str | None = None

    @property
    def holds(self) -> bool:
        """True if no check contradicts the file."""
        return self.fault is None or self.note is not None

    def document(self) -> dict[str, Any]:
        """Return the fields of `--json`."""
        place = {"netuid": self.row.netuid, "mechid": self.row.mechid, "uid": self.row.uid, "block": self.row.block}
        return {**place, "equal": self.fault is None, "problem": self.fault, "note": self.note}
