"""JSON from strangers: bounded before it is parsed, closed schemas, no duplicate keys, at a linear cost (SPEC 2, 5).

The bounds are read off the bytes before anything is built from them: exact for JSON; of what is no JSON some answer, at
the same cost. Which fault is named when there are several: too many bytes, too deep, then no JSON or too many values or
what does not fit the types, and last a duplicate key. Stored reasons hang on this order: replay judges answers again.
"""

import json
from functools import lru_cache
from math import inf
from typing import Any, Final, TypeVar, cast

import jiter
import msgspec
from msgspec import inspect

from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_JSON_DEPTH, MAX_JSON_VALUES
from sssa.protocol.text import printable

_STRUCTURE: Final = b'"[]{},'
_OTHERS: Final = bytes(set(range(256)) - set(_STRUCTURE))
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_CHUNK: Final = 64 * 1024


def has_more_values(data: bytes, most: int) -> bool:
    """Return whether the document holds more than `most` values.

    Keys do not count; empty lists and objects count twice.

    Every value but the first is behind a comma or behind the bracket that opens a list or an object.
    """
    return len(data) >= most and _could_hold(data) > most and count_values(data) > most


def count_values(data: bytes) -> int:
    """Return the number of values, keys not counted and empty lists and objects counted twice."""
    return _could_hold(_outside_strings(data))


def count_strings(data: bytes) -> int:
    """Return the number of strings, keys among them."""
    return _without_escapes(data).count(b'"') // 2


def nesting_exceeds(data: bytes, depth: int) -> bool:
    """Return whether brackets outside strings open more than `depth` levels; the root is 1."""
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    rest = _outside_strings(data).translate(_BRACKETS, b",")
    for _ in range(depth):
        shorter = rest.replace(b"[]", b"")  # takes away the innermost level
        if len(shorter) == len(rest):
            break
        rest = shorter
    return b"[]" in rest or rest.count(b"[") > depth


def _could_hold(text: bytes) -> int:
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _outside_strings(data: bytes) -> bytes:
    """Return the brackets and commas that stand outside strings."""
    data = _without_escapes(data)
    # Two quotes without a bracket or comma between them change nothing about what is outside.
    marks = data.translate(None, _OTHERS).replace(b'""', b"")
    if b'"' not in marks:
        return marks
    kept, inside = [], 0
    for start in range(0, len(marks), _CHUNK):
        pieces = marks[start : start + _CHUNK].split(b'"')
        kept.append(b"".join(pieces[inside::2]))
        inside ^= len(pieces) % 2 == 0
    return b"".join(kept)


