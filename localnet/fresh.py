"""A run of the local network starts on an empty store: its keys come back in every run, their past must not."""

from pathlib import Path

from validator.protocol.errors import ValidatorError
from validator.store import open_store, schema_state
from validator.store.urls import parse_url


class UsedStoreError(ValidatorError):
    """The local network needs an empty store."""


async def set_aside(url: str) -> Path | None:
    """Move an earlier run's SQLite file to `<name>.previous`; return where it is now, None if there was none.

    Raises:
        UsedStoreError: a Postgres database that holds rounds already.
        StoreError: another run uses the store, or it is none.
    """
    if await schema_state(url) == "empty":
        return None
    async with open_store(url, writer=True) as store, store.read() as tx:
        used = bool(await tx.rounds.next_id())
    path = parse_url(url).path
    if not used:
        return None
    if path is None:
        raise UsedStoreError("set store.url to a new database, or drop this one's tables")
    previous = path.with_name(path.name + ".previous")
    for suffix in ("", "-wal", "-shm", ".lock"):
        source = path.with_name(path.name + suffix)
        target = previous.with_name(previous.name + suffix)
        target.unlink(missing_ok=True)
        if source.exists():
            source.rename(target)
    return previous
