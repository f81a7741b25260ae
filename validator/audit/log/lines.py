"""The lines of an audit file, one at a time, bounded before they are parsed."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar

from validator.protocol.canonical import canonical_bytes
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_JSON_DEPTH, MAX_LOG_LINE, MAX_RECEIPT
from validator.protocol.receipt import line_digest
from validator.protocol.strict_json import JsonError, decode, decode_plain
from validator.protocol.text import printable

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
        """Return it without its bytes, for what is kept of it."""
        return self._replace(data=b"", document=b"")

    def fault(self, what: str, path: str = "") -> FaultError:
        """Return what is wrong with the line, to be raised."""
        return FaultError(self.number, self.kind, self.round_id, what, path)

    def refuse(self, wrong: Iterable[Wrong]) -> None:
        """Raise the first of what is wrong with its document (FaultError), if anything is."""
        for path, what in wrong:
            raise self.fault(what, path)

    def parsed(self, kind: type[T], document: bytes | None = None, limit: int = MAX_LOG_LINE) -> T:
        """Return its document, or the one that it is completed to, as a `kind` (FaultError: it is none)."""
        try:
            return decode(self.document if document is None else document, kind, limit=limit, depth=DEPTH)
        except JsonError as error:
            raise self.fault(str(error)) from None

    def require_canonical(self, document: object = None) -> None:
        """Compare its document, or what was read of it, with its one form (FaultError)."""
        told = decode_plain(self.document, limit=len(self.document), depth=DEPTH) if document is None else document
        if canonical_bytes(told) != self.document:
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

    `number` and `offset` are those of the end of the line read last; `taken` is a hash that takes in every byte, where
    somebody asks for it.
    """

    file: BinaryIO
    number: int = 0
    offset: int = 0
    taken: Any = None

    def receipts(self) -> Iterator[Line]:
        """Yield the receipts among the lines that are left.

        What is between them is passed over unchecked (FaultError).
        """
        while (found := self.next("line", None)) is not None:
            if found.kind == "receipt":
                yield found

    def next(self, expected: str, round_id: str | None) -> Line | None:
        """Return the next line, None at the end of the file; messages name what it should be, and of which round.

        Raises:
            FaultError: too long, cut off, or no `{"kind":document}`.
        """
        most = MAX_RECEIPT if expected == "receipt" else MAX_LOG_LINE
        raw = self.file.readline(most + 1)
        if not raw:
            return None
        self.number += 1
        self.offset += len(raw)
        if self.taken is not None:
            self.taken.update(raw)

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
        """Whether the next line begins so; it stays the next one."""
        head = self.file.read(len(prefix))
        self.file.seek(-len(head), os.SEEK_CUR)
        return head == prefix

    def require(self, expected: str, round_id: str | None, digest: str | None) -> Line:
        """Return the next line, which must be of this kind and have this digest, where one is given (FaultError)."""
        found = self.next(expected, round_id)
        if found is None:
            raise FaultError(self.number + 1, expected, round_id, "missing: the file ends before it")
        found_kind, found = found.kind, found._replace(kind=expected)
        if found_kind != expected:
            raise found.fault(f"missing: a line of kind {found_kind} stands in its place")
        if digest is not None and found.digest != digest:
            raise found.fault("was changed: it does not have the digest that was signed")
        return found
