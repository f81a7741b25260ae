"""RFC 8785 bytes (JSON canonicalisation) and digests over them."""

import hashlib
from typing import Any

import msgspec
import rfc8785

from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_SAFE_INTEGER

_SORTED = msgspec.json.Encoder(order="sorted")
# Between these msgspec and ECMAScript write a non-integral float alike.
_FLOAT_LOW, _FLOAT_HIGH = 1e-5, 1e16


class NotCanonicalError(ValidatorError):
    """A value has no RFC 8785 form."""


def canonical_bytes(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value` (a msgspec struct or plain JSON data).

    Raises:
        NotCanonicalError: an integer outside ±(2**53 - 1), a NaN or infinity, a lone surrogate, a key that is no
            string.
    """
    plain = msgspec.to_builtins(value)
    if _msgspec_agrees(plain):
        return _SORTED.encode(plain)
    try:
        return rfc8785.dumps(plain)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the lower-case hex sha256 of the value's canonical bytes."""
    return sha256_hex(canonical_bytes(value))


def _msgspec_agrees(value: Any) -> bool:
    """Whether msgspec's sorted encoding of `value` is certain to equal RFC 8785's (a property test holds this)."""
    if isinstance(value, str):
        return value.isascii() and value.isprintable()
    if isinstance(value, dict):
        return all(isinstance(k, str) and _msgspec_agrees(k) and _msgspec_agrees(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(_msgspec_agrees, value))
    if isinstance(value, float):
        return _FLOAT_LOW < abs(value) < _FLOAT_HIGH and not value.is_integer()
    if isinstance(value, int):
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    return value is None
