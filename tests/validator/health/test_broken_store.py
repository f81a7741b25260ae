"""The database: who answers instead of it, its tables, its history, the lock of weights; nothing is left behind."""

import asyncio
import fcntl
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from doctor_kit import FakeNode, Place, findings, listening, node, of_status
from psycopg.conninfo import conninfo_to_dict
from setups import FILE_SETUPS
from weights_world import running, scored

from sssa.protocol.reasons import Reason
from validator.health.doctor.storage import far_away
from validator.store import open_store
from validator.store.errors import StoreUnreachableError
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import RowState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = "database", "history", "weights"


async def test_a_good_store_is_fine_and_left_as_it_is(place: Place, store_url: str) -> None:
    place.settings["store"]["url"] = store_url
    before = _files(place.folder)
    found = await place.examined("database")
    assert {one.status for one in findings(found)} == {"ok"}, findings(found)
    assert "takes one, taken back again" in findings(found)[-1].seen
    after = _files(place.folder)
    assert {name: size for name, size in after.items() if "validator.toml" not in name} == before


def _files(folder: Path) -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_database_that_is_not_made_yet_stays_so(place: Place, empty_store_url: str) -> None:
    place.settings["store"]["url"] = empty_store_url
    found = await place.examined(*TABLES)
    assert of_status(found, "fault") == of_status(found, "warning") == []
    assert [one.seen for one in of_status(found, "note")] == ["none yet"]
    again = await place.examined("database")
    assert [one.seen for one in of_status(again, "note")] == ["none yet"]
    assert not (place.folder / "store.sqlite").exists()


async def test_an_examination_binds_no_store_to_a_chain(place: Place, store_url: str) -> None:
    place.settings["store"]["url"] = store_url
    place.subnet()
    found = await place.examined("subnet", *TABLES)
    assert "registration" in {one.about for one in of_status(found, "ok")}
    async with open_store(store_url) as store, store.read() as tx:
        assert await tx.chain.get() is None


async def test_a_folder_that_is_not_there(place: Place) -> None:
    place.settings["store"]["url"] = f"sqlite:///{place.folder}/nowhere/validator.sqlite"
    (fault,) = of_status(await place.examined("database"), "fault")
    assert "does not exist; make it" in fault.seen


@pytest.mark.parametrize(
    ("setup", "seen"),
    [("store is text", "not a database"), ("store is foreign", "tables that are not ours (theirs)")],
)
async def test_a_file_that_is_no_store(setup: str, seen: str, place: Place) -> None:
    FILE_SETUPS[setup](place)
    (fault,) = of_status(await place.examined("database"), "fault")
    assert seen in fault.seen
    assert "set store.url to a file of the validator's" in fault.advice


async def test_tables_of_a_newer_version(place: Place, sqlite_url: str) -> None:
    place.settings["store"]["url"] = sqlite_url
    with sqlite3.connect(place.folder / "store.sqlite") as connection:
        connection.execute("UPDATE schema_version SET version_num = 'r9999'")
    connection.close()
    found = await place.examined("database", "history")
    (fault,) = of_status(found, "fault")
    assert "newer" in fault.seen
    assert "install the version that made" in fault.advice
    assert [one.about for one in of_status(found, "unknown")] == ["history"]


async def test_postgres_that_is_not_there(place: Place) -> None:
    async with listening(None) as port:
        pass
    place.settings["store"]["url"] = f"postgresql://validator:hunter2@127.0.0.1:{port}/validator"
    (fault,) = of_status(await place.examined("database"), "fault")
    assert "Connection refused" in fault.seen
    assert fault.advice.startswith("start the server, or correct host and port in store.url")
    assert "hunter2" not in str(fault)


async def test_a_database_that_the_server_does_not_have(place: Place, postgres_server: str) -> None:
    place.settings["store"]["url"] = postgres_server.format(database="nobodys")
    (fault,) = of_status(await place.examined("database"), "fault")
    assert 'database "nobodys" does not exist' in fault.seen
    assert "createdb --encoding=UTF8" in fault.advice


async def test_a_lock_file_that_cannot_be_opened_is_named_by_doctor_and_by_the_start(place: Place) -> None:
    """A folder in its place stands for a file of another user, which root may open."""
    lock = place.folder / "validator.sqlite.lock"
    lock.mkdir()
    (fault,) = of_status(await place.examined("process"), "fault")
    assert (fault.about, fault.seen) == ("writer", f"{lock}: Is a directory")
    assert "chown" in fault.advice
    with pytest.raises(StoreUnreachableError, match=re.escape(f"{lock}: Is a directory; run as the user who owns it")):
        await open_store(place.settings["store"]["url"], writer=True, create=True)


