"""Shell words: quotes, escapes, variables and substitutions (the part of the shell grammar below commands)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_PLAIN: Final = re.compile(r"[^\s\\'\"$`;&|()<>]+")
_IN_QUOTES: Final = re.compile(r'[^"\\$`]+')
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SPECIAL: Final = re.compile(r"\$[0-9@*#?$!-]")
_QUOTED_OR_PAREN: Final = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[()]", re.DOTALL)
_METACHARACTERS: Final = frozenset(" \t\n'\"\\|&;()<>!{}*[?]^$`")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        value: its text with quotes removed and known variables filled in; what cannot be known stays as written.
        literal: whether `value` is what the shell would see.
        inner: the command lines in its substitutions: `$(…)`, backticks, `<(…)`.
        quoted: whether any of it was quoted (a quoted word is no keyword).
    """

    value: str
    literal: bool
    inner: tuple[str, ...] = ()
    quoted: bool = False


class WordReader:
    """Reads the word that begins at a position.

    Args:
        text: the script.
        variables: values of the variables that are known.
    """

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.text = text
        self.variables = variables

    def read(self, at: int) -> tuple[Word, int]:
        """Return the word at `at` and the position behind it; the word may be empty."""
        text, parts, inner = self.text, list[str](), list[str]()
        literal, quoted = True, False
        while at < len(text):
            char = text[at]
            if match := _PLAIN.match(text, at):
                parts.append(match[0])
                at = match.end()
            elif char == "\\":
                parts.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
                at += 2
                quoted = True
            elif char == "'":
                end = _find(text, "'", at + 1)
                parts.append(text[at + 1 : end])
                at = end + 1
                quoted = True
            elif char == '"':
                at, sure = self._double_quoted(at + 1, parts, inner)
                literal = literal and sure
                quoted = True
            elif char in "$`" or (char in "<>" and text[at + 1 : at + 2] == "("):
                at, sure = self._expansion(at, parts, inner)
                literal = literal and sure
            else:
                break
        return Word("".join(parts), literal, tuple(inner), quoted), min(at, len(text))

    def _double_quoted(self, at: int, parts: list[str], inner: list[str]) -> tuple[int, bool]:
        text, literal = self.text, True
        while at < len(text) and text[at] != '"':
            if match := _IN_QUOTES.match(text, at):
                parts.append(match[0])
                at = match.end()
            elif text[at] == "\\":
                escaped = text[at + 1 : at + 2]
                parts.append("" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped)
                at += 2
            else:
                at, sure = self._expansion(at, parts, inner)
                literal = literal and sure
        return at + 1, literal

    def _expansion(self, at: int, parts: list[str], inner: list[str]) -> tuple[int, bool]:
        """Read what begins with `$`, a backtick or `<(`; return where it ends and whether its value is known."""
        text = self.text
        if match := _VARIABLE.match(text, at):
            value = self.variables.get(match[1] or match[2])
            parts.append(match[0] if value is None else value)
            return match.end(), value is not None
        if text.startswith("$'", at):
            end = _find(text, "'", at + 2)
            parts.append(text[at + 2 : end])
            return end + 1, False
        if text[at] == "`":
            end = _find(text, "`", at + 1)
            inner.append(text[at + 1 : end])
            parts.append(text[at : end + 1])
            return end + 1, False
        if text.startswith("${", at):
            end = _find(text, "}", at + 2) + 1
        elif text.startswith(("$(", "<(", ">("), at):
            end = _closing(text, at + 2)
            if not text.startswith("$((", at):
                inner.append(text[at + 2 : end - 1])
        elif match := _SPECIAL.match(text, at):
            end = match.end()
        else:
            parts.append("$")
            return at + 1, True
        parts.append(text[at:end])
        return end, False


def traced(word: str) -> str:
    """Return the word as bash's execution tracing prints it: single-quoted where the shell would misread it."""
    risky = not word or word.startswith(("~", "#")) or not _METACHARACTERS.isdisjoint(word)
    return "'" + word.replace("'", "'\\''") + "'" if risky else word


def _find(text: str, mark: str, at: int) -> int:
    end = text.find(mark, at)
    return len(text) if end < 0 else end


def _closing(text: str, at: int) -> int:
    """Return the position behind the parenthesis that closes the one before `at`; the text's end without one."""
    depth = 1
    for match in _QUOTED_OR_PAREN.finditer(text, at):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
            if not depth:
                return match.end()
    return len(text) + 1
