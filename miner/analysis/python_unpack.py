"""Texts that are packed: whether a literal is one, and what a program that unpacks it gets."""

import base64
import binascii
import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable
from typing import Final

from miner.analysis.python_value import HOLE

_MAX_UNPACKED: Final = 4_096  # bytes of what is unpacked
_LONG_LITERAL: Final = 200  # characters


def unpacked(name: str, text: str) -> str:
    """Return what the decoder of this dotted name makes of a text; `HOLE` where it makes nothing of it."""
    raw = text.encode("latin-1", "replace")
    try:
        if name == "codecs.decode":
            return codecs.decode(text, "rot13") if text.isascii() else HOLE
        return _UNPACKERS[name](raw).decode("latin-1") if name in _UNPACKERS else HOLE
    except (ValueError, binascii.Error, zlib.error, OSError, lzma.LZMAError, EOFError, KeyError):
        return HOLE


_UNPACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "base64.b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.decodebytes": base64.decodebytes,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "bytes.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "bytearray.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64,
    "zlib.decompress": lambda raw: zlib.decompressobj().decompress(raw, _MAX_UNPACKED),
    "gzip.decompress": lambda raw: zlib.decompressobj(31).decompress(raw, _MAX_UNPACKED),
    "bz2.decompress": lambda raw: bz2.BZ2Decompressor().decompress(raw, _MAX_UNPACKED),
    "lzma.decompress": lambda raw: lzma.LZMADecompressor(memlimit=16 << 20).decompress(raw, _MAX_UNPACKED),
}


def is_blob(value: str | bytes) -> bool:
    """Whether a literal is long and encoded."""
    if len(value) < _LONG_LITERAL:
        return False
    raw = value.encode("ascii", "replace") if isinstance(value, str) else value
    if b" " in raw or b"\n" in raw.rstrip():
        return False
    try:
        return bool(base64.b64decode(raw.rstrip(), validate=True))
    except (binascii.Error, ValueError):
        return False
