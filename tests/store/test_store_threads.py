"""The thread of a SQLite connection ends, whatever is cancelled while it does."""

import asyncio
from pathlib import Path

from sqlalchemy import text

from validator.store.connect import make_engine
from validator.store.threaded import ThreadedConnection, connect
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
