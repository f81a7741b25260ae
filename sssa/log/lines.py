"""Reader of audit files: one line at a time, bounded before it is parsed, and the documents of a round in them."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, structs

from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_JSON_DEPTH, MAX_LOG_LINE, MAX_RECEIPT
from sssa.protocol.receipt import RoundEnd, line_digest
from sssa.protocol.round import (
    CuratedDocument,
    GoalTask,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
    TruthDocument,
    truth_sha256,
)
from sssa.protocol.strict_json import JsonError, SchemaError, decode, decode_plain
from sssa.protocol.task import check_injections
from sssa.protocol.text import printable
from sssa.protocol.workflow_task import check_reference

T = TypeVar("T")
Wrong = tuple[str, str]
"""Place in a document, and what is wrong there."""
DEPTH: Final = 2 * MAX_JSON_DEPTH  # a stranger's document of the deepest legal nesting stands deep within a line
START: Final = b'{"receipt":{'
_WRAPPER: Final = re.compile(rb'\{"([a-z]{1,16})":')
_BOM: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 400


class NotAnAuditFileError(ValidatorError):
    """Not an audit file."""


class FaultError(ValidatorError):
    """The audit file does not hold.

    Args:
        line: its number, from 1.
        kind: what the line is or should be.
        round_id: whose line it is, None outside rounds.
        what: what is wrong; made printable here.
        path: the place inside the document, empty where the whole line is meant.
    """

    def __init__(self, line: int, kind: str, round_id: str | None, what: str, path: str = "") -> None:
        self.line = line
        self.kind = printable(kind, 40)
        self.round_id = round_id
        self.what = printable(what, _SHOWN)
        self.path = printable(path, _SHOWN)
        of_round = "" if round_id is None else f" of round {round_id}"
        at = f", {self.path}" if path else ""
        super().__init__(f"line {line}, {self.kind}{of_round}{at}: {self.what}")


class Line(NamedTuple):
    """One line: its number from 1, the kind it names, its bytes without the newline, and the document inside.

    `start` is where the document begins in the file, `round_id` whose line it is.
    """

    number: int
    kind: str
    data: bytes
    document: bytes
    start: int = 0
    round_id: str | None = None

    @property
    def digest(self) -> str:
        """The sha256 of the line."""
        return line_digest(self.data)

    def bare(self) -> "Line":
        """Return the line without its bytes, to be kept."""
        return self._replace(data=b"", document=b"")

    def fault(self, what: str, path: str = "") -> FaultError:
        """Return a fault of this line, to be raised."""
        return FaultError(self.number, self.kind, self.round_id, what, path)

    def refuse(self, wrong: Iterable[Wrong]) -> None:
        """Raise the first of these faults of its document, if there is any (FaultError)."""
        for path, what in wrong:
            raise self.fault(what, path)

    def parsed(self, kind: type[T], document: bytes | None = None, limit: int = MAX_LOG_LINE) -> T:
        """Return its document, or the one that it is completed to, as a `kind` (FaultError: it is none)."""
        try:
            return decode(self.document if document is None else document, kind, limit=limit, depth=DEPTH)
        except JsonError as error:
            raise self.fault(str(error)) from None

    def require_canonical(self, document: object = None) -> None:
        """Check that its document, or the value read from it, is in canonical form (FaultError)."""
        value = decode_plain(self.document, limit=len(self.document), depth=DEPTH) if document is None else document
        if canonical_bytes(value) != self.document:
            raise self.fault("is not in canonical form (RFC 8785)")


def require_audit_file(file: BinaryIO) -> None:
    """Look at the first bytes: with at most one of them wrong it is a damaged audit file, else it is none.

    Raises:
        NotAnAuditFileError: it is none.
        FaultError: it starts with a byte order mark.
    """
    head = file.read(len(START))
    file.seek(0)
    if head.startswith(_BOM):
        raise FaultError(1, "receipt", None, "the file starts with a byte order mark; export it again, do not edit it")
    if len(head) < len(START) or sum(a != b for a, b in zip(head, START, strict=True)) > 1:
        raise NotAnAuditFileError("it does not start with a receipt; `validator audit export` writes such files")


@dataclass(slots=True)
class LineReader:
    """A reader of lines, which hands each out once.

    `number` and `offset` are those of the end of the line read last.
    """

    file: BinaryIO
    number: int = 0
    offset: int = 0

    def receipts(self) -> Iterator[Line]:
        """Yield the receipts among the lines that are left.

        What is between them is passed over unchecked (FaultError).
        """
        while (line := self.next("line", None)) is not None:
            if line.kind == "receipt":
                yield line

    def next(self, expected: str, round_id: str | None) -> Line | None:
        """Return the next line, None at the end of the file; messages name the expected kind and round.

        Raises:
            FaultError: too long, cut off, or no `{"kind":document}`.
        """
        most = MAX_RECEIPT if expected == "receipt" else MAX_LOG_LINE
        raw = self.file.readline(most + 1)
        if not raw:
            return None
        self.number += 1
        self.offset += len(raw)

        def fault(what: str) -> FaultError:
            return FaultError(self.number, expected, round_id, what)

        if not raw.endswith(b"\n"):
            long = len(raw) > most
            raise fault(f"longer than {most} bytes" if long else "the file ends inside this line: it was cut off")
        if raw.endswith(b"\r\n"):
            raise fault("ends with CR LF; lines end with LF alone")
        data = raw[:-1]
        start = _WRAPPER.match(data)
        if start is None or not data.endswith(b"}"):
            raise fault(f'is no line of an audit file: it must read {{"{expected}":…}}')
        begins = self.offset - len(raw) + start.end()
        return Line(self.number, start[1].decode(), data, data[start.end() : -1], begins, round_id)

    def again(self, start: int, size: int) -> bytes:
        """Return bytes that were read before; the next line stays the next one."""
        here = self.file.tell()
        self.file.seek(start)
        data = self.file.read(size)
        self.file.seek(here)
        return data

    def begins(self, prefix: bytes) -> bool:
        """Return whether the next line starts with `prefix`; the line is not consumed."""
        head = self.file.read(len(prefix))
        self.file.seek(-len(head), os.SEEK_CUR)
        return head == prefix

    def require(self, expected: str, round_id: str | None, digest: str | None) -> Line:
        """Return the next line, which must be of this kind and have this digest, where one is given (FaultError)."""
        line = self.next(expected, round_id)
        if line is None:
            raise FaultError(self.number + 1, expected, round_id, "missing: the file ends before it")
        line_kind, line = line.kind, line._replace(kind=expected)
        if line_kind != expected:
            raise line.fault(f"missing: a line of kind {line_kind} is in its place")
        if digest is not None and line.digest != digest:
            raise line.fault("was changed: it does not have the digest that was signed")
        return line


UNKNOWN_SEED: Final = "00" * 32  # stands where the salt is not public yet
_TRUTH: Final = b'{"truth":'
_CURATED: Final = b'{"curated":'


@dataclass(frozen=True, slots=True)
class Planned:
    """A round's input and groups, and the lines of the two without their bytes. `drawn`: the seed is known."""

    frozen: RoundInput
    plan: RoundPlan
    input_line: Line
    plan_line: Line
    drawn: bool


