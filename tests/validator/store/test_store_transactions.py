import asyncio
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Table, event, insert, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from state_kit import plant_flag
from store_examples import HOTKEYS, PYTHON, a_round, at, open_round, snapshot, task_id

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import DispatchKey, Failure
from sssa.protocol.reasons import Reason
from sssa.protocol.round import FlagRaised
from validator.store import Store
from validator.store.errors import MismatchError, UnstorableError
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import WindowEntry
from validator.store.tables import answers, dispatches, metadata, rounds, salts, tasks


async def _rows(store: Store) -> dict[str, int]:
    async with store.read() as tx:
        return {
            name: (await tx.connection.execute(text(f"SELECT count(*) FROM {name}"))).scalar_one()
            for name in metadata.tables
        }


async def test_an_exception_takes_everything_back(store: Store) -> None:
    before = await _rows(store)
    frozen, plan = a_round(0)

    async def work() -> None:
        async with store.begin() as tx:
            await tx.rounds.open(frozen, plan, at(0))
            await tx.bundles.put(sha256_hex(b"bundle"), b"bundle", at(0))
            await tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32))
            assert await tx.rounds.next_id() == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    assert await _rows(store) == before


async def test_a_statement_that_fails_takes_everything_back(store: Store) -> None:
    await open_round(store)
    before = await _rows(store)

    async def work() -> None:
        async with store.begin() as tx:
            await tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32))
            await tx.windows.enter(0, [WindowEntry("nobody", PYTHON, 0, "t", 1.0)])

    with pytest.raises(MismatchError):
        await work()
    assert await _rows(store) == before


async def test_cancelling_takes_everything_back_and_the_store_goes_on(store: Store) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with store.begin() as tx:
            await tx.miners.seen(snapshot())
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with store.begin() as tx:
        assert await tx.miners.listing(at(0)) == ()
        await tx.miners.seen(snapshot())


@pytest.mark.parametrize("fatal", range(1, 16))
async def test_cancelling_at_any_statement_leaves_all_or_nothing(store: Store, fatal: int) -> None:
    frozen, plan = a_round(0)
    statements: list[str] = []

    async def work() -> None:
        async with store.begin() as tx:
            await tx.rounds.open(frozen, plan, at(0))

    task = asyncio.create_task(work())

    def cancel_at_the_fatal_one(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)
        if len(statements) == fatal:
            task.cancel()

    event.listen(store._engine.sync_engine, "before_cursor_execute", cancel_at_the_fatal_one)
    await asyncio.wait([task])
    event.remove(store._engine.sync_engine, "before_cursor_execute", cancel_at_the_fatal_one)
    assert task.cancelled() == (len(statements) >= fatal)
    async with store.begin() as tx:
        rounds_after = await tx.rounds.next_id()
    rows = await _rows(store)
    # Cancelled in the very COMMIT, a task cannot know which of the two it is.
    assert (rows["rounds"], rows["dispatches"]) in ([(0, 0), (1, 5)] if task.cancelled() else [(1, 5)])
    assert rounds_after == rows["rounds"]


async def test_a_reader_sees_one_moment_while_a_writer_writes(store: Store) -> None:
    await open_round(store, 0)
    async with store.read() as reader:
        assert await reader.rounds.next_id() == 1
        async with store.begin() as writer:
            frozen, plan = a_round(1)
            await writer.rounds.open(frozen, plan, at(1))
            assert await reader.rounds.next_id() == 1
        assert await reader.rounds.next_id() == 1
        assert await reader.rounds.get(1) is None
    async with store.read() as reader:
        assert await reader.rounds.next_id() == 2


async def test_reading_cannot_write(store: Store) -> None:
    for _ in range(2):  # also after a write on the same connection
        with pytest.raises(DBAPIError, match=r"read-?\s?only"):
            async with store.read() as tx:
                await tx.miners.seen(snapshot())
        async with store.begin() as tx:
            await tx.miners.seen(snapshot())


