"""Sentences of a text, and the lines that they stand on: what is meant is often broken over several."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_END: Final = re.compile(r"(?<=[.!?])[\"')\]*_]{0,3}\s+|(?<=\u3002)")
_CELL: Final = re.compile(r"\s{0,3}[|]")
_OWN_BLOCK: Final = re.compile(r"\s{0,12}(?:[-*+>|#]|\d{1,3}[.)]|```|~~~|[{\[\"])")
_LONGEST: Final = 1_200  # characters that are looked at as one sentence; what is longer is cut into pieces that overlap
_STEP: Final = 900
_MOST_LINES: Final = 60  # of a paragraph


class Sentence(NamedTuple):
    """A sentence; `first` and `last` are indices of lines."""

    text: str
    first: int
    last: int


def paragraphs(lines: Sequence[str]) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph; a list's item, a heading, a row or a record is one of its own.

    Args:
        lines: as a model reads them (`injection.plain` leaves out what it passes over).
    """
    start = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and index - start < _MOST_LINES and lines[index].strip():
            if not _OWN_BLOCK.match(lines[index]) and lines[start].strip():
                continue
        elif index < len(lines) and not lines[start].strip():
            start = index
            continue
        if found := list(_sentences(lines, start, index)):
            yield found
        start = index


def _sentences(lines: Sequence[str], start: int, end: int) -> Iterator[Sentence]:
    starts, text = [], ""
    for line in lines[start:end]:
        starts.append(len(text))
        text += line.strip() + " "
    begin = 0
    ends = _CELL if text.startswith("|") else _END
    for stop in (*(match.end() for match in ends.finditer(text)), len(text)):
        for piece in range(begin, stop, _STEP):
            said = text[piece : min(stop, piece + _LONGEST)]
            if said := said.strip():
                first, last = (start + bisect_right(starts, place) - 1 for place in (piece, piece + len(said)))
                yield Sentence(said, first, min(last, end - 1))
            if piece + _LONGEST >= stop:
                break
        begin = stop
