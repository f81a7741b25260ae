"""The files of a SQLite store after a cut of the power, made from a record of its writes and syncs.

What was synced exists. Of later writes each exists, is missing, or is torn: some of its sectors exist.
"""

import struct
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

HEAD = struct.Struct("=cc6xqq")  # operation, file, offset, length; as in write_recorder.c
WRITE, TRUNCATE, SYNC, ACKNOWLEDGED = b"w", b"t", b"s", b"a"
SECTOR = 512


class Operation(NamedTuple):
    """One operation on a file (`d` the database, `w` its log); of an acknowledgement `offset` is its number."""

    kind: bytes
    file: bytes
    offset: int
    length: int
    data: bytes


class Cut(NamedTuple):
    """The bytes of each file, and how many writes had been acknowledged."""

    files: dict[bytes, bytearray]
    acknowledged: int


def operations(record: bytes) -> list[Operation]:
    found, place = [], 0
    while place < len(record):
        kind, file, offset, length = HEAD.unpack_from(record, place)
        place += HEAD.size
        size = length if kind == WRITE else 0
        found.append(Operation(kind, file, offset, length, record[place : place + size]))
        place += size
    return found


def cuts(done: Sequence[Operation], places: Sequence[int], chance: Random) -> Iterator[Cut]:
    """Yield what a cut before each of the operations, in ascending order, leaves."""
    synced: dict[bytes, bytearray] = {b"d": bytearray(), b"w": bytearray()}
    unsynced: dict[bytes, list[Operation]] = {b"d": [], b"w": []}
    place = acknowledged = 0
    for until in places:
        for one in done[place:until]:
            if one.kind == ACKNOWLEDGED:
                acknowledged = one.offset + 1
            elif one.kind == SYNC:
                for earlier in unsynced[one.file]:
                    _apply(synced[one.file], earlier)
                unsynced[one.file].clear()
            else:
                unsynced[one.file].append(one)
        place = until
        files = {name: bytearray(data) for name, data in synced.items()}
        for name, waiting in unsynced.items():
            for one in waiting:
                _apply_some(files[name], one, chance)
        yield Cut(files, acknowledged)


def _apply_some(data: bytearray, one: Operation, chance: Random) -> None:
    fate = chance.choice(("there", "missing", "torn"))
    if fate == "there" or (fate == "torn" and one.kind == TRUNCATE):
        _apply(data, one)
    elif fate == "torn":
        for start in range(0, one.length, SECTOR):
            if chance.random() < 0.5:
                part = one.data[start : start + SECTOR]
                _apply(data, Operation(WRITE, one.file, one.offset + start, len(part), part))


def _apply(data: bytearray, one: Operation) -> None:
    if one.kind == TRUNCATE:
        del data[one.length :]
        data.extend(bytes(one.length - len(data)))
        return
    data.extend(bytes(max(0, one.offset + one.length - len(data))))
    data[one.offset : one.offset + one.length] = one.data
