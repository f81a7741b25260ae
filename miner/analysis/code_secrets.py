"""Secrets in texts that code spells out: whole, packed, backwards, in addresses, as passwords.

`secret_scan.py` reads lines; this reads the values that an analysis of code has put together.
"""

import base64
import binascii
import re
from typing import Final

from miner.analysis.secret_scan import secrets_in
from miner.analysis.source import SourceFile

ASSEMBLED: Final = "A secret is put together here from pieces."
PACKED: Final = "A packed text holds a secret."
IN_ADDRESS: Final = "An address holds a password."
PASSWORD: Final = "A password is written into the code."  # noqa: S105 - a description

_LONGEST: Final = 400  # characters of a text that is looked at
_SHORTEST: Final = 14
_PLAIN: Final = re.compile(r"[!-~]{12,400}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}){12,}")
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>$]{0,64}:([^@\s/\"'<>${}]{6,200})@[\w.-]", re.IGNORECASE
)
_NAME: Final = re.compile(r"(?i)passw|passphrase|passcode|(?:^|[_-])(?:pwd|pass|pw)$|^(?:pwd|pass)|secret|credential")
_PLACEHOLDER: Final = re.compile(
    r"(?i)example|change.?me|placeholder|your|xxxx|dummy|todo|\.\.\.|sample|password\d{0,3}$|passwd$|secret$|^pass"
    r"|redacted|\*\*\*|^(?:none|null|true|false|undefined|string)"
)
_CLASSES: Final = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"), re.compile(r"[^A-Za-z0-9_\-\s./]"))
_MIN_CLASSES: Final = 3


def is_secret(text: str) -> bool:
    """Whether a text has the form of a token or key, as a name that says secret would have it."""
    if not _SHORTEST <= len(text) <= _LONGEST or _PLAIN.fullmatch(text) is None or '"' in text:
        return False
    return next(secrets_in(SourceFile("text", f'token = "{text}"'.encode())), None) is not None


def is_packed(text: str) -> bool:
    """Whether a text is hex or base64 of a secret, or one backwards."""
    if not _SHORTEST <= len(text) <= _LONGEST:
        return False
    plain = _unpacked(text)
    if plain is not None:
        user, _, password = plain.rpartition(":")
        return is_secret(plain) or (bool(user) and is_password(password))
    return next(secrets_in(SourceFile("text", text[::-1].encode())), None) is not None


def _unpacked(text: str) -> str | None:
    """Return what a text is hex or base64 of, if that can be read."""
    try:
        if _HEX.fullmatch(text):
            plain = bytes.fromhex(text)
        elif _BASE64.fullmatch(text):
            plain = base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))
        else:
            return None
        decoded = plain.decode("ascii").strip()
    except (binascii.Error, ValueError):
        return None
    return decoded if _PLAIN.fullmatch(decoded) else None


def has_password(text: str) -> bool:
    """Whether a text has an address with a password in it."""
    held = [match[1] for match in _ADDRESS.finditer(text[:_LONGEST])]
    return any(not _PLACEHOLDER.search(password) and not password.isalpha() for password in held)


def is_password(text: str) -> bool:
    """Whether a text is of the form of a password that people choose, or of one that was drawn."""
    plain = 8 <= len(text) <= 64 and _PLAIN_PASSWORD.fullmatch(text) is not None  # noqa: PLR2004 - as passwords are
    return plain and not _PLACEHOLDER.search(text) and sum(bool(one.search(text)) for one in _CLASSES) >= _MIN_CLASSES


def names_password(name: str) -> bool:
    """Whether a name says that its value is a password."""
    return _NAME.search(name) is not None


_PLAIN_PASSWORD: Final = re.compile(r"[!#%&()*+,\-./0-9:;=?@A-Z\[\]^_a-z|~]+")
