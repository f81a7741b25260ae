"""Places for a fault in a shell script, found line by line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from validator.planting.shapes.code.guards import Form, guarded
from validator.planting.shapes.code.markup import STEP, Block, Fault, Style, blocks
from validator.planting.shapes.code.source import Placed, Put, Source, alone, placed, without_first
from validator.planting.shapes.code.words import Words

_HEREDOC: Final = re.compile(r"(?<!<)<<(?!<)(-?)\s*([\"']?)\\?(\w+)\2")
_HEAD: Final = re.compile(r"\s*(?:#.*|set\s+[-+].*|shopt\s.*|)")
_WORD: Final = re.compile(r"[^\s;&|()]+")
_OPENERS: Final = frozenset({"if", "case", "for", "while", "until", "select", "{"})
_CLOSERS: Final = frozenset({"fi", "esac", "done", "}"})
_BEFORE_COMMAND: Final = frozenset({"then", "do", "else", "elif", "!", "time", *_OPENERS, *_CLOSERS})
_GOES_ON: Final = ("\\", "|", "&&")
_FUNCTION: Final = re.compile(r"^\s*(?:function\s+[\w:-]+(?:\s*\(\s*\))?|[\w:-]+\s*\(\s*\))")
_FORM: Final = Form("if {}; then", "return 0", "fi")
_INDENTED: Final = re.compile(r"^(\t| {1,8})\S")


class _Line(NamedTuple):
    """A line that was read: how deep it begins and ends, and whether in the middle of something."""

    depth: int
    inside: bool


class _Reader:
    """Follows quotes, here-documents and compound commands over lines."""

    def __init__(self) -> None:
        self.depth = 0
        self.cases = 0
        self.quote = ""
        self.heredocs: list[tuple[bool, str]] = []
        self.continued = False

    def lines(self, lines: Sequence[str]) -> Iterator[_Line]:
        """Yield the state in front of each line."""
        for line in lines:
            yield _Line(self.depth, bool(self.quote or self.heredocs or self.continued))
            self._read(line)

    def _read(self, line: str) -> None:
        if self.heredocs:
            tabs, word = self.heredocs[0]
            if (line.lstrip("\t") if tabs else line) == word:
                self.heredocs.pop(0)
            return
        bare = self._bare(line)
        self.heredocs = [(match[1] == "-", match[3]) for match in _HEREDOC.finditer(line)] if "<<" in bare else []
        self.continued = not self.quote and bare.rstrip().endswith(_GOES_ON)
        self._count(bare)

    def _bare(self, line: str) -> str:
        """Return the line without what is quoted or commented; remembers a quote that stays open."""
        out = []
        at = 0
        while at < len(line):
            char = line[at]
            if self.quote:
                if char == "\\" and self.quote == '"':
                    at += 1
                elif char == self.quote:
                    self.quote = ""
                    out.append("Q")
            elif char == "\\":
                out.append("\\" if at + 1 == len(line) else "Q")
                at += 1
            elif char in "\"'":
                self.quote = char
            elif char == "#" and (at == 0 or line[at - 1] in " \t;"):
                break
            else:
                out.append(char)
            at += 1
        return "".join(out)

    def _count(self, bare: str) -> None:
        bare = _FUNCTION.sub("", bare)
        for part in re.split(r"[;&|]+|(?<=\))\s", bare):
            for word in _WORD.findall(part):
                self.depth += (word in _OPENERS) - (word in _CLOSERS)
                self.cases += (word == "case") - (word == "esac")
                if word not in _BEFORE_COMMAND:
                    break
        if not self.cases:
            self.depth += bare.count("(") - bare.count(")")


def places_of(source: Source) -> list[int]:
    """Return the lines before which commands may stand, at the top of the script; the first is behind its head."""
    reader = _Reader()
    states = list(reader.lines(source.lines))
    if reader.depth or reader.quote or reader.heredocs or any(state.depth < 0 for state in states):
        states = []
    head = next((at for at, line in enumerate(source.lines) if not _HEAD.fullmatch(line)), len(source.lines))
    while head and not source.lines[head - 1].strip():
        head -= 1
    if head and source.lines[head - 1].lstrip().startswith("#") and not source.lines[head - 1].startswith("#!"):
        head = _above_comment(source, head)
    found = []
    follows = ""
    for at in range(len(states) - 1, head, -1):
        line = source.lines[at]
        if line.strip():
            follows = line
        elif states[at] == _Line(0, inside=False) and follows and "$?" not in follows and not _joins(follows):
            found.append(at)
    return [head, *reversed(found)]


def _joins(line: str) -> bool:
    """Whether a line may belong to what stands above it."""
    return line.lstrip().startswith(("|", "&", "{", "("))


def _above_comment(source: Source, at: int) -> int:
    """Return the line behind the shebang and settings, above the comment of the first command."""
    start = at
    while start and source.lines[start - 1].startswith("#") and not source.lines[start - 1].startswith("#!"):
        start -= 1
    return start if start and source.lines[start - 1].strip() == "" else at


def style_of(source: Source) -> Style:
    """Return how a script is written."""
    steps = [match[1] for line in source.lines if (match := _INDENTED.match(line))]
    indent = Counter(steps).most_common(1)[0][0] if steps else STEP
    comments = sum(line.lstrip().startswith("#") and not line.startswith("#!") for line in source.lines)
    return Style(indent=indent, documented=comments > 0)


def put(source: Source, fault: Fault, words: Words) -> Placed | None:
    """Return a shell script with `fault` in it; None where it has no command."""
    if all(_HEAD.fullmatch(line) for line in source.lines):
        return None
    draws, style = words.draws, style_of(source)
    ready = guarded(fault, words, _FORM, inside=draws.number(0, 1) == 1)
    places = places_of(source)
    at = draws.number(0, len(places) - 1)
    later = draws.number(at, len(places) - 1)
    puts = [_at(source, places[at], part) for part in blocks(ready.body, style)]
    puts.extend(_at(source, places[later], part) for part in blocks(ready.call, style))
    return placed(source, _apart(puts))


def _at(source: Source, at: int, part: Block) -> Put:
    blank_below = at < len(source.lines) and not source.lines[at].strip()
    return Put(
        at, alone(part, 1 if blank_below or (at and source.lines[at - 1].strip()) else 0, 0 if blank_below else 1)
    )


def _apart(puts: list[Put]) -> list[Put]:
    """Return blocks with no second blank line between two at one place."""
    out = puts[:1]
    for last, put in pairwise(puts):
        twice = last.at == put.at and not last.block.lines[-1] and not put.block.lines[0]
        out.append(Put(put.at, without_first(put.block)) if twice else put)
    return out
