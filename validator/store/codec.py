"""Stored bytes: their first ones tell which codec made them, and with which dictionary; read within a bound.

| first bytes | what |
|---|---|
| `28 b5 2f fd` | a Zstandard frame, which names its dictionary (`dictionaries/NUMBER.zdict`; 0: none) and its length |
| `50 2a 4d 18` | four bytes with a length, and a document as it is: in memory alone, where nothing damages it |
| `44` | eight bytes with the number of a round, and a frame of what differs from a document or attestations of it |

A dictionary that was released never changes; a better one is a file with the next number.
"""

import threading
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import zstandard

from validator.protocol.text import printable
from validator.store.errors import DamagedError

DICTIONARY: Final = 1  # that new documents are compressed with
LEVEL: Final = 3  # of what is compressed while somebody waits
MOST: Final = 256 * 1024 * 1024  # bytes of one document; damage may claim any number
_FOLDER: Final = Path(__file__).parent / "dictionaries"
_FRAME: Final = zstandard.FRAME_HEADER  # how every frame begins
_AS_IT_IS: Final = b"\x50\x2a\x4d\x18"  # of a frame that Zstandard skips
_LENGTH: Final = 4  # bytes
_SMALL_WINDOW: Final = 10  # log2 bytes: the least that Zstandard takes
_AFTER: Final = b"D"
_NUMBER: Final = 8  # bytes
_mine = threading.local()  # a compressor serves one thread at a time


def compressed(data: bytes, level: int = LEVEL) -> bytes:
    """Return `data` as it is stored: a frame of the newest dictionary, with a checksum."""
    known: dict[int, zstandard.ZstdCompressor] | None = getattr(_mine, "compressors", None)
    if known is None:
        known = _mine.compressors = {}
    if level not in known:
        known[level] = zstandard.ZstdCompressor(level, dict_data=_dictionary(DICTIONARY), write_checksum=True)
    return known[level].compress(data)


def uncompressed(data: bytes) -> bytes:
    """Return `data` in a form that `expanded` reads and that costs nothing; for what is kept in memory."""
    return _AS_IT_IS + len(data).to_bytes(_LENGTH, "little") + data


def expanded(blob: bytes, most: int = MOST) -> bytes:
    """Return what was compressed.

    Args:
        blob: as it is stored.
        most: bytes; nothing larger is made.

    Raises:
        DamagedError: not what was compressed, larger than `most`, or of a dictionary that this program does not have.
    """
    if blob[: len(_FRAME)] == _FRAME:
        return _frame(blob, most)
    if blob[: len(_AS_IT_IS)] == _AS_IT_IS:
        return _as_it_is(blob, most)
    raise DamagedError("the first bytes are of no known form")


def expanded_size(blob: bytes) -> int:
    """Return how many bytes `expanded` would make of this, by what it says; its own length where it does not say."""
    if blob[: len(_FRAME)] != _FRAME:
        return len(blob)
    try:
        return zstandard.get_frame_parameters(blob).content_size
    except zstandard.ZstdError:
        return len(blob)


def stands_alone(blob: bytes) -> bool:
    """Whether these bytes look like what `compressed` or `uncompressed` made."""
    if blob[: len(_FRAME)] != _FRAME:
        return blob[: len(_AS_IT_IS)] == _AS_IT_IS
    try:
        return bool(zstandard.get_frame_parameters(blob).dict_id)
    except zstandard.ZstdError:
        return False


class Base(NamedTuple):
    """A document that others are stored as the difference from: the round whose it is, and its bytes."""

    round_id: int
    data: bytes


def stored_after(data: bytes, base: Base | None, level: int) -> bytes:
    """Return `data` as it is stored beside an earlier document, alone where there is none."""
    if base is None:
        return compressed(data, level)
    return _AFTER + base.round_id.to_bytes(_NUMBER) + compressed_after(data, base.data, level)


def base_of(blob: bytes) -> int | None:
    """Return the round whose document `expanded_beside` needs, None where it needs none."""
    return int.from_bytes(blob[len(_AFTER) :][:_NUMBER]) if blob.startswith(_AFTER) else None


def expanded_beside(blob: bytes, base: bytes, most: int = MOST) -> bytes:
    """Return what `stored_after` was given with the same `base`.

    Raises:
        DamagedError: as `expanded_after`.
    """
    return expanded_after(blob[len(_AFTER) + _NUMBER :], base, most)


def compressed_after(data: bytes, base: bytes, level: int) -> bytes:
    """Return `data` as what differs from `base`: `expanded_after` needs the same."""
    prefix = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    window = max(_SMALL_WINDOW, (len(base) + len(data)).bit_length())
    options = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=len(base) + len(data), window_log=window, write_checksum=True
    )
    return zstandard.ZstdCompressor(dict_data=prefix, compression_params=options).compress(data)


def expanded_after(blob: bytes, base: bytes, most: int = MOST) -> bytes:
    """Return what `compressed_after` was given with the same `base`.

    Raises:
        DamagedError: not what was compressed, another base, or larger than `most`.
    """
    return _expanded(blob, zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT), most)


def _frame(blob: bytes, most: int) -> bytes:
    try:
        number = zstandard.get_frame_parameters(blob).dict_id
    except zstandard.ZstdError as error:
        raise DamagedError(printable(str(error))) from None
    return _expanded(blob, _dictionary(number) if number else None, most)


def _as_it_is(blob: bytes, most: int) -> bytes:
    data = blob[len(_AS_IT_IS) + _LENGTH :]
    if len(data) > most:
        raise DamagedError(f"more than {most} bytes")
    if blob[len(_AS_IT_IS) :][:_LENGTH] != len(data).to_bytes(_LENGTH, "little"):
        raise DamagedError("cut short, or longer than it says")
    return data


def _expanded(blob: bytes, dictionary: zstandard.ZstdCompressionDict | None, most: int) -> bytes:
    try:
        size = zstandard.get_frame_parameters(blob).content_size
        if size > most:  # a frame without a length says the largest number
            raise DamagedError(f"more than {most} bytes, or nothing says how many")
        return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(blob, allow_extra_data=False)
    except (zstandard.ZstdError, MemoryError) as error:
        raise DamagedError(printable(str(error))) from None


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    try:
        data = (_FOLDER / f"{number}.zdict").read_bytes()
    except FileNotFoundError:
        raise DamagedError(f"made with dictionary {number}, which this program does not have") from None
    return zstandard.ZstdCompressionDict(data)
