"""Rounds that are folded: whoever reads them sees no difference, and their rows are gone."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest
from databases import Like
from planned import planned
from replays import replayed
from sqlalchemy import Table, func, select, update
from world import VALIDATOR, World, on_virtual_time

from validator.audit.log.export import audit_lines
from validator.rounds.receipts import close_epoch
from validator.store import Store, fold, open_store
from validator.store.checking import checks
from validator.store.codec import compressed, expanded
from validator.store.copying import copy_store
from validator.store.errors import DamagedError
from validator.store.fold import fold_ended, fold_round
from validator.store.folding import memory
from validator.store.folding.record import LEAVING, NAMED, folded, unfolded
from validator.store.memory import as_sqlite
from validator.store.tables import dispatches, folded_rounds, groups, proofs, reputation_events, rounds, scores


async def everything(url: str) -> list[Any]:
    """What every reader of rounds returns, from a store that was opened anew."""
    found: list[Any] = []
    async with open_store(url) as store, store.read() as tx:
        ids = await tx.rounds.ids()
        for round_id in ids:
            found += [
                await tx.rounds.get(round_id),
                await tx.rounds.document_bytes(round_id, "input"),
                await tx.rounds.document_bytes(round_id, "outcome"),
                await tx.tasks.of_round(round_id),
                await tx.groups.of_round(round_id),
                scored := await tx.dispatches.scored(round_id),
                [await tx.dispatches.get(one.key) for one in scored],
                [await tx.dispatches.answer_body(one.key) for one in scored],
                await tx.submissions.results(round_id),
                await tx.submissions.judgements(round_id),
                await tx.raw_answers.of_round(round_id),
                await tx.scores.of_round(round_id),
                await tx.agreements.of_round(round_id),
                await tx.reputations.of_round(round_id),
                await tx.windows.of_round(round_id),
                [await tx.proofs.of_task(task_id) for task_id in await tx.proofs.packed_of_round(round_id)],
            ]
        hotkeys = sorted({one.key.hotkey for one in scored})
        found += [await tx.scores.of_miner(hotkey, most) for hotkey in hotkeys for most in (1, 7, 1000)]
        found += [await tx.rounds.newest_frozen(), await tx.histories.computed()]
        numbers = range(await tx.receipts.count())
        found += [line for number in numbers async for line in audit_lines(tx, number)]
    return found


async def results_of(url: str, round_id: int) -> Any:
    async with open_store(url) as store, store.read() as tx:
        return await tx.submissions.judgements(round_id)


async def rows_left(store: Store, table: Table) -> int:
    async with store.read() as tx:
        return int(await tx.connection.scalar(select(func.count()).select_from(table)) or 0)


@pytest.fixture(scope="module")
def used_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = Path(shutil.copy(sqlite_template, tmp_path_factory.mktemp("used")))
    asyncio.run(_use(f"sqlite:///{file}"))
    return file


@pytest.fixture(scope="module")
def used_database(like: Like) -> Iterator[str]:
    with like() as url:
        asyncio.run(_use(url))
        yield url


async def _use(url: str) -> None:
    async with open_store(url) as store:
        world = World(store)
        for _ in range(2):
            await on_virtual_time(world, world.service.one_round())
        await close_epoch(store, VALIDATOR, world.clock)


@pytest.fixture(params=["sqlite", "postgres"])
def used_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store with two rounds: a copy of one in which they were played once."""
    if request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('used_file'), tmp_path)}"
        return
    like: Like = request.getfixturevalue("like")
    with like(request.getfixturevalue("used_database")) as url:
        yield url


@pytest.fixture
async def used(used_url: str) -> AsyncIterator[Store]:
    async with open_store(used_url) as store:
        yield store


