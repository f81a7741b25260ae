"""Comparison of two audit files (`audit verify --compare`): one history, one that continues the other, or two."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from sssa.log.chain import Chain
from sssa.log.lines import FaultError, Line, LineReader, require_audit_file
from sssa.protocol.receipt import Receipt

Relation = Literal["same", "prefix", "forked", "apart"]
Side = Literal["a", "b"]
Progress = Callable[[int], None]


class InFileError(FaultError):
    """The audit file does not hold."""

    def __init__(self, file: Path, fault: FaultError) -> None:
        super().__init__(fault.line, fault.kind, fault.round_id, fault.what, fault.path)
        self.file = file


class Place(NamedTuple):
    """A receipt in a file: its line from 1, and its fields; `round_id` is None where it is no round's."""

    line: int
    sequence: int
    digest: str
    previous: str | None
    kind: str
    round_id: str | None
    issued_at: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The relation of two files.

    Attributes:
        relation: `same`: both end with the same receipt. `prefix`: one history, and one of them ends earlier. `forked`:
            the validator signed two histories. `apart`: they have no receipt in common, nor does one begin where the
            other ends, so that they cannot be compared.
        common: receipts that both have.
        first: of each file.
        last: of each file; where they are forked, the first that the other one contradicts.
        longer: of a prefix: which one continues.
    """

    relation: Relation
    hotkey: str
    common: int
    first: tuple[Place, Place]
    last: tuple[Place, Place]
    longer: Side | None = None

    @property
    def one_history(self) -> bool:
        """True if both logs agree on everything that both contain."""
        return self.relation in {"same", "prefix"}


def compare_files(a: Path, b: Path, progress: Progress = lambda _: None) -> Compared:
    """Compare the receipts of two files, in memory that does not grow with them.

    Receipts are held to be signed and linked, as `verify_file` has it; the lines that they name are not looked at.

    Raises:
        NotAnAuditFileError: one of them is something else.
        InFileError: the receipts of one do not follow from each other, or it is not the log of the other's validator.
        OSError: one of them cannot be read.
    """
    with a.open("rb") as first, b.open("rb") as second:
        one, other = _Receipts(a, first), _Receipts(b, second)
        return _compare(one, other, lambda: progress(one.reader.offset + other.reader.offset))


@dataclass(slots=True)
class _Receipts:
    """The receipts of one file. `at` is the one read last, None once there is no more; `last` is then the last."""

    path: Path
    file: BinaryIO
    chain: Chain = field(default_factory=Chain)
    reader: LineReader = field(init=False)
    first: Place = field(init=False)
    last: Place = field(init=False)
    at: Place | None = field(init=False)

    def __post_init__(self) -> None:
        require_audit_file(self.file)
        self.reader = LineReader(self.file)
        first = self._read()
        if first is None:
            raise InFileError(self.path, FaultError(1, "receipt", None, "the file has no receipt"))
        self.first = self.last = self.at = first

    def advance(self) -> None:
        """Read the next receipt."""
        self.at = self._read()
        self.last = self.at or self.last

    def _read(self) -> Place | None:
        try:
            line = next(self.reader.receipts(), None)
            return None if line is None else _place(line, self.chain.add(line))
        except FaultError as fault:
            raise InFileError(self.path, fault) from None


def _place(line: Line, receipt: Receipt) -> Place:
    round_id = None if receipt.round is None else receipt.round.round_id
    rest = (receipt.previous, receipt.kind, round_id, receipt.issued_at)
    return Place(line.number, receipt.sequence, line.digest, *rest)


def _compare(a: _Receipts, b: _Receipts, done: Callable[[], None]) -> Compared:
    if a.chain.hotkey != b.chain.hotkey:
        what = f"is {b.chain.hotkey}; the other file is the log of {a.chain.hotkey}"
        raise InFileError(b.path, FaultError(b.first.line, "receipt", None, what, "validator_hotkey"))

    def compared(relation: Relation, longer: Side | None = None) -> Compared:
        return Compared(relation, a.chain.hotkey or "", common, (a.first, b.first), (a.last, b.last), longer)

    common = 0
    early, late = (a, b) if a.first.sequence <= b.first.sequence else (b, a)
    while early.at is not None and early.at.sequence < late.first.sequence:
        early.advance()
        done()
    if early.at is None and late.first.previous != early.last.digest:
        return compared("apart")
    while a.at is not None and b.at is not None:
        if a.at.digest != b.at.digest:
            return compared("forked")
        common += 1
        a.advance()
        b.advance()
        done()
    longer: Side | None = "a" if a.at is not None else "b" if b.at is not None else None
    for rest in (a, b):
        while rest.at is not None:
            rest.advance()
            done()
    return compared("same" if longer is None else "prefix", longer)
