"""Old rounds in files: every reader finds them as they were, and what was stopped at any moment continues."""

import asyncio
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from old_rounds import ARCHIVED, LATER, MINERS, archived, log_of, opened, put, put_into, told
from sqlalchemy import delete, func, select, update

from validator.audit.replay.batches import replay_rounds
from validator.store import Store
from validator.store.archive import archives_in, open_archive
from validator.store.archiving import KEPT_ROUNDS, choose
from validator.store.checking import Check, checks
from validator.store.copying import copy_store
from validator.store.errors import ArchivedError, ArchiveError, DamagedError
from validator.store.rows import ScoreRecord
from validator.store.tables import (
    records,
    rounds,
    salts,
    waiting_work,
)


@pytest.fixture(scope="module")
def log(played: Path) -> bytes:
    return asyncio.run(log_of(f"sqlite:///{played}"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


@pytest.fixture
def url(played: Path, tmp_path: Path) -> str:
    return put(played, f"sqlite:///{tmp_path}/store.sqlite")


async def looked_through(url: str, folder: Path | None = None) -> dict[str, Check]:
    async with opened(url, folder) as store, store.read() as tx:
        return {check.name: check async for check in checks(tx, folder)}


async def test_a_file_has_the_bytes_of_the_records(url: str, folder: Path) -> None:
    async with opened(url) as store, store.read() as tx:
        before = [tuple([frame async for frame in tx.records.frames(number)]) for number in range(ARCHIVED)]
    await archived(url, folder)
    first, second = map(open_archive, archives_in(folder))
    assert [*map(first.frames, range(3)), second.frames(3)] == before


async def test_every_reader_says_of_archived_rounds_what_it_said_before(
    played: Path, log: bytes, empty_store_url: str, folder: Path
) -> None:
    url = await put_into(played, empty_store_url)
    before = await told(url)
    files = await archived(url, folder)
    assert [(one.first_round, one.last_round, one.removed_through) for one in files] == [(0, 2, 2), (3, 3, 3)]
    assert {stat.S_IMODE(file.stat().st_mode) for file in archives_in(folder)} == {0o600}
    async with opened(url) as store, store.read() as tx:
        assert await tx.connection.scalar(select(func.min(records.c.round_id))) == ARCHIVED
    assert await told(url, folder) == before
    assert await log_of(url, folder) == log
    found = await looked_through(url, folder)
    assert [check.faults for check in found.values()] == [[]] * len(found)
    assert found["archives"].looked == ARCHIVED


class KilledError(Exception):
    """The process is gone."""


def killer(after: int) -> Callable[[], None]:
    steps: Iterator[int] = iter(range(after))

    def step() -> None:
        if next(steps, None) is None:
            raise KilledError

    return step


@pytest.fixture
def round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction removes a round: a block is in both places in part."""
    monkeypatch.setattr("validator.store.archiving._ROUNDS", 1)


@pytest.mark.usefixtures("round_by_round")
async def test_killed_at_any_step_a_round_is_somewhere_and_the_next_run_goes_on(
    url: str, log: bytes, folder: Path
) -> None:
    async def scored() -> tuple[ScoreRecord, ...]:
        async with opened(url, folder) as store, store.read() as tx:
            return await tx.scores.of_miner(MINERS[0], 1000)

    removed, before = set[int](), await scored()
    for steps in (0, 1, 3, 6, 3, 3, 0, 1, 2, 99):
        with suppress(KilledError):
            await archived(url, folder, advance=killer(steps))
        assert await log_of(url, folder) == log
        assert await scored() == before
        async with opened(url) as store, store.read() as tx:
            through = await tx.archives.removed_through()
            removed.add(through)
            assert await tx.dispatches.of_round(through + 1)  # in both places: no folder is needed
    assert removed == {-1, 0, 1, 2, 3}
    assert len(archives_in(folder)) == 2
    assert await archived(url, folder) == []
    assert (await looked_through(url, folder))["archives"].faults == []


@pytest.mark.usefixtures("round_by_round")
async def test_a_record_that_is_gone_before_it_was_removed_is_a_fault_although_a_file_has_it(
    url: str, folder: Path
) -> None:
    with suppress(KilledError):
        await archived(url, folder, advance=killer(6))
    async with opened(url, folder) as store:
        async with store.begin() as tx:
            assert await tx.archives.removed_through() == 0
            await tx.connection.execute(delete(records).where(records.c.round_id == 2))
        async with store.read() as tx:
            assert await tx.records.head(0)
            with pytest.raises(DamagedError, match="round 2 has ended and has no record"):
                await tx.records.head(2)


async def test_whoever_forgets_the_folder_is_told_which_setting_names_it(url: str, folder: Path) -> None:
    await archived(url, folder)
    async with opened(url) as store, store.read() as tx:
        for ask in (
            tx.rounds.get(1),
            tx.dispatches.of_round(1),
            tx.scores.of_miner(MINERS[0], 1000),
            tx.proofs.of_task((await tx.tasks.of_round(1))[0].task_id),
        ):
            with pytest.raises(ArchivedError, match=r"in rounds-0000000\d+-0000000\d+\.archive.*in store\.archive"):
                await ask
        assert await tx.scores.of_miner("5Nobody", 1000) == ()
        assert await tx.rounds.get(ARCHIVED) is not None
    found = await looked_through(url)
    assert (found["archives"].looked, [check.faults for check in found.values()]) == (ARCHIVED, [[]] * len(found))


def test_rounds_are_replayed_from_files_and_none_is_called_different_without_them(url: str, folder: Path) -> None:
    asyncio.run(archived(url, folder))
    for asked in (0, ARCHIVED):  # the newer one counts code of an older one's
        with pytest.raises(ArchivedError):
            list(replay_rounds(url, [asked]))
    assert [one.verdict for one in replay_rounds(url, [1], archive=folder)] == ["equal"]


async def test_a_copy_and_an_older_backup_work_with_the_same_files(  # noqa: PLR0913, PLR0917 - fixtures
    played: Path, url: str, log: bytes, folder: Path, postgres_url: str, tmp_path: Path
) -> None:
    await archived(url, folder)
    await copy_store(url, postgres_url, lambda _table, _rows: None)
    assert await log_of(postgres_url, folder) == log
    older = put(played, f"sqlite:///{tmp_path}/older.sqlite")
    before = [file.stat().st_ino for file in archives_in(folder)]
    assert await log_of(older, folder) == log
    await archived(older, folder)
    assert await log_of(older, folder) == log
    assert [file.stat().st_ino for file in archives_in(folder)] == before


async def test_what_something_still_needs_stays(url: str) -> None:
    async def last(tx: Any, keep: int = 0) -> tuple[int, str | None]:
        choice = await choose(tx, LATER, keep)
        return choice.last, choice.held

    async with opened(url) as store:
        async with store.read() as tx:
            assert await last(tx) == (5, "round 6 has a code check that is not over, or not counted yet")
            assert KEPT_ROUNDS == 31
            assert (await choose(tx, LATER)).last == -1
            ended = [record.settled_at for record in reversed(await tx.rounds.listing(100))]
            assert ended[3] is not None
            assert (await choose(tx, ended[3], 0)).last == 2
        for change, held in (
            (update(rounds).where(rounds.c.round_id == 5).values(state="open"), "round 5 is open"),
            (
                update(waiting_work).where(waiting_work.c.round_id == 4).values(entered_in=None),
                "round 4 has a code check that is not over, or not counted yet",
            ),
            (
                update(waiting_work)
                .where(waiting_work.c.round_id == 2)
                .values(state="pending", ended_at=None, result=None, entered_in=None),
                "round 2 has a code check that is not over, or not counted yet",
            ),
        ):
            async with store.begin() as tx:
                await tx.connection.execute(change)
                assert await last(tx) == (int(held.split()[1]) - 1, held)
        async with store.begin() as tx:
            await tx.connection.execute(update(salts).where(salts.c.epoch.is_not(None)).values(revealed_in=None))
            assert (await last(tx))[1] == "round 0 is of an epoch whose salt is secret"
            assert (
                await tx.connection.execute(select(waiting_work).where(waiting_work.c.kind == "executions"))
            ).all() == []


async def test_a_round_that_is_needed_again_meanwhile_stays(url: str, log: bytes, folder: Path) -> None:
    with pytest.raises(KilledError):
        await archived(url, folder, advance=killer(3))
    check = update(waiting_work).where(waiting_work.c.round_id == 2)
    async with opened(url) as store, store.begin() as tx:
        await tx.connection.execute(check.values(state="pending", ended_at=None, result=None, entered_in=None))
    with pytest.raises(ArchiveError, match="goes to round 2, which may not go yet; move it away"):
        await archived(url, folder)
    assert await log_of(url, folder) == log


@pytest.mark.usefixtures("round_by_round")
async def test_a_round_that_is_needed_again_while_others_are_removed_stays(url: str, log: bytes, folder: Path) -> None:
    steps = 0

    def reopened() -> None:
        nonlocal steps
        steps += 1
        if steps == 3 * 2 + 1:  # of three rounds all are written and held, one is removed
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                connection.execute(
                    "UPDATE waiting_work SET state = 'pending', ended_at = NULL, result = NULL,"
                    " entered_in = NULL WHERE round_id = 2"
                )
                connection.commit()

    with pytest.raises(
        ArchiveError, match=r"round 2 has a code check that is not over.*; run the command again when it is"
    ):
        await archived(url, folder, advance=reopened)
    async with opened(url, folder) as store, store.read() as tx:
        assert await tx.archives.removed_through() == 1
    assert await log_of(url, folder) == log


async def test_two_at_once_take_no_round_twice(url: str, log: bytes, folder: Path) -> None:
    await asyncio.gather(*(archived(url, folder) for _ in range(2)), return_exceptions=True)
    assert await log_of(url, folder) == log
    await archived(url, folder)
    assert await log_of(url, folder) == log
    assert [check.faults for check in (await looked_through(url, folder)).values()] == [[]] * 7


async def test_readers_at_once_do_not_disturb_each_other(url: str, folder: Path) -> None:
    await archived(url, folder)

    async def read(store: Store, round_id: int) -> Any:
        async with store.read() as tx:
            return await tx.rounds.get(round_id), [each async for each in tx.submissions.each(round_id)]

    async with opened(url, folder) as alone:
        expected = [await read(alone, round_id) for round_id in range(5)]
    async with opened(url, folder) as store:
        found = await asyncio.gather(*(read(store, number % 5) for number in range(20)))
    assert found == expected * 4
