"""Words and patterns: how texts are compared with a task's reference (SPEC 12)."""

import re
from typing import Final, Protocol, cast

import re2

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable

_WORD: Final = re.compile(r"[0-9a-z]+")
_PATTERN_MEMORY: Final = 1024 * 1024  # bytes of a compiled pattern


class PatternError(ValidatorError):
    """Not a pattern of RE2's syntax, or too large a one."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object | None:
        """Return the first match, None without one."""


def words(text: str) -> list[str]:
    """Return the words of ROUGE: runs of ASCII letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def compile_pattern(pattern: str) -> Pattern:
    """Return `pattern` ready to search, case-insensitively, in time linear in the text.

    RE2 has neither backtracking nor time-outs: the same text gives the same answer on every machine.

    Raises:
        PatternError: backreferences and look-around are not in RE2's syntax.
    """
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        return cast("Pattern", re2.compile(pattern, options))
    except re2.error as error:
        raise PatternError(f"not an RE2 pattern: {printable(_said(error))}") from None


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
