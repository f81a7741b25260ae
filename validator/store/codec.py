"""Stored bytes: Zstandard frames that name their dictionary (`dictionaries/NUMBER.zdict`) and their length.

A dictionary that was released never changes; a better one is a file with the next number.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import zstandard

from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from sssa.protocol.text import printable
from validator.store.errors import DamagedError, UnstorableError

P = ParamSpec("P")
T = TypeVar("T")

DICTIONARY: Final = 1  # that new documents are compressed with
LEVEL: Final = 3  # of what is compressed while somebody waits
MOST: Final = 256 * 1024 * 1024  # bytes of one document; damage may claim any number
_FOLDER: Final = Path(__file__).parent / "dictionaries"
INLINE_LIMIT: Final = 64 * 1024  # bytes; below this a thread costs more than it saves
_SMALL_WINDOW: Final = 10  # log2 bytes: the least that Zstandard takes
_mine = threading.local()  # a compressor serves one thread at a time


def compressed(data: bytes, level: int = LEVEL) -> bytes:
    """Return `data` as it is stored: a frame of the newest dictionary, with a checksum."""
    known: dict[int, zstandard.ZstdCompressor] | None = getattr(_mine, "compressors", None)
    if known is None:
        known = _mine.compressors = {}
    if level not in known:
        known[level] = zstandard.ZstdCompressor(level, dict_data=_dictionary(DICTIONARY), write_checksum=True)
    return known[level].compress(data)


def expanded(blob: bytes, most: int = MOST) -> bytes:
    """Return what was compressed.

    Raises:
        DamagedError: not what was compressed, larger than `most` bytes, or of a dictionary that this program does not
            have.
    """
    return _expanded(blob, most, None)


def compressed_after(data: bytes, before: bytes, level: int) -> bytes:
    """Return `data` as a frame that refers to what was read before it: `expanded_after` needs the same."""
    size = len(before) + len(data)
    prefix = zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    options = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=size, window_log=max(_SMALL_WINDOW, size.bit_length()), write_checksum=True
    )
    return zstandard.ZstdCompressor(dict_data=prefix, compression_params=options).compress(data)


def expanded_after(blob: bytes, before: bytes) -> bytes:
    """Return what `compressed_after` was given with the same `before` (DamagedError: as `expanded`)."""
    return _expanded(blob, MOST, zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT))


def _expanded(blob: bytes, most: int, before: zstandard.ZstdCompressionDict | None) -> bytes:
    try:
        parameters = zstandard.get_frame_parameters(blob)
        if parameters.content_size > most:  # a frame without a length says the largest number
            raise DamagedError(f"more than {most} bytes, or nothing says how many")
        dictionary = _dictionary(parameters.dict_id) if parameters.dict_id else before
        return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(blob, allow_extra_data=False)
    except (zstandard.ZstdError, MemoryError) as error:
        raise DamagedError(printable(str(error))) from None


def expanded_size(blob: bytes) -> int:
    """Return how many bytes `expanded` would make of this, by what it says; its own length where it does not say."""
    try:
        return zstandard.get_frame_parameters(blob).content_size
    except zstandard.ZstdError:
        return len(blob)


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    try:
        data = (_FOLDER / f"{number}.zdict").read_bytes()
    except FileNotFoundError:
        raise DamagedError(f"made with dictionary {number}, which this program does not have") from None
    return zstandard.ZstdCompressionDict(data)


async def pack(data: bytes) -> bytes:
    """Return `data` compressed; much of it away from the event loop, as all that follows."""
    return await _run(len(data) > INLINE_LIMIT, compressed, data)


async def unpack(blob: bytes, sha256: str | None = None) -> bytes:
    """Return what `pack` packed, of this sha256 in hex where one is given (DamagedError: it is something else)."""
    return await _run(expanded_size(blob) > INLINE_LIMIT, _unpack, blob, sha256)


async def canonical(value: Any) -> tuple[bytes, str]:
    """Return the canonical bytes of a document and their sha256, hex (UnstorableError: it has no RFC 8785 form)."""
    return await asyncio.to_thread(_canonical, value)


async def _run(heavy: bool, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(function, *args, **kwargs) if heavy else function(*args, **kwargs)


def _unpack(blob: bytes, sha256: str | None) -> bytes:
    data = expanded(blob)
    if sha256 is not None and sha256_hex(data) != sha256:
        raise DamagedError(f"the bytes do not hash to {sha256}")
    return data


def _canonical(value: Any) -> tuple[bytes, str]:
    try:
        data = canonical_bytes(value)
    except NotCanonicalError as error:
        raise UnstorableError(error.detail) from None
    return data, sha256_hex(data)
