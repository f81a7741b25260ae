"""Opening a store: its place, its tables, who may write."""

from collections.abc import Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from sqlalchemy.exc import DBAPIError

from validator.store.connect import make_engine, only_there, use_wal
from validator.store.engine import Store
from validator.store.errors import SchemaStateError
from validator.store.handles import Handles
from validator.store.locks import FileLock, NoLock, take_lock
from validator.store.place import Place
from validator.store.schema import SchemaState, require_place, state_of, unreachable, upgrade_unlocked
from validator.store.urls import StoreUrl, parse_url


@dataclass(slots=True)
class Opening:
    """What `open_store` returns: `store = await …` (then close it), or `async with … as store`."""

    url: str
    writer: bool
    create: bool
    connections: int | None
    archive: Path | None
    handles: Handles | None
    _store: Store | None = field(init=False, default=None)

    def __await__(self) -> Generator[object, None, Store]:
        return self._open().__await__()

    async def __aenter__(self) -> Store:
        self._store = await self._open()
        return self._store

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await self._store.close()

    async def _open(self) -> Store:
        url = parse_url(self.url)
        require_place(url)
        try:
            lock = await take_lock(url, self.handles) if self.writer else NoLock()
            async with AsyncExitStack() as stack:
                stack.push_async_callback(lock.release)
                await self._settle_schema(url)
                if self.writer:
                    await use_wal(url)
                engine = make_engine(url, connections=self.connections, handles=self.handles)
                stack.push_async_callback(engine.dispose)
                place = Place(url.path) if self.writer and url.path is not None else None
                if place is not None:
                    only_there(engine, place.require)
                store = Store(engine, url, lock, place, self.archive)
                if place is not None:
                    await store.hold()
                if isinstance(lock, FileLock):
                    lock.made()
                stack.pop_all()
                return store
        except (DBAPIError, OSError) as error:
            raise unreachable(url, error) from None

    async def _settle_schema(self, url: StoreUrl) -> None:
        state = await state_of(url, self.handles)
        if state == "empty" and self.create:
            await upgrade_unlocked(url, handles=self.handles)
        elif state != "current":
            there = url.path is None or url.path.exists()
            raise SchemaStateError(f"{url.shown} {_ADVICE[state] if there else _NOT_THERE}")


# A wrong path looks like this, too: making tables there would hide it.
_NOT_THERE: Final = "is not there: correct store.url, or make it with `validator run` or `validator db upgrade`"
_ADVICE: dict[SchemaState, str] = {
    "empty": "is empty: make its tables with `validator db upgrade`",
    "behind": "is behind this program: stop the validator, make a backup, then run `validator db upgrade`",
    "ahead": "is newer than this program, which `validator db upgrade` cannot undo: install the version that made it,"
    " or restore the backup that was made before its upgrade",
}


def open_store(  # noqa: PLR0913 - what may be said of one, each with its default
    url: str,
    *,
    writer: bool = False,
    create: bool = False,
    connections: int | None = None,
    archive: Path | None = None,
    handles: Handles | None = None,
) -> Opening:
    """Return an opening: `async with` it, or `await` it and close the store yourself.

    Args:
        url: `sqlite:///path`, `sqlite+aiosqlite:///path`, `postgresql://…` or `postgresql+psycopg://…`.
        writer: claim to be the store's only validator until it is closed. Without it, `begin` still works, for single
            administrative changes.
        create: make the tables of an empty database.
        connections: Postgres only; of one of many processes: at most so many.
        archive: the folder with the files of old rounds (`store.archive`); None: who asks for one is told where it is.
        handles: hold its connections and its claim to write; None for handles that nobody drops.

    Raises:
        StoreUrlError: not such a url.
        StoreUnreachableError: the database cannot be opened.
        StoreLockedError: `writer` was asked for and another process is it.
        SchemaStateError: the tables are missing, behind or ahead; the message says what to do.
    """
    return Opening(url, writer, create, connections, archive, handles)
