"""Backups for `validator db backup` and `restore`: a store as one file, made while a validator writes to it."""

import asyncio
import errno
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from sssa.files import put, sync, why
from sssa.protocol.text import printable
from validator.store.connections import opened_to_read
from validator.store.copying import copy_store, row_counts
from validator.store.errors import BackupError, NotEmptyError, RestoreError, StoreDamagedError, StoreError
from validator.store.schema import SchemaState, require_place, schema_state, upgrade_unlocked
from validator.store.urls import StoreUrl, parse_url, url_of

_SQLITE: Final = b"SQLite format 3\0"
_HEAD: Final = len(_SQLITE)
_UNPACK: Final = "is compressed ({}); unpack it first"
_OTHER_FORMATS: Final = (
    (b"\x1f\x8b", _UNPACK.format("gzip")),
    (b"\x28\xb5\x2f\xfd", _UNPACK.format("zstd")),
    (b"\xfd7zXZ\0", _UNPACK.format("xz")),
    (b"BZh", _UNPACK.format("bzip2")),
    (b"PK\x03\x04", _UNPACK.format("zip")),
    (b"PGDMP", "is a dump of Postgres; `pg_restore` puts it into an empty database"),
)
_OTHER: Final = "name a file that `validator db backup` wrote"
_AGAIN: Final = "copy it again and compare its sha256 with what `validator db backup` printed, or take an older backup"


def require_backup(file: Path) -> None:
    """Check that a file is a whole backup of a store (RestoreError)."""
    fault = _fault(file)
    if fault is not None:
        raise RestoreError(f"{_shown(file)} {fault}")
    with of_backup(file, file.parent), closing(opened_to_read(file)) as connection:
        result = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if result != "ok":
            raise RestoreError(f"{_shown(file)} is damaged: {printable(' '.join(result.split()))}; {_AGAIN}")
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise RestoreError(f"{_shown(file)}: rows of {printable(str(broken[0]))} refer to nothing; {_AGAIN}")


@contextmanager
def of_backup(file: Path, place: Path) -> Iterator[None]:
    """Raise errors about a copy of a backup in the folder `place` as errors of the backup (RestoreError)."""
    try:
        yield
    except RestoreError:
        raise
    except StoreError as error:
        raise RestoreError(f"{_shown(file)}: {error.detail}; {_OTHER}") from None
    except sqlite3.Error as error:
        raise RestoreError(f"{_shown(file)} {_file_error(error, place)}") from None
    except DBAPIError as error:
        message = (
            _file_error(error.orig, place) if isinstance(error.orig, sqlite3.Error) else f"cannot be read; {_AGAIN}"
        )
        raise RestoreError(f"{_shown(file)} {message}") from None


def _file_error(error: sqlite3.Error, place: Path) -> str:
    message = printable(" ".join(str(error).split()), 300)
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return f"is damaged: {message}; {_AGAIN}"
        case sqlite3.SQLITE_FULL:
            return f"finds no room in {_shown(place)}: {message}; free some space there"
        case _:
            return f"cannot be read: {message}; copy it to a folder of this user's"


def _fault(file: Path) -> str | None:
    """Return what can be message before SQLite is asked; it takes an empty file for an empty database."""
    if not file.is_file():
        if not file.exists():
            return "cannot be restored: there is no such file; correct the path"
        return f"is {'a folder' if file.is_dir() else 'not a plain file'}; {_OTHER}"
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        return f"cannot be read: {why(error)}; let this user read it"
    if not head:
        return f"is empty; {_AGAIN}"
    known = next((what for magic, what in _OTHER_FORMATS if head.startswith(magic)), None)
    return known or (None if head.startswith(_SQLITE[: len(head)]) else f"is no SQLite file; {_OTHER}")


def _shown(file: Path) -> str:
    return printable(str(file))


_PAGES: Final = 1_024  # at a time
_CHUNK: Final = 1 << 20
_UNRESTORABLE: Final[Mapping[SchemaState, str]] = {
    "empty": "holds no store; name a file that `validator db backup` wrote",
    "ahead": "is newer than this program; install the version that made it, or a newer one",
}
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")

Progress = Callable[[int], None]


class Backup(NamedTuple):
    """A backup that was made: file, bytes, sha256 in hex, and how its tables relate to this version's."""

    file: Path
    bytes: int
    sha256: str
    state: SchemaState


def amount(url: str) -> int:
    """Return how many steps a backup takes: pages of SQLite, rows of Postgres (StoreError)."""
    source = parse_url(url)
    if source.path is None:
        return sum(asyncio.run(row_counts(url)).values())
    _require_store(url, source)
    with _sqlite_errors(source.shown), closing(opened_to_read(source.path)) as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


def back_up(url: str, file: Path, progress: Progress = lambda _steps: None) -> Backup:
    """Write one consistent view of the store into a new SQLite file, readable by its owner only.

    Of SQLite it is a copy of the pages, whatever version the tables are of; of Postgres a copy of the rows, for which
    they must be of this version. What the validator writes meanwhile is not in it, and never waits for it. `progress`
    is called with a number of steps (`amount`).

    Raises:
        BackupError: the file, or `FILE.part` next to it, exists, or cannot be written; nothing is left behind.
        StoreError: the store cannot be used.
    """
    source = parse_url(url)
    state = _require_store(url, source)
    with _part_of(file) as part:
        if source.path is not None:
            with _sqlite_errors(source.shown, file):
                _copy_pages(source.path, part, progress)
        else:
            asyncio.run(copy_store(url, url_of(part), lambda _table, rows: progress(rows)))
        with _sqlite_errors(source.shown, file):
            _seal(part)
        digest = _sha256(part)
        put(part, file)
    return Backup(file, file.stat().st_size, digest, state)


