"""Text as it is shown: escaped where it is from outside, shortened, counted; Unicode normal form C at a linear cost."""

import re
import threading
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final, NamedTuple

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str, limit: int = 200) -> str:
    r"""Return `text` as one harmless line of at most `limit` code points.

    Control, format (right-to-left marks among them), surrogate, private and unassigned code points and line
    separators are written as `\\uXXXX`; what is longer ends in an ellipsis.
    """
    begin = text[:limit]
    if begin.isascii() and begin.isprintable():
        return begin if len(text) <= limit else begin + "…"
    shown = "".join(c if unicodedata.category(c) not in _UNSAFE else f"\\u{ord(c):04x}" for c in begin)
    return shown if len(text) <= limit else shown + "…"


def all_printable(texts: Iterable[str], limit: int = 200) -> list[str]:
    """Return what `printable` makes of each text."""
    return [printable(text, limit) for text in texts]


def cut(text: str, limit: int) -> str:
    """Return the first `limit` code points of `text`; what is longer ends in an ellipsis."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def is_text(content: bytes) -> bool:
    """Return whether the content is text: UTF-8 without a NUL."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content


_RUN = 16  # marks in a row; shorter runs unicodedata puts in order fast enough
_LAST = 0x1FFFF  # in the planes behind are ideographs, tags and what is private, and no marks


def nfc(text: str) -> str:
    """Return `unicodedata.normalize("NFC", text)`; alone that takes quadratic time to order a long run of marks."""
    if text.isascii():
        return text
    # Every long run has a character at one of these places; to look at all of them costs eighty times the rest.
    if len(text) >= _RUN and _long_runs().mark.search(text[_RUN - 1 :: _RUN]):
        text = _long_runs().run.sub(_in_order, text)
    return unicodedata.normalize("NFC", text)


def _in_order(run: re.Match[str]) -> str:
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])
    return "".join(sorted(marks, key=unicodedata.combining))


class _MarkPatterns(NamedTuple):
    """Patterns that find one mark, and a long run of marks."""

    mark: re.Pattern[str]
    run: re.Pattern[str]


@cache
def _long_runs() -> _MarkPatterns:
    """Return what finds long runs of characters that may change places: those that decompose to a mark first."""
    spans: list[list[int]] = []  # a set of characters one by one costs three times as much
    for code in range(0x300, _LAST + 1):
        if unicodedata.combining(unicodedata.normalize("NFD", chr(code))[0]):
            if spans and spans[-1][-1] == code - 1:
                spans[-1][-1] = code
            else:
                spans.append([code, code])
    marks = "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)
    return _MarkPatterns(re.compile(f"[{marks}]"), re.compile(f"[{marks}]{{{_RUN},}}"))


_compiling: Final = threading.Lock()  # catch_warnings changes the whole process


@contextmanager
def quietly() -> Iterator[None]:
    """Let Python's compiler read what strangers wrote without a warning."""
    with _compiling, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_SHORT: Final = 8


def short(hotkey: str, length: int = _SHORT) -> str:
    """Return the first characters of a hotkey, enough to tell the members of a group apart."""
    return hotkey if len(hotkey) <= length + 1 else cut(hotkey, length)


def count(number: int, what: str) -> str:
    """Return `1 finding`, `2 findings`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def plain(number: float) -> str:
    """Return a constant or a factor as the specification writes it: without zeros that say nothing."""
    return f"{number:.4f}".rstrip("0").rstrip(".")