def read_planned(reader: LineReader, end: RoundEnd, input_digest: str, plan_digest: str, seed: str | None) -> Planned:
    """Return the round's input and plan (FaultError: a line is missing, or contradicts the receipt)."""
    input_line = reader.require("input", end.round_id, input_digest)
    complete = input_line.document[:-1] + b',"seed":"%s"}' % (seed or UNKNOWN_SEED).encode()
    frozen = input_line.parsed(RoundInput, complete)
    input_line.require_canonical()
    input_line.refuse(_contradictions(frozen))
    frozen = _with_curated(reader, _with_truths(reader, frozen))
    snapshot = frozen.snapshot
    own = {
        "round_id": (frozen.round_id, end.round_id),
        "snapshot.epoch": (snapshot.epoch, end.epoch),
        "snapshot.block": (snapshot.block, end.block),
        "snapshot.block_hash": (snapshot.block_hash, end.block_hash),
        "scoring_version": (frozen.scoring_version, end.scoring_version),
    }
    input_line.refuse(_others(own))
    planned = reader.require("plan", end.round_id, plan_digest)
    plan = planned.parsed(RoundPlan)
    tasks = [group.task_id for group in plan.groups], [task.task_id for task in frozen.tasks]
    planned.refuse(_others({"round_id": (plan.round_id, end.round_id), "groups": tasks}))
    return Planned(frozen, plan, input_line.bare(), planned.bare(), seed is not None)


