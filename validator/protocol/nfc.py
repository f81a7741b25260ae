"""Unicode normal form C at a linear cost."""

import re
import unicodedata
from functools import cache

_RUN = 16  # marks in a row; shorter runs unicodedata puts in order fast enough
_LAST = 0x1FFFF  # in the planes behind are ideographs, tags and what is private, and no marks


def nfc(text: str) -> str:
    """Return `unicodedata.normalize("NFC", text)`; alone that takes quadratic time to order a long run of marks."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _long_runs().sub(_in_order, text) if len(text) >= _RUN else text)


def _in_order(run: re.Match[str]) -> str:
    marks = "".join(unicodedata.normalize("NFD", mark) for mark in run[0])
    return "".join(sorted(marks, key=unicodedata.combining))


@cache
def _long_runs() -> re.Pattern[str]:
    """Return what finds long runs of characters that may change places: those that decompose to a mark first."""
    marks = [
        code for code in range(0x300, _LAST + 1) if unicodedata.combining(unicodedata.normalize("NFD", chr(code))[0])
    ]
    return re.compile(f"[{''.join(map(chr, marks))}]{{{_RUN},}}")