class Restoring:
    """A backup, brought to this version's tables in its own place, on its way into an empty store.

    `url` is of that place: it can be read before it is taken. `state` is how its tables related to this version's.
    """

    def __init__(self, part: Path, target: StoreUrl, target_url: str, state: SchemaState) -> None:
        self.url = url_of(part)
        self.state = state
        self._part = part
        self._target = target
        self._target_url = target_url

    def take(self) -> None:
        """Put it in the store's place.

        Raises:
            NotEmptyError: it exists already by now.
            StoreError: the database cannot be used, or what it has is not what went in.
        """
        if self._target.path is None:
            asyncio.run(copy_store(self.url, self._target_url, lambda _table, _rows: None))
            return
        try:
            put(self._part, self._target.path)
        except FileExistsError:
            raise NotEmptyError(f"{self._target.shown} exists by now; nothing was restored") from None


@contextmanager
def restoring(file: Path, url: str, progress: Progress = lambda _steps: None) -> Iterator[Restoring]:
    """Copy a backup, or any SQLite store, to where the store must be, and yield it; nothing exists before `take`.

    `url` is a path without a file, or a database without rows; `progress` is called with numbers of pages.

    Raises:
        NotEmptyError: it exists already.
        RestoreError: the file is no whole store, is newer than this program, or finds no room.
        StoreError: the database cannot be used.
    """
    target = parse_url(url)
    require_place(target)
    _require_empty(url, target)
    require_backup(file)
    with ExitStack() as stack:
        if target.path is None:
            base = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store"
        else:
            base = target.path
        part = stack.enter_context(_part_of(base, ".restoring"))
        with of_backup(file, part.parent):
            _copy_pages(file, part, progress)
            state = asyncio.run(schema_state(url_of(part)))
            if state in _UNRESTORABLE:
                raise RestoreError(f"{printable(str(file))} {_UNRESTORABLE[state]}")
            asyncio.run(upgrade_unlocked(parse_url(url_of(part))))
            _seal(part)
        yield Restoring(part, target, url, state)


def _require_store(url: str, place: StoreUrl) -> SchemaState:
    if place.path is not None and not place.path.is_file():
        what = "not a plain file" if place.path.exists() else "there is no such file"
        raise BackupError(f"{place.shown}: {what}")
    state = asyncio.run(schema_state(url))
    if state == "empty":
        raise BackupError(f"{place.shown} holds no store")
    return state


def _require_empty(url: str, target: StoreUrl) -> None:
    """Refuse a database with rows; of SQLite anything at the path, or a log of it, which SQLite would play back."""
    if target.path is None:
        if asyncio.run(schema_state(url)) != "empty" and any(asyncio.run(row_counts(url)).values()):
            raise NotEmptyError(f"{target.shown} holds rows; name an empty database in store.url")
        return
    for suffix in _SUFFIXES:
        leftover = target.path.with_name(target.path.name + suffix)
        if leftover.exists():
            raise NotEmptyError(
                f"{printable(str(leftover))} exists; with the validator stopped move it away, or name a new file in"
                " store.url"
            )


@contextmanager
def _part_of(file: Path, suffix: str = ".part") -> Iterator[Path]:
    """Make an empty file next to `file`, readable by its owner only; nothing of that name is left at the end."""
    _require_nothing(file)
    part = file.with_name(file.name + suffix)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise BackupError(
            f"{printable(str(part))} exists: another backup or restore runs, or was killed; if none runs, remove it"
        ) from None
    except OSError as error:
        raise BackupError(f"{printable(str(part))}: {why(error)}") from None
    try:
        yield part
    except FileExistsError:
        raise _exists_error(file) from None
    except OSError as error:
        raise BackupError(f"{printable(str(file))}: {why(error)}") from None
    finally:
        for each in (*_SUFFIXES, ".lock"):
            part.with_name(part.name + each).unlink(missing_ok=True)


def _require_nothing(file: Path) -> None:
    if os.path.lexists(file):
        raise _exists_error(file)


def _exists_error(file: Path) -> BackupError:
    return BackupError(f"{printable(str(file))} exists already; name a new file")


def _copy_pages(source: Path, target: Path, progress: Progress) -> None:
    """Copy a SQLite file as it is at one moment; a transaction that reads holds it so, and lets others write."""
    done = 0

    def report(_status: int, remaining: int, total: int) -> None:
        nonlocal done
        progress(total - remaining - done)
        done = total - remaining

    with closing(opened_to_read(source)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reader.backup(writer, pages=_PAGES, progress=report)


def _seal(file: Path) -> None:
    """Write the file's log into the file, sync it, and remove the log."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if result != "ok":
            raise StoreDamagedError(
                f"{printable(str(file))}: {printable(result)}; `validator db check` looks at the store"
            )
    sync(file)


@contextmanager
def _sqlite_errors(source: str, target: Path | None = None) -> Iterator[None]:
    """Raise errors of SQLite with the name of the file that they are about."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL and target is not None:
            full = why(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            raise BackupError(f"{printable(str(target))}: {full}") from None
        damaged = code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        raise (StoreDamagedError if damaged else BackupError)(f"{source}: {printable(str(error))}") from None


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
