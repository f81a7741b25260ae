"""Whether a SQLite store's path still leads to the file that is open, and whether all of that file is there."""

import asyncio
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote

from validator.protocol.text import printable
from validator.store.errors import StoreDamagedError, StoreNoWriteError

ROOM: Final = 64 * 1024  # bytes that must find room beside the file
_ADVICE: Final = (
    "stop everything that uses it; put a moved file back with its -wal and -shm, else restore the newest backup"
)


class Place:
    """The file as it was when it was opened.

    The file itself is never opened here: closing it would drop the locks that SQLite holds on it in this process.

    Args:
        path: of the file, links resolved.

    Raises:
        StoreDamagedError: it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        found = self._stat()
        self._identity = found.st_dev, found.st_ino
        self._size = found.st_size

    def require(self) -> None:
        """Look at the path; costs a system call.

        Raises:
            StoreDamagedError: it leads to nothing, or to another file.
        """
        self._same(self._stat())

    async def require_whole(self) -> None:
        """Look at the path and at the file's size; where it has shrunk, let SQLite read all of it.

        A store in use only grows, unless somebody runs VACUUM.

        Raises:
            StoreDamagedError: it leads to nothing or to another file, or parts are missing.
        """
        found = self._stat()
        self._same(found)
        if found.st_size < self._size:
            fault = "it is empty" if found.st_size == 0 else await asyncio.to_thread(_fault, self._path)
            if fault is not None:
                raise StoreDamagedError(f"{self._shown} shrank from {self._size} bytes: {fault}; {_ADVICE}")
        self._size = found.st_size

    def require_room(self) -> None:
        """Write a little beside the file and take it away again. Blocks: not for the event loop.

        Raises:
            StoreNoWriteError: there is no room, or no right to write.
        """
        try:
            with tempfile.TemporaryFile(dir=self._path.parent, buffering=0) as file:
                file.write(bytes(ROOM))
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreNoWriteError(f"{self._shown}: {error.strerror or type(error).__name__}") from None

    @property
    def _shown(self) -> str:
        return printable(str(self._path))

    def _stat(self) -> os.stat_result:
        try:
            return self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise StoreDamagedError(f"{self._shown}: it was moved or deleted; {_ADVICE}") from None
        except OSError as error:
            raise StoreNoWriteError(f"{self._shown}: {error.strerror or type(error).__name__}") from None

    def _same(self, found: os.stat_result) -> None:
        if (found.st_dev, found.st_ino) != self._identity:
            raise StoreDamagedError(f"{self._shown}: another file lies there now; {_ADVICE}")


def _fault(path: Path) -> str | None:
    """Return what SQLite finds wrong with the file, None if nothing."""
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        # Whoever keeps it busy does not say that it is whole, nor that it is not: the next transaction fails or works.
        found = "ok" if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} else str(error)
    finally:
        if connection is not None:
            connection.close()
    return None if found == "ok" else printable(found)
