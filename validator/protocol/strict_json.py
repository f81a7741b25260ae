"""JSON from strangers: bounded in size and depth before it is parsed, closed schemas, no duplicate keys (SPEC 2, 5)."""

import json
import re
from typing import Any, TypeVar

import msgspec

from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_JSON_DEPTH
from validator.protocol.text import printable

T = TypeVar("T")
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_SORTED = msgspec.json.Encoder(order="sorted")


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


def decode(data: bytes, kind: type[T], *, limit: int, depth: int = MAX_JSON_DEPTH) -> T:
    """Return the document in `data` as a `kind`, or say why it is none.

    Args:
        data: UTF-8 JSON, one document, nothing after it.
        kind: a msgspec struct (or anything msgspec decodes to).
        limit: most bytes accepted.
        depth: deepest nesting accepted; the root is 1.

    Raises:
        TooLargeError, TooDeepError, SchemaError, DuplicateKeyError: all of them `JsonError`; the text names the field.
    """
    if len(data) > limit:
        raise TooLargeError(f"{len(data)} bytes, at most {limit}")
    if nesting_exceeds(data, depth):
        raise TooDeepError(f"more than {depth} levels")
    try:
        value = msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise TooDeepError(f"more than {depth} levels") from None
    except (msgspec.MsgspecError, UnicodeError, ValueError, OverflowError) as error:
        raise SchemaError(printable(str(error))) from None
    refuse_duplicate_keys(data)
    return value


def decode_plain(data: bytes, *, limit: int, depth: int = MAX_JSON_DEPTH) -> Any:
    """Return the document as plain JSON data; same checks and errors as `decode`."""
    return decode(data, Any, limit=limit, depth=depth)


def nesting_exceeds(data: bytes, depth: int) -> bool:
    """Whether brackets outside strings ever open more than `depth` deep."""
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    level = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        token = match.group() if match.end() - match.start() == 1 else b""
        if token in (b"[", b"{"):
            level += 1
            if level > depth:
                return True
        elif token:
            level -= 1
    return False


def refuse_duplicate_keys(data: bytes) -> None:
    """Raise DuplicateKeyError if any object of the (already valid) document repeats a key."""
    try:
        if _SORTED.encode(msgspec.json.decode(data)) == data:
            return
        json.loads(data, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise SchemaError(printable(str(error))) from None


def _unique(pairs: list[tuple[str, Any]]) -> None:
    keys = {key for key, _ in pairs}
    if len(keys) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise DuplicateKeyError(printable(twice, 60))
