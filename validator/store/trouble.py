"""What a database's error means: away, no room or right to write, damaged, or none of them."""

import sqlite3
from typing import Final, Literal

from sqlalchemy.exc import DBAPIError

from validator.protocol.text import printable
from validator.store.errors import StoreAwayError, StoreBusyError, StoreDamagedError, StoreError, StoreNoWriteError
from validator.store.urls import StoreUrl

Trouble = Literal["away", "busy", "no_write", "damaged"]

_SQLITE: Final[dict[int, Trouble]] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "no_write",
    sqlite3.SQLITE_IOERR: "no_write",
    sqlite3.SQLITE_FULL: "no_write",
    sqlite3.SQLITE_CANTOPEN: "no_write",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_PRIMARY: Final = 0xFF  # of an extended result code
# By the beginning of the SQLSTATE. What a miner's answer could provoke (53200, 54…) is not here: that is a fault.
_POSTGRES: Final[dict[str, Trouble]] = {
    "08": "away",
    "57P": "away",
    "53300": "away",  # too many connections
    "28": "away",  # the password or the right to connect is gone
    "55P03": "busy",
    "40001": "busy",
    "40P01": "busy",
    "53100": "no_write",  # disk full
    "58030": "no_write",  # I/O error
    "25006": "no_write",  # read-only
    "XX001": "damaged",
    "XX002": "damaged",
}
_ERRORS: Final[dict[Trouble, type[StoreError]]] = {
    "away": StoreAwayError,
    "busy": StoreBusyError,
    "no_write": StoreNoWriteError,
    "damaged": StoreDamagedError,
}


def trouble_of(error: DBAPIError) -> Trouble | None:
    """Return what keeps the database from its work; None where the statement itself was at fault."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return "damaged"
    if code is not None:
        return _SQLITE.get(code & _PRIMARY)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return "away" if error.connection_invalidated or _cannot_connect(error) else None
    return next((found for beginning, found in _POSTGRES.items() if state.startswith(beginning)), None)


def told(url: StoreUrl, error: DBAPIError) -> StoreError | None:
    """Return the error as callers know it, without statement and parameters; None where it is no trouble."""
    trouble = trouble_of(error)
    if trouble is None:
        return None
    advice = "; stop everything that uses it and restore the newest backup" if trouble == "damaged" else ""
    return _ERRORS[trouble](f"{url.shown}: {_words(error)}{advice}")


def reading_only(error: DBAPIError) -> bool:
    """Whether it says that somebody wrote where only reading is allowed: in a read transaction that is no trouble."""
    code, state = getattr(error.orig, "sqlite_errorcode", 0), getattr(error.orig, "sqlstate", None)
    return code == sqlite3.SQLITE_READONLY or state == "25006"


def _words(error: DBAPIError) -> str:
    return printable(" ".join(str(error.orig).split()), 300)


def _cannot_connect(error: DBAPIError) -> bool:
    """Whether psycopg says so: it has no SQLSTATE for what happens before the server answers."""
    kind = type(error.orig)
    return kind.__module__.startswith("psycopg") and kind.__name__ in {
        "OperationalError",
        "InterfaceError",
        "ConnectionTimeout",
    }
