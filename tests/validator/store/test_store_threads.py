"""The thread of a SQLite connection ends, whatever is cancelled while it does."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from sqlalchemy import text

from validator.store.connections import ThreadedConnection, _SqliteConnection, connect, make_engine
from validator.store.urls import parse_url


async def test_closing_that_is_cancelled_and_stopped_ends() -> None:
    connection = await connect(":memory:")
    closing = asyncio.create_task(connection.close())
    await asyncio.sleep(0)  # it has asked the thread to close
    connection.stop()
    closing.cancel()
    done, _ = await asyncio.wait({closing}, timeout=5)
    assert done == {closing}
    connection._thread.join(5)
    assert not connection._thread.is_alive()


async def test_stores_use_it(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").touch()
    engine = make_engine(parse_url(f"sqlite:///{tmp_path}/store.sqlite"))
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT 1")) == 1
        raw = await connection.get_raw_connection()
        assert isinstance(raw.driver_connection, ThreadedConnection)
    await engine.dispose()


async def test_a_connection_that_somebody_let_go_of_before_its_thread_ends_keeps_no_lock(tmp_path: Path) -> None:
    path, release = tmp_path / "store.sqlite", threading.Event()
    connection = await connect(path, isolation_level=None, factory=_SqliteConnection)
    cursor = await connection.execute("CREATE TABLE kept (n INTEGER)")
    await connection.execute("BEGIN IMMEDIATE")
    cursor = await connection.execute("INSERT INTO kept VALUES (1) RETURNING n")  # not read to its end
    connection._tx.put_nowait((None, release.wait))
    connection.stop()
    connection._connection = None  # as a second closing leaves it
    release.set()
    connection._thread.join(5)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
    del cursor
