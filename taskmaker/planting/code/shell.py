"""A shell script: its style, and the places where commands may be put, found line by line."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Self

from taskmaker.planting.code.source import STEP, Code, Source, Style

_HEREDOC: Final = re.compile(r"(?<!<)<<(?!<)(-?)\s*([\"']?)\\?(\w+)\2")
_HEAD: Final = re.compile(r"\s*(?:#.*|set\s+[-+].*|shopt\s.*|)")
_WORD: Final = re.compile(r"[^\s;&|()]+")
_OPENERS: Final = frozenset({"if", "case", "for", "while", "until", "select", "{"})
_CLOSERS: Final = frozenset({"fi", "esac", "done", "}"})
_BEFORE_COMMAND: Final = frozenset({"then", "do", "else", "elif", "!", "time", *_OPENERS, *_CLOSERS})
_CONTINUED: Final = ("\\", "|", "&&")
_JOINED: Final = ("|", "&", "{", "(")
_FUNCTION: Final = re.compile(r"^\s*(?:function\s+[\w:-]+(?:\s*\(\s*\))?|[\w:-]+\s*\(\s*\))")
_INDENTED: Final = re.compile(r"^(\t| {1,8})\S")


class _Line(NamedTuple):
    """The state in front of a line: open commands, and whether in the middle of a quote or a here-document."""

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
        self.continued = not self.quote and bare.rstrip().endswith(_CONTINUED)
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


class Commands(Code):
    """A script that was read; the first of its places is behind its head."""

    runs_through = True

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        steps = [match[1] for line in source.lines if (match := _INDENTED.match(line))]
        comments = any(line.lstrip().startswith("#") and not line.startswith("#!") for line in source.lines)
        indent = Counter(steps).most_common(1)[0][0] if steps else STEP
        self.style = Style(indent=indent, documented=comments)
        self.tops = self._tops()

    @classmethod
    def read(cls, source: Source) -> Self | None:
        """Return the script; None where it has no command."""
        return None if all(_HEAD.fullmatch(line) for line in source.lines) else cls(source)

    def _tops(self) -> list[int]:
        reader, lines = _Reader(), self.source.lines
        states = list(reader.lines(lines))
        if reader.depth or reader.quote or reader.heredocs or any(state.depth < 0 for state in states):
            states = []
        head = next((at for at, line in enumerate(lines) if not _HEAD.fullmatch(line)), len(lines))
        head -= self.source.blank_above(head)
        if head and self._is_comment(head - 1):
            head = self._above_comment(head)
        places = []
        follows = ""
        for at in range(len(states) - 1, head, -1):
            if lines[at].strip():
                follows = lines[at]
            elif states[at] == _Line(0, False) and follows and "$?" not in follows:
                places += [] if follows.lstrip().startswith(_JOINED) else [at]
        return [head, *reversed(places)]

    def _is_comment(self, at: int) -> bool:
        line = self.source.lines[at]
        return line.lstrip().startswith("#") and not line.startswith("#!")

    def _above_comment(self, at: int) -> int:
        """Return the line behind the shebang and settings, above the comment of the first command."""
        start = at
        while start and self._is_comment(start - 1) and self.source.lines[start - 1].startswith("#"):
            start -= 1
        return start if start and not self.source.lines[start - 1].strip() else at
