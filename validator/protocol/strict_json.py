"""JSON from strangers: bounded before it is parsed, closed schemas, no duplicate keys, at a linear cost (SPEC 2, 5).

Which fault is named when there are several: too many bytes, too deep, then no JSON or too many values or what does not
fit the types, and last a duplicate key. Stored reasons hang on this order: replay judges answers again.
"""

import json
from typing import Any, TypeVar, cast

import jiter
import msgspec

from validator.protocol import typed
from validator.protocol.canonical import canonical_bytes
from validator.protocol.errors import ValidatorError
from validator.protocol.json_shape import count_strings, has_more_values, nesting_exceeds
from validator.protocol.json_types import adds_no_strings, deepest
from validator.protocol.limits import MAX_JSON_DEPTH, MAX_JSON_VALUES
from validator.protocol.text import printable

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
    """Whether it can be seen without reading again that no object has a key twice: of two one is lost on the way."""
    written = msgspec.json.encode(value)
    return written == data or (adds_no_strings(kind) and count_strings(written) == count_strings(data))


def _parse(data: bytes, *, unique: bool) -> Any:
    try:
        return jiter.from_json(data, allow_inf_nan=False, cache_mode="keys", catch_duplicate_keys=unique)
    except ValueError as error:
        said = str(error)
    if said.startswith(_DUPLICATE):
        key = said.removeprefix(_DUPLICATE).rpartition(" at line ")[0]
        raise DuplicateKeyError(printable(key.removeprefix('"').removesuffix('"'), 60))
    raise SchemaError(printable(said))


def _decode(data: bytes, kind: type[T]) -> T:
    few = len(data) <= _DEAR_NUMBERS * len("5e-9")
    if few or data.count(b"e-") + data.count(b"E-") <= _DEAR_NUMBERS:
        return typed.decode(data, kind)
    plain = _parse(data, unique=False)
    for _ in json.JSONEncoder(allow_nan=False).iterencode(plain):
        pass
    return typed.convert(plain, kind)