def _without_escapes(data: bytes) -> bytes:
    """Return the document without escaped quotes and backslashes: what quotes are left begin and end strings."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data


_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_SCALARS = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.LiteralType,
    inspect.EnumType,
)


@lru_cache(maxsize=256)
def deepest(kind: Any) -> float:
    """Return how deep a document of this type can nest at all: types without `Any` need no look at the brackets."""
    return _levels(typed.info(kind))


@lru_cache(maxsize=256)
def adds_no_strings(kind: Any) -> bool:
    """Return whether a value decoded to this type never encodes to more strings than the document had.

    Fields that may be left out would be written as well, and some types are written as strings that came as numbers.
    """
    return _adds_none(typed.info(kind))


def _levels(info: inspect.Type) -> float:
    if isinstance(info, _SCALARS):
        return 0
    match info:
        case inspect.UnionType(types=types):
            return max(map(_levels, types))
        case inspect.StructType(fields=fields, forbid_unknown_fields=True):
            inner = [field.type for field in fields]
        case inspect.DictType(value_type=value):
            inner = [value]
        case inspect.TupleType(item_types=items):
            inner = list(items)
        case _:
            inner = [info.item_type] if isinstance(info, _LISTS) else []
            if not inner:
                return inf
    return 1 + max(map(_levels, inner), default=0)


def _adds_none(info: inspect.Type) -> bool:
    if isinstance(info, (*_SCALARS, inspect.AnyType)):
        return True
    match info:
        case inspect.UnionType(types=types):
            return all(map(_adds_none, types))
        case inspect.StructType(fields=fields, tag=None, array_like=False):
            return all(field.required and _adds_none(field.type) for field in fields)
        case inspect.DictType(key_type=inspect.StrType(), value_type=value):
            return _adds_none(value)
        case inspect.TupleType(item_types=items):
            return all(map(_adds_none, items))
    return isinstance(info, _LISTS) and _adds_none(info.item_type)


T = TypeVar("T")
_DUPLICATE = "Detected duplicate key "
# msgspec takes microseconds for a number such as 5e-324. A few are nothing; jiter takes them all at one price.
_DEAR_NUMBERS = 4_096


class JsonError(ValidatorError):
    """Not the JSON document that was expected."""


class TooLargeError(JsonError):
    """The document is larger than its limit."""


class TooDeepError(JsonError):
    """The document is nested too deeply."""


class DuplicateKeyError(JsonError):
    """An object has the same key twice."""


class SchemaError(JsonError):
    """The document does not have the required form."""


def decode(data: bytes, kind: type[T], *, limit: int, depth: int = MAX_JSON_DEPTH, values: int = MAX_JSON_VALUES) -> T:
    """Return the document in `data` as a `kind`, or say why it is none. Costs are linear in the bytes.

    Args:
        data: UTF-8 JSON, one document, nothing after it.
        kind: a msgspec struct (or anything msgspec decodes to), of no recursive type.
        limit: most bytes accepted.
        depth: deepest nesting accepted; the root is 1.
        values: most values accepted, lists and objects included (empty ones count twice), keys not.

    Raises:
        TooLargeError, TooDeepError, SchemaError, DuplicateKeyError: all of them `JsonError`; the text names the field.
    """
    if len(data) > limit:
        raise TooLargeError(f"{len(data)} bytes, at most {limit}")
    crowded = has_more_values(data, values)
    if (crowded or deepest(cast("Any", kind)) > depth) and nesting_exceeds(data, depth):
        raise TooDeepError(f"more than {depth} levels")
    if crowded:
        raise SchemaError(f"more than {values} values")
    try:
        value = _decode(data, kind)
    except (SchemaError, msgspec.MsgspecError, RecursionError, ValueError, OverflowError) as error:
        if isinstance(error, RecursionError) or nesting_exceeds(data, depth):
            raise TooDeepError(f"more than {depth} levels") from None
        raise error if isinstance(error, SchemaError) else SchemaError(printable(str(error))) from None
    if not _kept_every_key(data, kind, value):
        parse_untyped(data)
    return value


def decode_plain(data: bytes, *, limit: int, depth: int = MAX_JSON_DEPTH, values: int = MAX_JSON_VALUES) -> Any:
    """Return the document as plain JSON data; same checks and errors as `decode`."""
    return decode(data, Any, limit=limit, depth=depth, values=values)


def require_room(document: Any, most: int, place: str = "") -> None:
    """Raise TooLargeError, naming the place, if a document's canonical bytes are more than `most` (D-44)."""
    size = len(canonical_bytes(document))
    if size > most:
        raise TooLargeError(f"{size} canonical bytes, at most {most}" + (f" - at `{place}`" if place else ""))


def parse_untyped(data: bytes) -> Any:
    """Return the plain JSON in `data`: no duplicate keys, but numbers beyond a double's range are infinities.

    Size, values and depth are the caller's to bound; beyond 200 levels it is no document.

    Raises:
        DuplicateKeyError: an object has a key twice, however the two are escaped.
        SchemaError: no JSON in UTF-8, or a whole number of more than 4,300 digits.
    """
    return _parse(data, unique=True)


def _kept_every_key(data: bytes, kind: Any, value: Any) -> bool:
    """Return whether the decoded value proves that no object repeats a key, without a second parse."""
    written = msgspec.json.encode(value)
    return written == data or (adds_no_strings(kind) and count_strings(written) == count_strings(data))


def _parse(data: bytes, *, unique: bool) -> Any:
    try:
        return jiter.from_json(data, allow_inf_nan=False, cache_mode="keys", catch_duplicate_keys=unique)
    except ValueError as error:
        message = str(error)
    if message.startswith(_DUPLICATE):
        key = message.removeprefix(_DUPLICATE).rpartition(" at line ")[0]
        raise DuplicateKeyError(printable(key.removeprefix('"').removesuffix('"'), 60))
    raise SchemaError(printable(message))


def _decode(data: bytes, kind: type[T]) -> T:
    few = len(data) <= _DEAR_NUMBERS * len("5e-9")
    if few or data.count(b"e-") + data.count(b"E-") <= _DEAR_NUMBERS:
        return typed.decode(data, kind)
    plain = _parse(data, unique=False)
    for _ in json.JSONEncoder(allow_nan=False).iterencode(plain):
        pass
    return typed.convert(plain, kind)
