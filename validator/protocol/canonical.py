"""RFC 8785 bytes (JSON canonicalisation) and digests over them."""

import hashlib
from enum import StrEnum
from math import isfinite
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_SAFE_INTEGER
from validator.protocol.written import deciding, deciding_fields, is_plain, shallow

_MOST_KEYS = 64  # msgspec sorts in quadratic time what is in order already
_SORTED = msgspec.json.Encoder(order="sorted")
# msgspec writes floats from 1e-5 to 1e16 without an exponent, ECMAScript those from 1e-6 to 1e21.
_EXPONENT_BELOW, _FIXED_FROM, _FIXED_BELOW, _EXPONENT_FROM = 1e-6, 1e-5, 1e16, 1e21


class NotCanonicalError(ValidatorError):
    """A value has no RFC 8785 form."""


class _OtherwiseError(Exception):
    """msgspec would put something in another order, or only its own encoder knows how it is written."""


def canonical_bytes(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value` (a msgspec struct or plain JSON data).

    Raises:
        NotCanonicalError: an integer outside ±(2**53 - 1), a NaN or infinity, a lone surrogate, a key that is no
            string.
    """
    try:
        return _SORTED.encode(value if _msgspec_agrees(value) else _rewritten(value))
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error
    except _OtherwiseError:
        return canonical_plain(msgspec.to_builtins(value))


def canonical_with(document: Struct, field: str, instead: dict[str, str]) -> bytes:
    """Return the RFC 8785 bytes of a document that has such an object of texts in place of one of its fields.

    Raises:
        NotCanonicalError: see `canonical_bytes`.
    """
    fields = shallow(document) | {field: instead}
    try:
        return _SORTED.encode(fields) if _msgspec_agrees(document) else canonical_bytes(fields)
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def canonical_plain(plain: Any) -> bytes:
    """Return the RFC 8785 bytes of plain JSON data; see `canonical_bytes`, which takes structs as well."""
    try:
        return _SORTED.encode(plain) if _msgspec_agrees(plain) else msgspec.json.encode(_prepared(plain))
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the lower-case hex sha256 of the value's canonical bytes."""
    return sha256_hex(canonical_bytes(value))


def _msgspec_agrees(value: Any) -> bool:
    """Whether msgspec's sorted encoding is RFC 8785's (a property test holds this). Strings they always write alike."""
    containers: list[Any] = [(value,)]
    for container in containers:  # grows on the way
        if type(container) is dict and not _sorts_alike(container):
            return False
        for one in container.values() if type(container) is dict else container:
            kind: Any = type(one)
            if kind is str or one is None or kind is bool or one is UNSET:
                continue
            if kind is dict or kind is list or kind is tuple:
                containers.append(one)
            elif isinstance(one, Struct) and is_plain(kind):
                containers.append(deciding(kind)(one))
            elif kind is int or kind is float:
                if not _written_alike(one):
                    return False
            elif not isinstance(one, StrEnum):
                return False
    return True


def _rewritten(value: Any) -> Any:
    """Return a copy of what msgspec writes otherwise, for its sorted encoder; what it writes alike may stay."""
    kind: Any = type(value)
    if kind is str or value is None or kind is bool or isinstance(value, StrEnum):
        return value
    if kind is float or kind is int:
        return _number_alike(value)
    if kind is dict:
        if not _sorts_alike(value):
            raise _OtherwiseError
        return {name: _rewritten(one) for name, one in value.items()}
    if kind is tuple or kind is list:
        return [_rewritten(one) for one in value]
    if isinstance(value, Struct) and is_plain(kind):
        named = [(name, getattr(value, name)) for name in deciding_fields(kind)]
        changed = {name: _rewritten(one) for name, one in named if one is not UNSET}
        return shallow(value) | changed if changed else value
    raise _OtherwiseError


def _sorts_alike(keys: dict[Any, Any]) -> bool:
    """Whether msgspec may sort the keys: code points and UTF-16 units order them alike below the surrogates."""
    if len(keys) > _MOST_KEYS:
        return False
    try:
        text = "".join(keys)
    except TypeError:
        return False
    return text.isascii() or max(text) < "\ud800"


def _written_alike(value: float) -> bool:
    if isinstance(value, int):
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    size = abs(value)
    return (_FIXED_FROM <= size < _FIXED_BELOW or 0.0 < size < _EXPONENT_BELOW) and not value.is_integer()


def _prepared(plain: Any) -> Any:
    """Return `plain` with keys in order and everything written that msgspec would write in another way."""
    if isinstance(plain, str):
        return plain
    if isinstance(plain, (int, float)):
        return _number_alike(plain)
    if isinstance(plain, dict):
        return {key: _prepared(plain[key]) for key in _in_order(plain)}
    if isinstance(plain, (list, tuple)):
        return [_prepared(value) for value in plain]
    return plain


def _in_order(keys: dict[Any, Any]) -> list[Any]:
    try:
        plain = "".join(keys).isascii()
    except TypeError:
        plain = False
    return sorted(keys) if plain else sorted(keys, key=_utf16_units)


def _utf16_units(key: Any) -> bytes:
    if not isinstance(key, str):
        raise NotCanonicalError("a key that is no string")
    return key.encode("utf-16-be")


def _number_alike(value: float) -> Any:
    if _written_alike(value):
        return value
    if isinstance(value, int):
        raise NotCanonicalError("an integer outside ±(2**53 - 1)")
    return _number(value)


def _number(value: float) -> Any:
    """Return the float as ECMAScript writes it: Python finds the same digits and may place the point otherwise."""
    size = abs(value)
    if size <= MAX_SAFE_INTEGER and value.is_integer():
        return int(value)
    if not isfinite(value):
        raise NotCanonicalError(f"{value} is no number of JSON")
    written = repr(size)
    if size < _FIXED_FROM:  # x.ye-06
        written = "0.00000" + written[:-4].replace(".", "")
    elif size < _FIXED_BELOW:
        written = written.removesuffix(".0")
    elif size < _EXPONENT_FROM:  # x.ye+16 to x.ye+20
        written = written[:-4].replace(".", "").ljust(int(written[-2:]) + 1, "0")
    return msgspec.Raw((written if value > 0 else f"-{written}").encode())