async def test_readers_see_no_difference(store: Store, store_url: str) -> None:
    await planned(store)
    before = await everything(store_url)
    async with store.read() as tx:
        ids = await tx.rounds.ids()
    assert await fold_ended(store) == len(ids) > 1
    assert await everything(store_url) == before
    for table in (*LEAVING, *NAMED):
        assert await rows_left(store, table) == (table is reputation_events), table.name
    for round_id in ids:
        assert (await replayed(store, round_id)).verdict == "equal"
    async with store.read() as tx:
        found = [check async for check in checks(tx.connection)]
    assert [check.faults for check in found] == [[]] * len(found)


async def test_half_of_the_rounds_folded_is_as_good(used: Store, used_url: str) -> None:
    before = await everything(used_url)
    async with used.begin() as tx:
        assert await fold_round(tx, 1)
        assert not await fold_round(tx, 1)
    assert await everything(used_url) == before
    assert await fold_ended(used) == 1
    assert await everything(used_url) == before


async def test_a_record_has_every_task_and_hotkey_once(used: Store) -> None:
    async with used.read() as tx:
        keys = [one.key for one in await tx.dispatches.of_round(0)]
    await fold_ended(used)
    async with used.read() as tx:
        record = expanded((await tx.connection.scalar(select(folded_rounds.c.record).limit(1))) or b"")
    names = {name for key in keys for name in (key.task_id, key.hotkey)}
    assert {record.count(name.encode()) for name in names} == {1}


