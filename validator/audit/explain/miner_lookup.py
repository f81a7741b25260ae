"""Whom an operator means: a hotkey in full, the beginning of one, or a uid."""

import string
from collections.abc import Iterable, Mapping
from typing import Final

from validator.kinds.explained.words import short
from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import is_hotkey
from validator.protocol.text import printable

_BASE58: Final = frozenset(string.digits + string.ascii_letters) - frozenset("0OIl")
_LONGEST_PREFIX: Final = 46  # an ss58 address has 47 or 48 characters
_SHOWN: Final = 5


class NotAMinerError(ValidatorError):
    """This names no hotkey."""


class AmbiguousMinerError(ValidatorError):
    """This names several hotkeys."""


def find_hotkey(text: str, uids: Mapping[int, str], known: Iterable[str]) -> str | None:
    """Return the hotkey that `text` means, None if nobody known is meant.

    Args:
        text: an ss58 address, the beginning of one, or a uid.
        uids: who held which uid at the time in question.
        known: every hotkey that the store knows.

    Raises:
        NotAMinerError: neither an address, nor the beginning of one, nor a uid.
        AmbiguousMinerError: several known hotkeys begin like this.
    """
    hotkeys = sorted({*known, *uids.values()})
    if text in hotkeys:
        return text
    if text.isascii() and text.isdecimal():
        return uids.get(int(text[:_SHOWN])) if len(text) <= _SHOWN else None
    if is_hotkey(text):
        return None
    if not text or len(text) > _LONGEST_PREFIX or not _BASE58.issuperset(text):
        raise NotAMinerError(
            f"`{printable(text, 80)}` is neither an ss58 address, nor the beginning of one, nor a uid; "
            "`validator miners list` shows all hotkeys"
        )
    found = [hotkey for hotkey in hotkeys if hotkey.startswith(text)]
    if len(found) > 1:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise AmbiguousMinerError(
            f"`{text}` begins {', '.join(short(hotkey, len(text) + 4) for hotkey in found[:_SHOWN])}{more}; "
            "write more of it"
        )
    return found[0] if found else None
