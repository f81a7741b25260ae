"""Tars as nearly all are: files with short plain names, one after the other.

Python's tarfile takes as long for a header as for everything else that is done with a small file.
"""

import re
from typing import Final, Literal, NamedTuple

_BLOCK: Final = 512
_NAME: Final = re.compile(rb"([\x20-\x7e]{1,100})\0*")
_NUMBERS: Final = re.compile(rb"(?:[0-7]{7}\0){3}([0-7]{11})\0[0-7]{11}\0([0-7]{6})\0 0\0{100}ustar\x0000")
_DEVICES: Final = re.compile(rb"(?:\0{8}|0{7}\0){2}\0")
_END: Final = bytes(_BLOCK)


class Entry(NamedTuple):
    """A file or something else: what it is called, and which bytes of the tar are its own."""

    name: str
    size: int
    offset: int
    kind: Literal["file", "folder", "other"] = "file"


def plain_files(tar: bytes | memoryview, most: int) -> list[Entry] | None:
    """Return what a tar holds, None where anything in it is not as plain: `tarfile` has to say what that is.

    Args:
        tar: not compressed; from its first block of zeros on it is not looked at.
        most: with more files than these it is not read on; one more is returned.
    """
    found: list[Entry] = []
    at = 0
    while at + _BLOCK <= len(tar):
        header = bytes(tar[at : at + _BLOCK])
        if header == _END:
            return found or None
        entry = _entry(header, at + _BLOCK)
        if entry is None:
            return None
        found.append(entry)
        if len(found) > most:
            return found
        at = entry.offset + -(-entry.size // _BLOCK) * _BLOCK
    return None


def _entry(header: bytes, offset: int) -> Entry | None:
    name, numbers = _NAME.fullmatch(header, 0, 100), _NUMBERS.fullmatch(header, 100, 265)
    if name is None or numbers is None or not _DEVICES.fullmatch(header, 329, 346):
        return None
    summed = header.translate(None, b"\0")  # most of it is zeros
    if int(numbers[2], 8) != sum(summed) - sum(header[148:156]) + 8 * ord(" "):
        return None
    return Entry(name[1].decode(), int(numbers[1], 8), offset)
