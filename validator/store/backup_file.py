"""A file that shall be restored: whether it is a whole SQLite store of ours, else what is wrong and what to do."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy.exc import DBAPIError

from validator.files import why
from validator.protocol.text import printable
from validator.store.errors import RestoreError, StoreError
from validator.store.handles import BUSY_MS

_HEADER: Final = 100  # bytes
_SQLITE: Final = b"SQLite format 3\0"
_UNPACK: Final = "is compressed ({}); unpack it first"
_ELSE: Final = (
    (b"\x1f\x8b", _UNPACK.format("gzip")),
    (b"\x28\xb5\x2f\xfd", _UNPACK.format("zstd")),
    (b"\xfd7zXZ\0", _UNPACK.format("xz")),
    (b"BZh", _UNPACK.format("bzip2")),
    (b"PK\x03\x04", _UNPACK.format("zip")),
    (b"PGDMP", "is a dump of Postgres; `pg_restore` puts it into an empty database"),
)
_OTHER: Final = "name a file that `validator db backup` wrote"
_AGAIN: Final = "copy it again and compare its sha256 with what `validator db backup` printed, or take an older backup"


def opened_to_read(file: Path) -> sqlite3.Connection:
    """Open a SQLite file that is there, to read it.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    uri = f"file:{quote(str(file))}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None)


def require_backup(file: Path) -> None:
    """Look through a file that shall be restored.

    Raises:
        RestoreError: it is no whole SQLite file; the detail names it, says what it is instead, and what to do.
    """
    fault = _fault(file)
    if fault is not None:
        raise RestoreError(f"{_shown(file)} {fault}")
    with of_backup(file, file.parent), closing(opened_to_read(file)) as connection:
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise RestoreError(f"{_shown(file)} is damaged: {printable(' '.join(found.split()))}; {_AGAIN}")
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise RestoreError(f"{_shown(file)}: rows of {printable(str(broken[0]))} refer to nothing; {_AGAIN}")


@contextmanager
def of_backup(file: Path, place: Path) -> Iterator[None]:
    """Tell what goes wrong with a backup where it was copied to as what it is: the backup's.

    Args:
        file: the backup.
        place: the folder that it is copied to.

    Raises:
        RestoreError: something went wrong.
    """
    try:
        yield
    except RestoreError:
        raise
    except StoreError as error:
        raise RestoreError(f"{_shown(file)}: {error.detail}; {_OTHER}") from None
    except sqlite3.Error as error:
        raise RestoreError(f"{_shown(file)} {_told(error, place)}") from None
    except DBAPIError as error:
        told = _told(error.orig, place) if isinstance(error.orig, sqlite3.Error) else f"cannot be read; {_AGAIN}"
        raise RestoreError(f"{_shown(file)} {told}") from None


def _told(error: sqlite3.Error, place: Path) -> str:
    said = printable(" ".join(str(error).split()), 300)
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"is damaged: {said}; {_AGAIN}"
        case sqlite3.SQLITE_FULL:
            return f"finds no room in {_shown(place)}: {said}; free some space there"
        case _:
            return f"cannot be read: {said}; copy it to a folder of this user's"


def _fault(file: Path) -> str | None:
    """Return what can be said before SQLite is asked; it takes an empty file for an empty database."""
    if not file.is_file():
        if not file.exists():
            return "cannot be restored: there is no such file; correct the path"
        return f"is {'a folder' if file.is_dir() else 'not a plain file'}; {_OTHER}"
    try:
        with file.open("rb") as stream:
            head, size = stream.read(_HEADER), os.fstat(stream.fileno()).st_size
    except OSError as error:
        return f"cannot be read: {why(error)}; let this user read it"
    logged = file.with_name(f"{file.name}-wal").exists()  # then the rest may be in there
    cut = size < _whole(head) and not logged
    return _other(head) or (f"is cut short: {size} bytes of {_whole(head)}; {_AGAIN}" if cut else None)


def _other(head: bytes) -> str | None:
    if not head:
        return f"is empty; {_AGAIN}"
    known = next((what for magic, what in _ELSE if head.startswith(magic)), None)
    return known or (None if head.startswith(_SQLITE[: len(head)]) else f"is no SQLite file; {_OTHER}")


def _whole(head: bytes) -> int:
    """Return how many bytes a SQLite file has by its first ones (https://sqlite.org/fileformat.html, 1.3)."""
    if len(head) < _HEADER:
        return _HEADER
    if head[24:28] != head[92:96]:  # an old SQLite wrote it last, and did not keep the number of pages
        return 0
    size = int.from_bytes(head[16:18])
    return (65_536 if size == 1 else size) * int.from_bytes(head[28:32])


def _shown(file: Path) -> str:
    return printable(str(file))