async def test_a_database_of_another_encoding(tmp_path: Path, postgres_server: str) -> None:
    place, name = Place.made(tmp_path), f"ascii_{os.getpid()}"
    place.settings["store"]["url"] = postgres_server.format(database=name)
    with psycopg.connect(postgres_server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        try:
            (fault,) = of_status(await place.examined("database"), "fault")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert fault.seen == "the database is SQL_ASCII, not UTF8"
    assert "ENCODING 'UTF8' TEMPLATE template0" in fault.advice


async def test_a_database_that_takes_no_write(place: Place, postgres_url: str) -> None:
    place.settings["store"]["url"] = postgres_url
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    (fault,) = of_status(await place.examined("database"), "fault")
    assert fault.about == "database write"
    assert "read-only transaction" in fault.seen
    assert "let its user write" in fault.advice


async def _round_at(url: str, block: int, block_hash: str) -> None:
    async with open_store(url) as store, store.begin() as tx:
        await tx.rounds.skip(0, epoch=1, block=block, block_hash=block_hash, reason=Reason.SKIPPED_NO_TASKS, at=NOW)


@pytest.mark.parametrize(
    ("block", "block_hash", "status", "seen"),
    [
        (900, f"{900:064x}", "ok", "block 900 of round 0 is on it"),
        (900, "ab" * 32, "fault", "round 0 is pinned to block 900 abababababab…, the chain has 0x0000000000… there"),
        (5_000, f"{5_000:064x}", "fault", "pinned to block 5000, which the chain does not have"),
    ],
    ids=["same", "other", "ahead"],
)
async def test_a_store_of_another_chain(  # noqa: PLR0913, PLR0917 - the columns of the table
    block: int, block_hash: str, status: str, seen: str, place: Place, sqlite_url: str
) -> None:
    await _round_at(sqlite_url, block, block_hash)
    place.settings["store"]["url"] = sqlite_url
    async with node(FakeNode(height=1_000)) as url:
        place.on(url)
        found = findings(await place.examined("history"))
    (finding,) = [one for one in found if one.about == "chain of the store"]
    assert finding.status == status
    assert seen in finding.seen
    assert status == "ok" or "begin a new store" in finding.advice


@pytest.mark.parametrize(("genesis", "netuid", "of"), [("33" * 32, 1, "genesis 3333"), ("11" * 32, 2, "of netuid 2")])
async def test_a_store_that_knows_another_chain(
    genesis: str, netuid: int, of: str, place: Place, store_url: str
) -> None:
    await _round_at(store_url, 900, f"{900:064x}")  # a block that both chains have
    async with open_store(store_url) as store, store.begin() as tx:
        await tx.chain.adopt(genesis, netuid, NOW)
    place.settings["store"]["url"] = store_url
    async with node() as url:
        place.on(url)
        (fault,) = of_status(await place.examined("history"), "fault")
    assert fault.about == "chain of the store"
    assert of in fault.seen
    assert "begin a new store" in fault.advice


async def test_without_a_chain_to_ask_only_the_subnet_of_the_store_is_compared(place: Place, sqlite_url: str) -> None:
    await _round_at(sqlite_url, 900, f"{900:064x}")
    async with open_store(sqlite_url) as store, store.begin() as tx:
        await tx.chain.adopt("11" * 32, 1, NOW)
    place.settings["store"]["url"] = sqlite_url
    assert of_status(await place.examined("history"), "fault") == []
    place.settings["validator"]["netuid"] = 2
    (fault,) = of_status(await place.examined("history"), "fault")
    assert "the store is of netuid 1, the settings name netuid 2" in fault.seen


async def test_a_row_of_too_few_weights(place: Place, store_url: str) -> None:
    place.settings["store"]["url"] = store_url
    async with open_store(store_url) as store:
        world = await scored(store, {"miner0": 1.0}, min_allowed_weights=5)
        async with running(world):
            await world.until_block(19)
    (warning,) = of_status(await place.examined("weights"), "warning")
    assert warning.seen == f"mechanism 0, epoch 0: {Reason.WEIGHTS_TOO_FEW.meaning}"
    assert "min_allowed_weights" in warning.advice


@pytest.mark.parametrize(
    ("row_state", "condition"),
    [("as_sent", ""), ("altered", "weights_altered"), ("reveal_failed", "weights_reveal_failed")],
)
async def test_a_row_that_is_not_as_sent_is_named_for_each_mechanism(
    row_state: RowState, condition: str, place: Place, store_url: str
) -> None:
    place.settings["store"]["url"] = store_url
    place.settings["weights"] = {"workflow_mechid": 1}
    plan = PlannedWeights({"a": 1.0}, {"a": 1.0}, 0.0, {3: 65_535})
    async with open_store(store_url) as store, store.begin() as tx:
        first = await tx.weights.prepare(1, 0, 7, plan, NOW)
        await tx.weights.update(first.id, "confirmed", NOW, row_state=row_state)
        await tx.weights.prepare(1, 1, 7, plan, NOW)
    one, other = findings(await place.examined("weights"))
    assert (one.status, one.condition) == ("warning" if condition else "ok", condition)
    assert one.seen.startswith("mechanism 0: the newest, of epoch 7: ")
    assert (other.status, other.seen[:13]) == ("ok", "mechanism 1: ")


async def test_locked_weights(place: Place, store_url: str) -> None:
    place.settings["store"]["url"] = store_url
    async with open_store(store_url) as store, store.begin() as tx:
        await tx.weight_guard.lock("another program wrote at block 7", NOW)
    (fault,) = of_status(await place.examined("weights"), "fault")
    assert fault.seen == "locked in the store: another program wrote at block 7"
    assert "validator weights unlock --reason" in fault.advice
    stop = place.folder / "stop"
    stop.write_text("2026 another program\n")
    place.settings["weights"] = {"stop_file": str(stop)}
    (fault,) = of_status(await place.examined("weights"), "fault")
    assert fault.seen == f"locked by {stop}: 2026 another program"


async def test_who_writes_is_named_and_left_undisturbed(place: Place, store_url: str) -> None:
    place.settings["store"]["url"] = store_url
    assert [one.seen for one in of_status(await place.examined("process"), "ok")] == [
        "no validator writes to the store"
    ]
    async with open_store(store_url, writer=True) as store:
        found, _ = await asyncio.gather(place.examined("process", "database"), store.probe())
        await store.probe()
    (warning,) = of_status(found, "warning")
    assert warning.about == "writer"
    assert "and no health report answers here" in warning.seen
    assert of_status(found, "fault") == []


async def test_a_lock_file_that_nobody_holds_is_no_writer_whatever_locks_others_hold(place: Place) -> None:
    async with open_store(place.settings["store"]["url"], writer=True, create=True):
        pass
    assert (place.folder / "validator.sqlite.lock").exists()
    with (place.folder / "others").open("w") as others:
        fcntl.flock(others, fcntl.LOCK_EX)
        assert [one.seen for one in of_status(await place.examined("process"), "ok")] == [
            "no validator writes to the store"
        ]


@asynccontextmanager
async def slow_server(url: str, seconds: float) -> AsyncIterator[str]:
    """A database whose answers come late; yields its url."""
    known = conninfo_to_dict(url)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pause: float) -> None:
        while data := await reader.read(65536):
            await asyncio.sleep(pause)
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far, near = await asyncio.open_unix_connection(f"{known['host']}/.s.PGSQL.{known.get('port', 5432)}")
        await asyncio.gather(relay(reader, near, 0.0), relay(far, writer, seconds), return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"postgresql://{known['user']}@127.0.0.1:{server.sockets[0].getsockname()[1]}/{known['dbname']}"
    finally:
        server.close()


@pytest.mark.parametrize(("seconds", "status"), [(0.0, "ok"), (0.3, "warning")])
async def test_a_slow_database(seconds: float, status: str, place: Place, postgres_url: str) -> None:
    async with slow_server(postgres_url, seconds) as url:
        place.settings["store"]["url"] = url
        (finding, *_) = findings(await place.examined("database"))
    assert (finding.about, finding.status) == ("database", status)
    assert ("put the database nearer" in finding.advice) == (status == "warning")


def test_network_file_systems_are_told_apart(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"30 22 0:40 / {tmp_path} rw shared:1 - nfs4 server:/x rw\n"
        f"31 30 0:41 / {tmp_path}/near rw - xfs /dev/sdb rw\nnonsense\n"
    )
    (tmp_path / "near").mkdir()
    assert far_away(tmp_path, mounts) == "nfs4"
    assert far_away(tmp_path / "near", mounts) is None
    assert far_away(Path("/"), mounts) is None
    assert far_away(tmp_path, tmp_path / "nothing") is None
