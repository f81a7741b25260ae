"""How deep every line of a JavaScript or TypeScript file begins: brackets, outside strings, templates and comments."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_OPEN: Final = "([{"
_CLOSE: Final = ")]}"
_BEFORE_PATTERN: Final = "(,=:[!&|?{};+-*%~^<>"  # what stands before a regular expression, and not before a division
_KEYWORDS: Final = re.compile(r"(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|else|do|yield|await)$")


class Line(NamedTuple):
    """The state in front of a line.

    Attributes:
        depth: open brackets.
        inside: in a string, a template or a comment.
        before: the last character of code in front of it; "" at the start of the file.
    """

    depth: int
    inside: bool
    before: str


class _Reader:
    """Follows brackets over characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.stack: list[str] = []
        self.quote = ""  # "'", '"', "`", "*" for a comment, "" for code
        self.code = ""  # the end of what was read as code

    def line(self) -> Line:
        return Line(len(self.stack), self.quote in {"`", "*"}, self.code[-1:])

    def step(self) -> None:
        """Read one character, or a comment to the end of its line, or a regular expression."""
        char, two = self.text[self.at], self.text[self.at : self.at + 2]
        if self.quote:
            self._quoted(char, two)
        elif two in {"//", "/*"} or (two == "#!" and self.at == 0):
            end = self.text.find("\n", self.at)
            self.quote = "*" if two == "/*" else ""
            self.at = self.at + 2 if two == "/*" else end
        elif char in "\"'`":
            self.quote = char
            self.at += 1
        elif char == "/" and self._pattern_may_stand():
            self._pattern()
        else:
            self._brackets(char)
            self.at += 1

    def _quoted(self, char: str, two: str) -> None:
        if self.quote == "*":
            self.at += 2 if two == "*/" else 1
            self.quote = "" if two == "*/" else "*"
            return
        if char == "\\":
            self.at += 2
            return
        if self.quote == "`" and two == "${":
            self.stack.append("`")
            self.quote = ""
            self.at += 2
            return
        if char == self.quote:
            self.quote = ""
            self._note(char)
        elif char == "\n" and self.quote != "`":
            raise ValueError("a string over lines")
        self.at += 1

    def _brackets(self, char: str) -> None:
        if char in _OPEN:
            self.stack.append(char)
        elif char in _CLOSE:
            opened = self.stack.pop() if self.stack else ""
            if opened == "`" and char == "}":
                self.quote = "`"
            elif not opened or _OPEN.find(opened) != _CLOSE.index(char):
                raise ValueError("brackets that do not match")
        if not char.isspace():
            self._note(char)
        elif self.code[-1:] not in {"", " "} and char == " ":
            pass

    def _note(self, char: str) -> None:
        self.code = self.code[-12:] + char

    def _pattern_may_stand(self) -> bool:
        line = self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at].rstrip()
        before = line or self.code
        return not before or before[-1] in _BEFORE_PATTERN or bool(_KEYWORDS.search(before))

    def _pattern(self) -> None:
        in_class = False
        self.at += 1
        while self.text[self.at] != "\n":
            char = self.text[self.at]
            self.at += 2 if char == "\\" else 1
            if char == "/" and not in_class:
                self._note("/")
                return
            in_class = (in_class or char == "[") and char != "]"
        raise ValueError("a regular expression over lines")


def read_lines(lines: Sequence[str]) -> list[Line] | None:
    """Return the state in front of each line; None where brackets or quotes do not end."""
    reader = _Reader("\n".join(lines) + "\n")
    found = [reader.line()]
    try:
        while reader.at < len(reader.text):
            start = reader.at
            reader.step()
            found.extend(reader.line() for _ in range(reader.text.count("\n", start, reader.at)))
    except (ValueError, IndexError):
        return None
    return None if reader.stack or reader.quote else found[: len(lines)]
