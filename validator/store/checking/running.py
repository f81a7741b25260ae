"""All checks, one after the other."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.checking import archive_faults, archived_rounds
from validator.store.checking.check import Check
from validator.store.checking.database import look_at_pages, look_at_references, look_at_tables
from validator.store.checking.digests import look_at_digests
from validator.store.checking.receipts import look_at_receipts
from validator.store.checking.state import look_at_state


async def checks(connection: AsyncConnection, archive: Path | None = None) -> AsyncIterator[Check]:
    """Yield each check as it is done. Where the file itself is damaged nothing else is looked at.

    What was changed and fits its digests all the same shows only when rounds are computed again (`validator replay`).

    Args:
        connection: a read transaction of a store whose tables are of this version.
        archive: the folder with the files of old rounds; without it these are not looked at.
    """
    if connection.dialect.name == "sqlite":
        pages = await _guarded("pages", connection, look_at_pages)
        yield pages
        if pages.faults:
            return
    yield await _guarded("tables", connection, look_at_tables)
    yield await _guarded("references", connection, look_at_references)
    yield await _guarded("digests", connection, look_at_digests)
    yield await _guarded("receipts", connection, look_at_receipts)
    yield await _guarded("state", connection, look_at_state)
    yield await _guarded("archives", connection, partial(_archives, archive))


async def _guarded(name: str, connection: AsyncConnection, look: Callable[[AsyncConnection, Check], Any]) -> Check:
    check = Check(name)
    try:
        await look(connection, check)
    except DBAPIError as error:
        check.fault(f"cannot be read: {error.orig}")
    return check


async def _archives(archive: Path | None, connection: AsyncConnection, check: Check) -> None:
    check.looked = await archived_rounds(connection)
    for fault in await archive_faults(connection, archive):
        check.fault(fault)