async def test_what_is_kept_in_memory_is_bounded(used: Store, used_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = await everything(used_url)
    await fold_ended(used)
    monkeypatch.setattr(memory, "_HELD_BYTES", 10_000)
    assert await everything(used_url) == before
    async with used.read() as tx:
        for round_id in (0, 1):
            await tx.scores.of_round(round_id)
            assert list(tx.packing.folded._held) == [round_id]


@pytest.mark.parametrize("most", [1, 8])
async def test_readers_at_once_do_not_disturb_each_other(
    used: Store, used_url: str, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(memory, "_HELD", most)
    await fold_ended(used)

    async def read(store: Store, round_id: int) -> Any:
        async with store.read() as tx:
            return await tx.rounds.get(round_id), await tx.submissions.judgements(round_id)

    async with open_store(used_url) as alone:
        expected = [await read(alone, round_id) for round_id in (0, 1)]
    async with open_store(used_url) as store:
        found = await asyncio.gather(*(read(store, number % 2) for number in range(8)))
    assert found == expected * 4


async def test_a_copy_on_the_other_database_reads_the_same(
    used: Store, used_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    before = await everything(used_url)
    await fold_ended(used)
    other = f"sqlite:///{tmp_path}/copy.sqlite"
    if used_url.startswith("sqlite"):
        other = request.getfixturevalue("empty_postgres_url")
    await copy_store(used_url, other, lambda _name, _rows: None)
    assert await everything(other) == before


async def test_a_round_that_a_service_ends_is_folded_by_it(store: Store) -> None:
    world = World(store, folds=True)
    await on_virtual_time(world, world.service.one_round())
    assert await rows_left(store, folded_rounds) == 1
    assert await rows_left(store, scores) == 0
    await on_virtual_time(world, world.service.one_round())
    assert (await replayed(store, 1)).verdict == "equal"


async def test_an_open_round_stays_as_it_is(used: Store) -> None:
    async with used.begin() as tx:
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == 1).values(state="open"))
        assert not await fold_round(tx, 1)
        assert not await fold_round(tx, 7)


async def test_a_round_that_is_too_large_stays_as_it_is(used: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with used.read() as tx:
        stored = [await fold._stored_bytes(tx, round_id) for round_id in (0, 1)]
    monkeypatch.setattr(fold, "MOST", max(stored))  # few bytes as they are stored, too many once they are expanded
    assert await fold_ended(used) == 0
    monkeypatch.setattr(fold, "MOST", min(stored) - 1)
    monkeypatch.delattr(fold, "_rows")  # not even looked at: miners say how much there is to read
    assert await fold_ended(used) == 0
    assert await rows_left(used, groups) == 4


async def test_a_large_record_is_compressed_with_less_effort(
    used: Store, used_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await everything(used_url)
    monkeypatch.setattr(fold, "_DEAR", 0)
    monkeypatch.setattr(fold, "LEVEL", "of no use here")
    assert await fold_ended(used) == 2
    assert await everything(used_url) == before


async def test_what_cannot_be_read_is_not_folded_and_keeps_its_fault(used: Store) -> None:
    async with used.begin() as tx:
        await tx.connection.execute(update(proofs).values(document=b"damaged"))
    assert await fold_ended(used) == 0
    assert (await replayed(used, 0)).verdict == "different"


async def test_a_damaged_record_is_named(used: Store, used_url: str) -> None:
    await fold_ended(used)
    async with used.begin() as tx:
        its = folded_rounds.c.round_id == 1
        blob = await tx.connection.scalar(select(folded_rounds.c.record).where(its))
        assert blob is not None
        await tx.connection.execute(update(folded_rounds).where(its).values(record=blob[:-1] + b"\x00\x01"))
    async with open_store(used_url) as store:
        async with store.read() as tx:
            with pytest.raises(DamagedError):
                await tx.submissions.results(1)
            found = {check.name: check.faults async for check in checks(tx.connection)}
        assert (await replayed(store, 0)).verdict == "equal"
        assert (await replayed(store, 1)).verdict == "different"
    assert any("of 1 is not what" in fault for fault in found["digests"])
    assert not any("of 0 is not what" in fault for fault in found["digests"])


async def test_two_folded_rounds_may_name_one_document(used: Store, used_url: str) -> None:
    d = dispatches.c
    async with used.begin() as tx:
        of_first = select(d.signed_sha256).where(d.round_id == 0, d.signed_sha256.is_not(None)).limit(1)
        shared = await tx.connection.scalar(of_first)
        its = select(func.min(d.task_id)).where(d.round_id == 1, d.signed_sha256.is_not(None)).scalar_subquery()
        same = update(dispatches).where(d.round_id == 1, d.task_id == its, d.signed_sha256.is_not(None))
        await tx.connection.execute(same.values(signed_sha256=shared))
    before = [await results_of(used_url, round_id) for round_id in (0, 1)]
    assert await fold_ended(used) == 2
    async with open_store(used_url) as store, store.read() as tx:  # of one memory
        assert [await tx.submissions.judgements(round_id) for round_id in (0, 1)] == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [{**row, "role) VALUES (1) --": 1} for row in rows], "columns that groups has not"),
        (lambda rows: rows * 2, "UNIQUE constraint"),
        (lambda rows: [{**row, "primaries": None} for row in rows], "NOT NULL constraint"),
        (lambda rows: [{**row, "primaries": [1]} for row in rows], "not supported"),
    ],
)
async def test_a_record_that_does_not_fit_its_tables_is_refused_each_time(
    used: Store, used_url: str, change: Callable[[list[Any]], list[Any]], told: str
) -> None:
    await fold_ended(used)
    async with used.begin() as tx:
        its = folded_rounds.c.round_id == 0
        blob = await tx.connection.scalar(select(folded_rounds.c.record).where(its))
        assert blob is not None
        rows = unfolded(expanded(blob)).rows()
        rows["groups"] = change(rows["groups"])  # the scores come before them
        await tx.connection.execute(update(folded_rounds).where(its).values(record=compressed(folded(rows))))
    async with open_store(used_url) as store, store.read() as tx:
        for _ in range(2):
            with pytest.raises(DamagedError, match=told):
                await tx.scores.of_round(0)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=2)), None])
def test_moments_are_kept_in_memory_as_sqlite_has_them(zone: tzinfo | None) -> None:
    moment = datetime(2026, 11, 20, 12, tzinfo=UTC)
    there = moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone)
    assert as_sqlite(there) == "2026-11-20 12:00:00.000000"