def read_outcome(reader: LineReader, end: RoundEnd, outcome_digest: str) -> tuple[RoundOutcome, Line]:
    """Return the round's outcome and its line (FaultError: it is missing, was changed, or is not of its form)."""
    line = reader.require("outcome", end.round_id, outcome_digest)
    return line.parsed(RoundOutcome), line


def converted(plain: Any, kind: Any, line: Line, path: str) -> Any:
    """Return a plain value of a line, found at `path`, as a `kind` (FaultError: it is none)."""
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise line.fault(str(error), path) from None


def parting(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the first place at which two sequences differ: that behind the shorter one, where the longer begins so."""
    differ = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _others(fields: dict[str, tuple[object, object]]) -> Iterator[Wrong]:
    yield from ((path, f"{stated}, where {due} belongs") for path, (stated, due) in fields.items() if stated != due)


def _contradictions(frozen: RoundInput) -> Iterator[Wrong]:
    """Yield where the input contradicts itself about truths and curated records."""
    if frozen.curated_random is not UNSET:
        yield "curated_random", "belongs into the line of the curated records"
    for i, miner in enumerate(frozen.miners):
        if miner.curated is not UNSET:
            yield f"miners[{i}].curated", "belongs into the line of the curated records"
    for i, task in enumerate(frozen.tasks):
        if task.truth_random is not UNSET:
            yield f"tasks[{i}].truth_random", "belongs into the line of the truth"
        elif task.truth_sha256 is not UNSET and task.secret is not None:
            yield f"tasks[{i}].truth_sha256", "is next to the truth that it commits to"
        elif task.truth_sha256 is UNSET and isinstance(task, GoalTask) and task.secret is None:
            yield f"tasks[{i}].goal.reference", "is missing, and nothing commits to it"


def _with_truths(reader: LineReader, frozen: RoundInput) -> RoundInput:
    """Read the truths behind an input's line, and return the input with them (FaultError: none that it commits to)."""
    tasks, position = list(frozen.tasks), 0
    while reader.begins(_TRUTH):
        line = reader.require("truth", frozen.round_id, None)
        document = line.parsed(TruthDocument)
        line.require_canonical()
        waiting = (i for i in range(position, len(tasks)) if tasks[i].truth_sha256 is not UNSET)
        place = next((i for i in waiting if tasks[i].task_id == document.task_id), None)
        if place is None:
            what = "is of no task of the round whose truth is to come: of another round, repeated or out of order"
            raise line.fault(what, "task_id")
        position = place
        tasks[position] = _shown(line, tasks[position], document)
    return structs.replace(frozen, tasks=tuple(tasks))


def _with_curated(reader: LineReader, frozen: RoundInput) -> RoundInput:
    """Return an input with the curated records behind it, if it has them (FaultError: it does not commit to them)."""
    if frozen.curated_sha256 is UNSET or not reader.begins(_CURATED):
        return frozen
    line = reader.require("curated", frozen.round_id, None)
    document = line.parsed(CuratedDocument)
    line.require_canonical()
    if truth_sha256(document.random, document.records) != frozen.curated_sha256:
        raise line.fault("is not what the input commits to: it was changed")
    if document.records.keys() != {miner.hotkey for miner in frozen.miners}:
        raise line.fault("is not of the miners of the input", "records")
    miners = tuple(structs.replace(miner, curated=document.records[miner.hotkey]) for miner in frozen.miners)
    return structs.replace(frozen, miners=miners, curated_random=document.random, curated_sha256=UNSET)


def _shown(line: Line, task: RoundTask, document: TruthDocument) -> RoundTask:
    shown = task.shown(document)
    if shown is None or shown.secret is None:
        raise line.fault(f"is no truth of a task of type {task.skill_type}")
    if truth_sha256(document.random, shown.secret) != task.truth_sha256:
        raise line.fault("is not what the input commits to: it was changed")
    try:
        if isinstance(shown, GoalTask):
            check_reference(shown.goal)
        else:
            check_injections((shown.truth.injections if shown.truth else None) or (), "truth.injections")
    except SchemaError as error:
        raise line.fault(str(error)) from None
    return shown
