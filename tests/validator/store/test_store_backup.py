"""A backup is one consistent view in its own file, and comes back as it was, into nothing but an empty place."""

import asyncio
import gzip
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select
from store_examples import at, open_round
from store_faults import fill as fill_disk
from store_faults import small_disk

from validator.store import open_store, schema_state
from validator.store.backup import amount, back_up, restoring
from validator.store.errors import BackupError, NotEmptyError, RestoreError, StoreError
from validator.store.tables import metadata

PLACES = ["sqlite", "postgres"]


def fill(url: str, round_id: int = 0) -> None:
    async def write() -> None:
        async with open_store(url) as store:
            await open_round(store, round_id)
            async with store.begin() as tx:
                await tx.chain.adopt("aa" * 32, 7, at(round_id))

    asyncio.run(write())


def everything(url: str) -> dict[str, list[str]]:
    async def read() -> dict[str, list[str]]:
        async with open_store(url) as store, store.read() as tx:
            rows = {t.name: (await tx.connection.execute(select(*t.columns))).all() for t in metadata.sorted_tables}
        return {name: sorted(map(repr, found)) for name, found in rows.items()}

    return asyncio.run(read())


def sqlite_of(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture(params=PLACES)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the url of a database without tables."""
    if request.param == "sqlite":
        return sqlite_of(tmp_path / "restored.sqlite")
    url: str = request.getfixturevalue("empty_postgres_url")
    return url


def test_a_store_comes_back_as_it_was(store_url: str, empty: str, tmp_path: Path) -> None:
    fill(store_url)
    file = tmp_path / "backup.sqlite"
    steps: list[int] = []
    made = back_up(store_url, file, steps.append)
    assert sum(steps) == amount(store_url)
    assert (made.file, made.bytes, made.state) == (file, file.stat().st_size, "current")
    assert file.stat().st_mode & 0o777 == 0o600
    with restoring(file, empty) as waiting:
        assert asyncio.run(schema_state(empty)) == "empty"
        assert everything(waiting.url) == everything(store_url)
        waiting.take()
    assert everything(empty) == everything(store_url)
    assert sorted(path.name for path in tmp_path.glob("*.restoring*")) == []
    assert sorted(path.name for path in tmp_path.glob("backup*")) == ["backup.sqlite"]
    fill(empty, 1)
    with pytest.raises(NotEmptyError), restoring(file, empty):
        pytest.fail("a store was there")


def test_what_is_not_taken_leaves_nothing_behind(sqlite_url: str, tmp_path: Path) -> None:
    fill(sqlite_url)
    back_up(sqlite_url, tmp_path / "backup.sqlite")
    before = sorted(tmp_path.iterdir())
    with restoring(tmp_path / "backup.sqlite", sqlite_of(tmp_path / "restored.sqlite")):
        pass
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_written_meanwhile_waits_for_nothing_and_is_not_in_it(sqlite_url: str, tmp_path: Path) -> None:
    fill(sqlite_url)
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as filler:  # more than one step
        filler.execute("CREATE TABLE ballast (data BLOB)")
        filler.execute("INSERT INTO ballast VALUES (zeroblob(12000000))")
        filler.commit()
    written: list[int] = []

    def write(_steps: int) -> None:
        if not written:
            with closing(sqlite3.connect(tmp_path / "store.sqlite", timeout=1)) as writer:
                writer.execute("UPDATE ballast SET data = zeroblob(11000000)")
                writer.execute("DELETE FROM store_chain")
                writer.commit()
        written.append(1)

    back_up(sqlite_url, tmp_path / "backup.sqlite", write)
    assert 3 <= len(written) < 6
    with closing(sqlite3.connect(tmp_path / "backup.sqlite")) as connection:
        kept = connection.execute("SELECT length(data), (SELECT netuid FROM store_chain) FROM ballast").fetchall()
    assert kept == [(12_000_000, 7)]


@pytest.mark.parametrize(
    ("there", "kind", "message"),
    [
        ("backup.sqlite", BackupError, "backup.sqlite exists already; name a new file"),
        ("backup.sqlite.part", BackupError, "backup.sqlite.part exists: another backup or restore runs, or was killed"),
    ],
)
def test_a_backup_goes_over_nothing(
    sqlite_url: str, tmp_path: Path, there: str, kind: type[StoreError], message: str
) -> None:
    (tmp_path / there).write_bytes(b"dear")
    with pytest.raises(kind, match=message):
        back_up(sqlite_url, tmp_path / "backup.sqlite")
    assert (tmp_path / there).read_bytes() == b"dear"


def test_a_backup_of_nothing_or_to_nowhere_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="there is no such file"):
        back_up(sqlite_of(tmp_path / "none.sqlite"), tmp_path / "backup.sqlite")
    with pytest.raises(BackupError, match="No such file or directory"):
        back_up(sqlite_url, tmp_path / "no" / "folder.sqlite")
    assert not (tmp_path / "backup.sqlite").exists()
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("room", [0, 64 * 1024])
def test_a_full_disk_takes_no_backup(store_url: str, tmp_path: Path, room: int) -> None:
    fill(store_url)
    with small_disk(tmp_path / "disk", "1m") as disk:
        fill_disk(disk)
        if room:
            os.truncate(disk / "filler", (disk / "filler").stat().st_size - room)
        with pytest.raises(StoreError, match=f"{disk}/backup.sqlite.*; free some space there"):
            back_up(store_url, disk / "backup.sqlite")
        assert [path.name for path in disk.iterdir()] == ["filler"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_nothing_is_restored_over_a_store_or_its_log(sqlite_url: str, tmp_path: Path, suffix: str) -> None:
    back_up(sqlite_url, tmp_path / "backup.sqlite")
    (tmp_path / f"other.sqlite{suffix}").write_bytes(b"")
    target = sqlite_of(tmp_path / "other.sqlite")
    with (
        pytest.raises(NotEmptyError, match=f"other.sqlite{suffix} exists; with the validator stopped move it away"),
        restoring(tmp_path / "backup.sqlite", target),
    ):
        pytest.fail("something was there")
    assert (tmp_path / f"other.sqlite{suffix}").read_bytes() == b""


def damaged(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(40_000)
        stream.write(os.urandom(20_000))


def cut(file: Path) -> None:
    os.truncate(file, 50_000)


def orphaned(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM rounds")
        connection.commit()


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE other (a)")
        connection.commit()


def no_database(file: Path) -> None:
    file.write_bytes(b"PGDMP" * 1_000)


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE schema_version SET version_num = 'r9999'")
        connection.commit()


def empty_file(file: Path) -> None:
    file.write_bytes(b"")


def a_few_bytes(file: Path) -> None:
    os.truncate(file, 10)


def an_empty_database(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(50_000))


def packed(file: Path) -> None:
    file.write_bytes(gzip.compress(file.read_bytes()))


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


HARMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "damaged": (
        damaged,
        r" is damaged: .*; copy it again and compare its sha256 with what .* printed, or take an older",
    ),
    "cut": (cut, r" is damaged: .*; copy it again"),
    "a few bytes": (a_few_bytes, r" is damaged: .*; copy it again"),
    "empty": (empty_file, r" is empty; copy it again"),
    "orphaned": (orphaned, r": rows of \w+ refer to nothing; copy it again"),
    "foreign": (
        foreign,
        r": the database holds tables that are not ours \(other\); name a file that `validator db backup`",
    ),
    "without tables": (an_empty_database, r" holds no store; name a file that"),
    "a dump": (no_database, r" is a dump of Postgres; `pg_restore` puts it into an empty database"),
    "garbage": (garbage, r" is no SQLite file; name a file that"),
    "packed": (packed, r" is compressed \(gzip\); unpack it first"),
    "a folder": (folder, r" is a folder; name a file that"),
    "a pipe": (pipe, r" is not a plain file; name a file that"),
    "newer": (newer, r" is newer than this program; install the version that made it, or a newer one"),
    "not there": (Path.unlink, r" cannot be restored: there is no such file; correct the path"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("harm", HARMS)
def test_a_backup_that_cannot_be_restored_is_refused(
    request: pytest.FixtureRequest, sqlite_url: str, tmp_path: Path, harm: str, place: str
) -> None:
    fill(sqlite_url)
    file = tmp_path / "in" / "backup.sqlite"
    file.parent.mkdir()
    back_up(sqlite_url, file)
    spoil, message = HARMS[harm]
    spoil(file)
    target = sqlite_of(tmp_path / "new.sqlite")
    if place == "postgres":
        target = request.getfixturevalue("empty_postgres_url")
    with (
        pytest.raises(RestoreError, match=f"^Nothing was restored: {file}{message}") as caught,
        restoring(file, target),
    ):
        pytest.fail("it was taken")
    assert "\n" not in str(caught.value)
    assert ".restoring" not in str(caught.value)
    assert asyncio.run(schema_state(target)) == "empty"
    assert not list(tmp_path.glob("new*"))
    assert [path.name for path in file.parent.iterdir()] == [] if harm == "not there" else ["backup.sqlite"]


def test_a_backup_that_nobody_may_write_is_restored(sqlite_url: str, tmp_path: Path) -> None:
    back_up(sqlite_url, tmp_path / "backup.sqlite")
    (tmp_path / "backup.sqlite").chmod(0o400)
    with restoring(tmp_path / "backup.sqlite", sqlite_of(tmp_path / "new.sqlite")) as waiting:
        waiting.take()
    assert (tmp_path / "new.sqlite").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new.sqlite").stat().st_nlink == 1
