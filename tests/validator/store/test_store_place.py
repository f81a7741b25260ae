"""A SQLite file that is moved, deleted, replaced or cut short under a store that is open."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from sssa.protocol.canonical import sha256_hex
from validator.store import Store, open_store
from validator.store.errors import StoreDamagedError, StoreNoWriteError

ROWS = 400


@pytest.fixture
async def writer(sqlite_url: str) -> AsyncIterator[Store]:
    """An open store whose file holds all that was written."""
    async with open_store(sqlite_url, writer=True) as store:
        async with store.begin() as tx:
            for number in range(ROWS):
                salt = number.to_bytes(32, "big")
                await tx.salts.add(salt, sha256_hex(salt))
        async with store.begin():  # the pool has connections in hand from before
            pass
        yield store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def size(file: Path) -> int:
    return file.stat().st_size


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(("-wal", "-shm")))


def moved(file: Path) -> None:
    file.rename(file.with_name("elsewhere.sqlite"))


def deleted(file: Path) -> None:
    for one in file.parent.glob("store.sqlite*"):
        one.unlink()


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").rename(file)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def cut_short(file: Path) -> None:
    sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    os.truncate(file, size(file) // 2)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (moved, "it was moved or deleted"),
        (deleted, "it was moved or deleted"),
        (replaced, "another file is there now"),
        (emptied, "it is empty"),
        (cut_short, "shrank from"),
    ],
)
async def test_no_write_goes_into_a_file_that_is_not_at_its_place_or_not_whole(
    writer: Store, file: Path, fault: Callable[[Path], None], message: str
) -> None:
    fault(file)
    before = names(file.parent)
    for attempt in (writer.probe(), writer.lasting(lambda tx: tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32)))):
        with pytest.raises(StoreDamagedError, match=message) as caught:
            await attempt
        assert "restore the newest backup" in str(caught.value)
    assert names(file.parent) == before  # no new file was made


async def test_new_connections_do_not_make_a_new_file_either(sqlite_url: str, file: Path) -> None:
    async with open_store(sqlite_url, writer=True) as store:
        await store._engine.dispose()  # what is in the pool needs no path
        moved(file)
        with pytest.raises(StoreDamagedError):
            async with store.read():
                pass
        assert names(file.parent) == ["elsewhere.sqlite", "store.sqlite.lock"]


async def test_what_sqlite_calls_damaged_is_damaged(writer: Store, file: Path) -> None:
    sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with file.open("r+b") as opened:  # in a page that nobody has in hand
        opened.seek(4096)
        opened.write(b"\xff" * (size(file) - 4096))
    await writer._engine.dispose()
    with pytest.raises(StoreDamagedError, match="malformed") as caught:
        async with writer.read() as tx:
            await tx.connection.execute(text("SELECT count(*), sum(length(salt)) FROM salts"))
    assert "restore the newest backup" in str(caught.value)


async def test_a_file_that_vacuum_made_smaller_is_whole(writer: Store, file: Path) -> None:
    async with writer.begin() as tx:
        await tx.connection.execute(text("CREATE TABLE filler AS SELECT randomblob(900000) AS filler"))
    sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    async with writer.begin() as tx:
        await tx.connection.execute(text("DROP TABLE filler"))
    large = size(file)
    operator = sqlite3.connect(file, isolation_level=None)
    operator.execute("VACUUM")
    operator.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    operator.close()
    assert size(file) < large
    await writer.probe()


async def test_a_probe_writes_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    before = names(tmp_path)
    for _ in range(3):
        await store.probe()
    assert names(tmp_path) == before


async def test_a_folder_without_room_or_rights_takes_no_write(writer: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("validator.store.engine.os.fsync", full)
    with pytest.raises(StoreNoWriteError, match="No space left on device"):
        await writer.probe()
