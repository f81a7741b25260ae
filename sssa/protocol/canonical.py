"""RFC 8785 bytes (JSON canonicalisation) and digests over them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from math import isfinite
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType, inspect

from sssa.protocol import typed
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_SAFE_INTEGER

_TEXTS = (inspect.NoneType, inspect.BoolType, inspect.StrType, inspect.EnumType)
_SEQUENCES = (inspect.ListType, inspect.VarTupleType)


@cache
def is_plain(kind: type[Struct]) -> bool:
    """Return whether documents of this class encode as objects of all set fields under their own names.

    A tag is one more field.
    """
    config = kind.__struct_config__
    own_names = kind.__struct_fields__ == kind.__struct_encode_fields__
    return own_names and not config.array_like and not config.omit_defaults


def shallow(document: Struct) -> dict[str, Any]:
    """Return a document's fields: as they are where it is plain, else as they are written."""
    kind = type(document)
    if not is_plain(kind) or kind.__struct_config__.tag is not None:
        fields: dict[str, Any] = msgspec.to_builtins(document)
        return fields
    fields = msgspec.structs.asdict(document)
    if _may_be_unset(kind):
        return {name: value for name, value in fields.items() if value is not UNSET}
    return fields


@cache
def deciding(kind: type[Struct]) -> Callable[[Struct], tuple[Any, ...]]:
    """Return a function that extracts the deciding parts of a document of this plain class."""
    described = _struct(kind)
    paths = kind.__struct_fields__ if described is None else tuple(_paths(described, ""))
    if not paths:
        return lambda _: ()
    taken = attrgetter(*paths)
    return taken if len(paths) > 1 else lambda document: (taken(document),)


def _struct(kind: type[Struct]) -> inspect.StructType | None:
    """Return msgspec's description of a class; None for one that is never decoded to."""
    try:
        described = typed.info(kind)
    except TypeError:
        return None
    return described if isinstance(described, inspect.StructType) else None


def _paths(info: inspect.StructType, within: str) -> Iterator[str]:
    """Yield the dotted paths of the deciding parts, down to where a document has several forms or may have nothing."""
    for field in info.fields:
        path = within + field.name
        if field.required and isinstance(field.type, inspect.StructType) and is_plain(field.type.cls):
            yield from _paths(field.type, f"{path}.")
        elif _decides(field.type):
            yield path


def _decides(info: inspect.Type) -> bool:
    if isinstance(info, _SEQUENCES):
        return _decides(info.item_type)
    match info:
        case inspect.UnionType(types=types):
            return any(map(_decides, types))
        case inspect.LiteralType(values=values):
            return not all(isinstance(value, str) for value in values)
        case inspect.StructType(cls=cls, fields=fields):
            return not is_plain(cls) or any(_decides(field.type) for field in fields)
    return not isinstance(info, _TEXTS)


@cache
def _may_be_unset(kind: type[Struct]) -> bool:
    return any(default is UNSET for default in kind.__struct_defaults__)


_MOST_KEYS = 64  # msgspec sorts in quadratic time what is in order already
_SORTED = msgspec.json.Encoder(order="sorted")
# msgspec writes floats from 1e-5 to 1e16 without an exponent, ECMAScript those from 1e-6 to 1e21.
_EXPONENT_BELOW, _FIXED_FROM, _FIXED_BELOW, _EXPONENT_FROM = 1e-6, 1e-5, 1e16, 1e21

_ALIKE: Final = frozenset((str, bool, type(None), UnsetType))  # classes of what both write alike
_ENDS = (b",", b"]", b"}")  # what may follow a number
_FRACTIONS = tuple(b".0" + end for end in _ENDS)


class NotCanonicalError(ValidatorError):
    """A value has no RFC 8785 form."""


class _OtherwiseError(Exception):
    """msgspec would put something in another order, or write it in another way than with a fraction of zero."""


