"""A file of code as lines, and lines put into it: none of its own is changed or lost."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from validator.planting.shapes.code.markup import Block

MAX_BYTES: Final = 100_000  # what is larger was generated, and takes long to read
MAX_LINE: Final = 500  # a longer one was minified
_OPENING: Final = re.compile(r"""(?:^|[\s(\[{,=:+])(["'])""", re.MULTILINE)


class Put(NamedTuple):
    """Lines that go before line `at` of a file, counted from 0; a block may have a sink."""

    at: int
    block: Block


class Source(NamedTuple):
    """A file that people wrote.

    Attributes:
        path: in the bundle.
        lines: without line ends.
        newline: what ends each.
        ended: the last one too.
    """

    path: str
    lines: tuple[str, ...]
    newline: str
    ended: bool

    @classmethod
    def read(cls, path: str, data: bytes) -> Self | None:
        """Return the file; None where it is empty, large, minified or no text of one kind of line ends."""
        if not data.strip() or len(data) > MAX_BYTES or b"\0" in data:
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        newline = "\r\n" if "\r\n" in text else "\n"
        ended = text.endswith(newline)
        lines = tuple((text[: -len(newline)] if ended else text).split(newline))
        if any(len(line) > MAX_LINE or "\r" in line or "\n" in line or "\f" in line for line in lines):
            return None
        return cls(path, lines, newline, ended)

    @property
    def text(self) -> str:
        """What parsers read."""
        return "\n".join(self.lines) + "\n"

    def with_lines(self, puts: Sequence[Put]) -> tuple[bytes, int]:
        """Return the file with `puts` in it, and the line of their sink, from 1 on; 0 where none has one.

        Blocks for the same place stand in the order of `puts`.
        """
        out: list[str] = []
        sink = 0
        for at in range(len(self.lines) + 1):
            for block in (put.block for put in puts if put.at == at):
                if block.sink is not None:
                    sink = len(out) + block.sink + 1
                out.extend(block.lines)
            out.extend(self.lines[at : at + 1])
        text = self.newline.join(out) + (self.newline if self.ended else "")
        return text.encode(), sink

    def quotes_single(self) -> bool:
        """Whether more of its strings begin with `'` than with `"`."""
        found = [match[1] for match in _OPENING.finditer(self.text)]
        return found.count("'") > found.count('"')

    def blank_above(self, at: int) -> int:
        """Return how many blank lines stand before line `at`."""
        count = 0
        while count < at and not self.lines[at - 1 - count].strip():
            count += 1
        return count

    def above_comment(self, at: int, marks: tuple[str, ...]) -> int:
        """Return the first line of the comment that stands right above line `at`; `at` where none does."""
        while at and self.lines[at - 1].startswith(marks):
            at -= 1
        return at


class Placed(NamedTuple):
    """A fault that has its place: the files that changed or were made, and where a reviewer would point at."""

    changed: dict[str, bytes]
    path: str
    line: int


def placed(source: Source, puts: Sequence[Put]) -> Placed:
    """Return a fault that lies in one file."""
    content, line = source.with_lines(puts)
    return Placed({source.path: content}, source.path, line)


def alone(block: Block, before: int, after: int) -> Block:
    """Return a block with blank lines around it."""
    sink = None if block.sink is None else block.sink + before
    return Block(("",) * before + block.lines + ("",) * after, sink)


def without_first(block: Block) -> Block:
    """Return a block without its first line."""
    return Block(block.lines[1:], None if block.sink is None else block.sink - 1)
