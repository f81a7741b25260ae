"""One file of a bundle as text or as JSON, and the places in it that evidence can name."""

import json
from bisect import bisect_right
from functools import cached_property
from typing import Any

from miner.analysis.bounds import MAX_JSON, MAX_TEXT_FILE
from validator.protocol.bundles import count_lines
from validator.protocol.limits import MAX_STRING
from validator.protocol.sssa import EvidenceRefError, parse_evidence_ref
from validator.protocol.strict_json import JsonError, decode_plain

_ROOM_FOR_LINES = 64  # a span prefix and a line range


class SourceFile:
    """A file whose name evidence can refer to (see `addressable`).

    Args:
        path: its name in the bundle.
        content: its bytes.
    """

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        self.line_count = count_lines(content)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """What follows the name's last dot, lower case; empty without one."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @cached_property
    def text(self) -> str:
        """The first `MAX_TEXT_FILE` bytes, undecodable ones replaced. Only a line feed ends a line, as in the index."""
        return self.content[:MAX_TEXT_FILE].decode("utf-8", errors="replace")

    @property
    def truncated(self) -> bool:
        """Whether the text ends before the file does."""
        return len(self.content) > MAX_TEXT_FILE

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines[:-1]:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def line_at(self, offset: int) -> int:
        """Return the number, from 1, of the line that holds the text's character `offset`."""
        return bisect_right(self._starts, offset)

    def offset_of(self, line: int) -> int:
        """Return the offset in the text of the first character of line `line`, from 1; the text's end beyond it."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line_with(self, *needles: str) -> int:
        """Return the first line that holds the first of the needles that occurs at all; 1 if none does."""
        offsets = (self.text.find(needle) for needle in needles if needle)
        return next((self.line_at(offset) for offset in offsets if offset >= 0), 1)

    def place(self, first: int = 1, last: int | None = None) -> str:
        """Return an evidence reference that resolves: lines outside the file are moved to its nearest line."""
        prefix = "b::" if "::" in self.path else ""
        if not self.line_count:
            return prefix + self.path
        first = min(max(first, 1), self.line_count)
        last = min(max(last or first, first), self.line_count)
        return f"{prefix}{self.path}#L{first}-L{last}"


def addressable(path: str) -> bool:
    """Whether evidence can name the file: the grammar of SPEC 3 (D-1) has no way to write some names."""
    if len(path) > MAX_STRING - _ROOM_FOR_LINES or "#" in path:
        return False
    try:
        path.encode()
        return parse_evidence_ref(f"b::{path}").path == path
    except (EvidenceRefError, UnicodeEncodeError):
        return False


def read_object(source: SourceFile) -> dict[str, Any] | None:
    """Return the object in the file; None if it is no JSON object, repeats a key, is too deep or too large."""
    try:
        value = decode_plain(source.content, limit=MAX_JSON)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; nothing if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def line_of(source: SourceFile, text: str, after: int = 1) -> int:
    """Return the line, not before line `after`, that holds the string `text` as JSON; `after` if none does."""
    start = source.offset_of(after)
    offsets = [source.text.find(json.dumps(text, ensure_ascii=ascii_only), start) for ascii_only in (True, False)]
    return min((source.line_at(offset) for offset in offsets if offset >= 0), default=after)