def canonical_bytes(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value` (a msgspec struct or plain JSON data).

    Raises:
        NotCanonicalError: an integer outside ±(2**53 - 1), a NaN or infinity, a lone surrogate, a key that is no
            string.
    """
    try:
        return _SORTED.encode(value) if type(value) in _ALIKE else _written(value, _fractions_of_zero(value))
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error
    except _OtherwiseError:
        return canonical_plain(msgspec.to_builtins(value))


def canonical_with(document: Struct, field: str, texts: dict[str, str]) -> bytes:
    """Return the RFC 8785 bytes of a document that has such an object of texts in place of one of its fields.

    Raises:
        NotCanonicalError: see `canonical_bytes`.
    """
    fields = shallow(document) | {field: texts}
    try:
        return _written(fields, _fractions_of_zero(document) - _fractions_of_zero(getattr(document, field)))
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error
    except _OtherwiseError:
        return canonical_bytes(fields)


def canonical_plain(plain: Any) -> bytes:
    """Return the RFC 8785 bytes of plain JSON data; see `canonical_bytes`, which takes structs as well."""
    try:
        try:
            return _written(plain, _fractions_of_zero(plain))
        except _OtherwiseError:
            return msgspec.json.encode(_prepared(plain))
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(str(error)) from error


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the lower-case hex sha256 of the value's canonical bytes."""
    return sha256_hex(canonical_bytes(value))


def _fractions_of_zero(value: Any) -> int:
    """Return how many numbers msgspec's sorted encoding writes with a fraction of zero, which RFC 8785 does not.

    Texts they always write alike (property tests hold it).

    Raises:
        _OtherwiseError: the encoding is another one beyond that.
    """
    count = 0
    containers: list[Any] = [(value,)]
    for container in containers:  # grows on the way
        for one in container if type(container) is not dict else _values(container):
            kind = type(one)
            if kind in _ALIKE:
                continue
            if kind is float and (_FIXED_FROM <= one <= MAX_SAFE_INTEGER or one == 0):
                count += one.is_integer()  # nearly all numbers: a call for each takes longer than all else
            elif kind is float or kind is int:
                count += _has_fraction_of_zero(one)
            else:
                containers.append(one if kind is dict or kind is list else _parts(one))
    return count


def _values(keyed: dict[Any, Any]) -> Iterable[Any]:
    if not _sorts_alike(keyed):
        raise _OtherwiseError
    return keyed.values()


def _parts(value: Any) -> Sequence[Any]:
    """Return the parts that decide how any other value is written."""
    kind: Any = type(value)
    if isinstance(value, Struct) and is_plain(kind):
        return deciding(kind)(value)
    if isinstance(value, tuple):  # one with names as well
        return value
    if isinstance(value, StrEnum):
        return ()
    raise _OtherwiseError


def _has_fraction_of_zero(value: float) -> bool:
    size = abs(value)
    if isinstance(value, int) or value.is_integer():
        if size > MAX_SAFE_INTEGER:
            raise _OtherwiseError
        return isinstance(value, float)
    if not _pointed_alike(size):
        raise _OtherwiseError
    return False


def _written(value: Any, fractions_of_zero: int) -> bytes:
    """Return the bytes with numbers like `1.0` and `-0.0` as ECMAScript writes them; there are so many of them."""
    data = _SORTED.encode(value)
    if not fractions_of_zero:
        return data
    whole = _whole_numbers(data)
    if len(data) - len(whole) == fractions_of_zero * len(".0") and b"-0.0" not in data:
        return whole
    return _outside_texts(data)


def _outside_texts(data: bytes) -> bytes:
    """Return `_whole_numbers` of JSON with texts that look like numbers, which stay as they are."""
    escaped = b"\\" in data
    if escaped:  # no byte of UTF-8 is one of these two
        data = data.replace(b"\\\\", b"\xff").replace(b'\\"', b"\xfe")
    parts = data.split(b'"')
    outside = _whole_numbers(b'"'.join(parts[::2])) + b","
    for end in _ENDS:
        outside = outside.replace(b"-0" + end, b"0" + end)
    parts[::2] = outside[:-1].split(b'"')
    data = b'"'.join(parts)
    return data.replace(b"\xfe", b'\\"').replace(b"\xff", b"\\\\") if escaped else data


def _whole_numbers(data: bytes) -> bytes:
    for fraction, end in zip(_FRACTIONS, _ENDS, strict=True):
        data = data.replace(fraction, end)
    return data.removesuffix(b".0")


def _sorts_alike(keys: dict[Any, Any]) -> bool:
    """Return whether msgspec may sort the keys: below the surrogates, code points and UTF-16 units sort alike."""
    if len(keys) > _MOST_KEYS:
        return False
    try:
        text = "".join(keys)
    except TypeError:
        return False
    return text.isascii() or max(text) < "\ud800"


def _prepared(plain: Any) -> Any:
    """Return `plain` with keys in order and everything written that msgspec would write in another way."""
    if isinstance(plain, str):
        return plain
    if isinstance(plain, int):
        return _whole(plain)
    if isinstance(plain, float):
        return _number(plain)
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


def _pointed_alike(size: float) -> bool:
    """Return whether msgspec writes point and exponent of a fractional number as ECMAScript does."""
    return _FIXED_FROM <= size < _FIXED_BELOW or size < _EXPONENT_BELOW


def _whole(value: int) -> int:
    if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    raise NotCanonicalError("an integer outside ±(2**53 - 1)")


def _number(value: float) -> Any:
    """Return the float as ECMAScript writes it: Python finds the same digits and may place the point otherwise."""
    size = abs(value)
    if value.is_integer():
        if size <= MAX_SAFE_INTEGER:
            return int(value)
    elif _pointed_alike(size):
        return value
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