KEY: dict[str, Any] = {"round_id": 0, "task_id": "none", "hotkey": HOTKEYS[0]}
ORPHANS: list[tuple[Table, dict[str, Any]]] = [
    (dispatches, {**KEY, "skill_type": "x", "role": "primary", "rank": 0, "state": "planned"}),
    (answers, {**KEY, "body": b"", "stored_at": at(0)}),
]


@pytest.mark.parametrize(("table", "row"), ORPHANS, ids=lambda value: getattr(value, "name", None))
async def test_rows_without_what_they_refer_to_are_refused(store: Store, table: Table, row: dict[str, Any]) -> None:
    await open_round(store)
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await tx.connection.execute(insert(table), row)


async def test_conduct_of_strangers_is_refused(store: Store) -> None:
    await open_round(store)
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await plant_flag(tx, FlagRaised("nobody", PYTHON, 0.95, 0.5, 0.25, 0.75, 5), 0, at(0))


@pytest.mark.parametrize("table", [rounds, tasks, dispatches], ids=lambda table: table.name)
async def test_unknown_states_are_refused(store: Store, table: Table) -> None:
    await open_round(store)
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await tx.connection.execute(update(table).values(state="perhaps"))


@pytest.mark.parametrize("strange", ["a\0b", "\ud800", "ok\udfff"])
async def test_text_that_a_database_could_not_give_back_is_refused_by_both(store: Store, strange: str) -> None:
    with pytest.raises(UnstorableError, match="NUL or a lone surrogate"):
        async with store.begin() as tx:
            await tx.capabilities.put(strange, b"{}", at(0), at(1), at(0))
    async with store.read() as tx:
        with pytest.raises(UnstorableError):
            await tx.flags.get(strange)


@pytest.mark.parametrize(
    "strange", ["", "'; DROP TABLE rounds; --", "%s %(x)s :x ?", "naïve 🦀 \u202e\u2028", "x" * 5000]
)
async def test_strange_hotkeys_come_back_as_they_went_in(store: Store, strange: str) -> None:
    async with store.begin() as tx:
        await tx.miners.seen(snapshot(0, [strange]))
        await tx.capabilities.put(strange, b"\x00\xff{", at(0), at(1), at(0))
    async with store.read() as tx:
        assert [miner.hotkey for miner in await tx.miners.listing(at(0))] == [strange]
        assert await tx.capabilities.valid(at(0)) == {strange: b"\x00\xff{"}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_numbers_that_are_none_are_refused(store: Store, number: float) -> None:
    await open_round(store)
    with pytest.raises(UnstorableError, match="finite"):
        async with store.begin() as tx:
            await tx.windows.enter(0, [WindowEntry(HOTKEYS[0], PYTHON, 0, task_id(0, PYTHON), number)])
    with pytest.raises(UnstorableError):
        async with store.begin() as tx:
            await tx.weights.prepare(1, 0, 0, PlannedWeights({"a": number}, {}, 0.0, {}), at(0))


async def test_times_without_a_zone_are_refused(store: Store) -> None:
    with pytest.raises(UnstorableError, match="time zone"):
        async with store.begin() as tx:
            await tx.bundles.put(sha256_hex(b""), b"", datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused


async def test_messages_from_strangers_are_made_harmless(store: Store) -> None:
    _, plan = await open_round(store)
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    async with store.begin() as tx:
        await tx.arrivals.failed(
            [Failure(key, Reason.DEADLINE_TRANSPORT, detail="bad\0 \x1b[31m\nline \ud800" + "x" * 9000)]
        )
    async with store.read() as tx:
        detail = (await tx.dispatches.of_round(0))[0].detail
    assert detail is not None
    assert detail.startswith(r"bad\u0000 \u001b[31m\u000aline \ud800xxx")
    assert len(detail) < 2100


async def test_no_parameter_stands_in_a_database_error(store: Store) -> None:
    salt = {"id": 1, "salt": b"a secret salt", "commitment": "c" * 64}
    with pytest.raises(IntegrityError) as caught:
        async with store.begin() as tx:
            await tx.connection.execute(insert(salts), [salt, salt])
    assert "parameters hidden" in str(caught.value)
    assert "secret" not in str(caught.value)
