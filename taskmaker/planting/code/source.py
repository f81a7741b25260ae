"""A file of code as lines, and lines put into it in its own style: no existing line is changed or lost.

A template's text is indented by four spaces, quotes with `"`, and ends statements of JavaScript with `;`. Its marks:

- `<:...:>`: a type, kept where the file has types;
- `<doc>` at a line's end: a comment, kept where the file has comments;
- `<guard>` alone on a line: the place in a function for a condition on which it continues;
- `<!>` at a line's end: the line that a reviewer would point at;
- `---` alone on a line: what follows may stand elsewhere in the file.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

STEP: Final = "    "
GUARD: Final = "<guard>"
MAX_BYTES: Final = 100_000  # what is larger was generated, and takes long to read
MAX_LINE: Final = 500  # a longer one was minified
_TYPE: Final = re.compile(r"<:(.*?):>( = )?")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_DOC: Final = " <doc>"
_SINK: Final = " <!>"
_OPENING: Final = re.compile(r"""(?:^|[\s(\[{,=:+])(["'])""", re.MULTILINE)


class Style(NamedTuple):
    """Coding style of a file.

    Attributes:
        indent: one step of it.
        single: strings are in `'`.
        typed: functions have types.
        documented: functions have comments.
        terminated: statements of JavaScript end with `;`.
    """

    indent: str = STEP
    single: bool = False
    typed: bool = False
    documented: bool = False
    terminated: bool = True


class Block(NamedTuple):
    """Lines for one place of a file; `sink` is which of them a reviewer would point at, from 0 on."""

    lines: tuple[str, ...]
    sink: int | None = None

    def spaced(self, before: int, after: int) -> "Block":
        """Return the block with blank lines around it."""
        return Block(("",) * before + self.lines + ("",) * after, None if self.sink is None else self.sink + before)

    def indented(self, by: str) -> "Block":
        """Return the block deeper by the whitespace `by`."""
        return self._replace(lines=tuple(by + line if line else "" for line in self.lines))


class Put(NamedTuple):
    """Lines that go before line `at` of a file, counted from 0."""

    at: int
    block: Block


class Source(NamedTuple):
    """A file that people wrote."""

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
        """Source text as parsers read it."""
        return "\n".join(self.lines) + "\n"

    def with_lines(self, puts: Sequence[Put]) -> tuple[bytes, int]:
        """Return the file with `puts` in it, and the line of their sink, from 1 on; 0 where none has one.

        Blocks for the same place are in the order of `puts`, and never two blank lines between them.
        """
        by_place: dict[int, list[Block]] = {}
        for put in puts:
            by_place.setdefault(put.at, []).append(put.block)
        out: list[str] = []
        sink = 0
        for at in range(len(self.lines) + 1):
            for number, block in enumerate(by_place.get(at, ())):
                if number and not block.lines[0] and not out[-1]:
                    out.pop()
                if block.sink is not None:
                    sink = len(out) + block.sink + 1
                out.extend(block.lines)
            out.extend(self.lines[at : at + 1])
        return (self.newline.join(out) + (self.newline if self.ended else "")).encode(), sink

    def quotes_single(self) -> bool:
        """Return whether more of its strings begin with `'` than with `"`."""
        openings = [match[1] for match in _OPENING.finditer(self.text)]
        return openings.count("'") > openings.count('"')

    def blank_above(self, at: int) -> int:
        """Return how many blank lines are before line `at`."""
        count = 0
        while count < at and not self.lines[at - 1 - count].strip():
            count += 1
        return count

    def is_blank(self, at: int) -> bool:
        """Return whether line `at` exists and is blank."""
        return at < len(self.lines) and not self.lines[at].strip()

    def above_comment(self, at: int, marks: tuple[str, ...]) -> int:
        """Return the first line of the comment right above line `at`; `at` without one."""
        while at and self.lines[at - 1].startswith(marks):
            at -= 1
        return at


def space_of(line: str) -> str:
    """Return the whitespace that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def blocks(text: str, style: Style) -> tuple[Block, ...]:
    """Return what the text of a template says in the style of a file, in pieces that may stand apart."""
    return tuple(_block(part, style) for part in text.strip("\n").split("\n---\n")) if text else ()


def _block(text: str, style: Style) -> Block:
    lines: list[str] = []
    sink = None
    for raw in text.strip("\n").split("\n"):
        line = raw
        if line.endswith(_DOC):
            if not style.documented:
                continue
            line = line.removesuffix(_DOC)
        if line.endswith(_SINK):
            sink, line = len(lines), line.removesuffix(_SINK)
        lines.append(_styled(line, style))
    return Block(tuple(lines), sink)


def _styled(line: str, style: Style) -> str:
    default = "=" if line.startswith("def ") else " = "

    def typed(match: re.Match[str]) -> str:
        if style.typed:
            return match[1] + (match[2] or "")
        return default if match[2] else ""

    line = _TYPE.sub(typed, line)
    if style.single and "'" not in line and '\\"' not in line and '"""' not in line:
        line = _QUOTED.sub(r"'\1'", line)
    if not style.terminated and line.endswith(";"):
        line = line[:-1]
    code = line.lstrip(" ")
    return style.indent * ((len(line) - len(code)) // len(STEP)) + code


class Code:
    """A file that was read: its style, and where lines may be put.

    Attributes:
        source: the file.
        style: how it is written.
        gap: blank lines between its definitions.
        tops: lines before which a definition may stand, in order.
        constants: the line before which a constant goes; None where it goes with the definitions.
        bodies: of each function with room, the lines before which a statement may stand, with their whitespace.
        runs_through: statements at the top are what it does: a call may be at any later place.
    """

    gap = 1
    constants: int | None = None
    runs_through = False

    def __init__(self, source: Source) -> None:
        self.source = source
        self.style = Style()
        self.tops: list[int] = []
        self.bodies: list[list[tuple[int, str]]] = []

    def imports(self, wanted: Sequence[str]) -> list[Put] | None:
        """Return the imports that are missing, each at its place; None where a name means something else here."""
        return None if wanted else []

    def body_of(self, name: str) -> list[tuple[int, str]]:
        """Return the places in the function of this name at the top; none where there is no such function."""
        del name
        return []

    def definition(self, at: int, block: Block) -> Put:
        """Return a definition with blank lines around it."""
        if self.source.is_blank(at):
            return Put(at, block.spaced(1, 0))
        above = self.source.blank_above(at)
        return Put(at, block.spaced(0 if above or not at else self.gap, self.gap))
