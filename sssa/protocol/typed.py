"""Decoding of JSON and plain values to msgspec types; everything that decodes a struct calls it, in any thread.

msgspec makes what it knows of a struct when the struct is first decoded, and another thread that decodes it meanwhile
finds that half made: the process dies (SIGSEGV). So it is made here, one type at a time, before anything is decoded.
"""

import threading
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")
_making: Final = threading.Lock()
_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


def decode(data: bytes | str, kind: type[T]) -> T:
    """Return the JSON in `data` as a `kind` (msgspec.MsgspecError: no JSON, or no such document)."""
    decoded: T = _decoder(kind).decode(data)
    return decoded


def convert(plain: Any, kind: type[T], *, strict: bool = True) -> T:
    """Return a plain value as a `kind` (msgspec.ValidationError: it is none); not `strict`: numbers may be texts."""
    _decoder(kind)
    return msgspec.convert(plain, kind, strict=strict)


def info(kind: Any) -> inspect.Type:
    """Return what msgspec knows of a type (TypeError: nothing could be decoded to it)."""
    with _making:
        return inspect.type_info(kind)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(kind)
    if decoder is None:
        with _making:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder
