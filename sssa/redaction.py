"""Redaction: the secrets that this process has read, and the function that removes them from text.

Secrets stay in memory. Settings and key files add them; the log and the CLI's error messages call `redact`.
"""

from itertools import chain
from typing import Final
from urllib.parse import quote, unquote

PIECE: Final = 5
"""Characters: no piece of a secret of this length is shown. Shorter ones occur in any text."""
_MASK: Final = "***"
_MOST: Final = 64  # secrets of one process; a test process reads more
_pieces: dict[str, frozenset[str]] = {}


def remember_secret(secret: str) -> None:
    """Keep a secret, as written and percent-decoded and -encoded, out of everything that `redact` returns."""
    if len(secret) < PIECE or secret in _pieces:
        return
    while len(_pieces) >= _MOST:
        del _pieces[next(iter(_pieces))]
    forms = {secret, unquote(secret), quote(secret, safe=""), repr(secret)[1:-1]}
    _pieces[secret] = frozenset(chain.from_iterable(map(_windows, forms)))


def remembered(secret: str) -> str:
    """Return a secret that `remember_secret` knows."""
    remember_secret(secret)
    return secret


def redact(text: str) -> str:
    """Return `text` with `***` in place of every piece of a known secret: a log line, a message or a traceback."""
    secrets = [piece for pieces in _pieces.values() for piece in pieces if piece in text]
    if not secrets:
        return text
    hidden = bytearray(len(text))
    for piece in secrets:
        start = text.find(piece)
        while start >= 0:
            hidden[start : start + len(piece)] = b"\1" * len(piece)
            start = text.find(piece, start + 1)
    shown: list[str] = []
    for i, character in enumerate(text):
        if not hidden[i]:
            shown.append(character)
        elif i == 0 or not hidden[i - 1]:
            shown.append(_MASK)
    return "".join(shown)


def _windows(text: str) -> set[str]:
    return {text[i : i + PIECE] for i in range(len(text) - PIECE + 1)}
