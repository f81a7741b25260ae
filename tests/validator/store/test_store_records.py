"""Records of ended rounds: one for each, whatever the end; every reader reads them, nothing changes them."""

import asyncio
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from planned import planned
from recorded import flipped, rewrite
from replays import replayed
from sqlalchemy import Table, func, select, update
from store_examples import HOTKEYS, PYTHON, a_round, an_outcome, answer_all, at, open_round, play_round, settle
from world import VALIDATOR, World, on_virtual_time, online, prepared

import validator
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.dispatch_record import DispatchKey, Failure
from sssa.protocol.reasons import Reason
from validator.audit.export import audit_lines
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.store import Store, open_store, record
from validator.store.checking import checks
from validator.store.codec import compressed, expanded
from validator.store.copying import copy_store
from validator.store.errors import DamagedError, MismatchError
from validator.store.record import SKIPPED, Head, Items, OpenRound, RoundEnding, frames, group_of, head_of, recorded
from validator.store.rows import planned_tasks
from validator.store.tables import dispatches, judged_documents, records, rounds

PACKAGE = Path(validator.__file__).parent


async def everything(url: str) -> list[Any]:
    """Return the results of every reader of rounds, from a store that was opened anew."""
    found: list[Any] = []
    async with open_store(url) as store, store.read() as tx:
        for round_id in await tx.rounds.ids():
            found += [
                await tx.rounds.get(round_id),
                await tx.groups.of_round(round_id),
                scored := await tx.dispatches.scored(round_id),
                [await tx.dispatches.answer_body(one.key) for one in scored],
                await tx.submissions.results(round_id),
                [each async for each in tx.submissions.each(round_id)],
                [await tx.proofs.of_task(task.task_id) for task in await tx.tasks.of_round(round_id)],
            ]
        found += [await tx.scores.of_miner(one, most) for one in {o.key.hotkey for o in scored} for most in (1, 1000)]
        numbers = range(await tx.receipts.count())
        found += [line for number in numbers async for line in audit_lines(tx, number)]
    return found


async def rows(store: Store, table: Table) -> int:
    async with store.read() as tx:
        return int(await tx.connection.scalar(select(func.count()).select_from(table)) or 0)


@pytest.mark.parametrize(("size", "is_frame"), [(256 * 1024, False), (256 * 1024 + 1, True)])
def test_a_large_proof_is_a_frame_after_the_attestations(size: int, is_frame: bool) -> None:
    proof = Random(size).randbytes(size)
    frozen, plan = a_round(0, {PYTHON: ()})
    (task,) = planned_tasks(frozen, plan)
    proofs = {task.task_id: compressed(proof)}
    made = recorded(OpenRound(0, None, b"{}", [task], (), {}), RoundEnding(Reason.SETTLED, b"{}", proofs=proofs))
    items = Items()
    _, item = [item for frame in made.frames for item in items.take(expanded(frame))]
    group = group_of(item)
    assert (group.is_frame, group.proof) == (is_frame, proof)


async def test_a_round_that_ends_leaves_its_record_and_narrow_rows(store: Store) -> None:
    await planned(store)
    async with store.read() as tx:
        ids = await tx.rounds.ids()
        narrow = (await tx.connection.execute(select(dispatches).limit(1))).one()
        blobs = {blob for row in await tx.connection.execute(select(rounds.c.input, rounds.c.plan)) for blob in row}
        found = [check async for check in checks(tx)]
    assert await rows(store, records) == len(ids) > 1
    assert await rows(store, judged_documents) == 0
    assert (narrow.sent_at, narrow.submission, narrow.raw, narrow.signed_sha256) == (None,) * 4
    assert narrow.reason is not None
    assert blobs == {None}
    assert [check.faults for check in found] == [[]] * len(found)
    for round_id in ids:
        assert (await replayed(store, round_id)).verdict == "equal"


async def test_whatever_its_end_a_round_has_one_record(store: Store) -> None:
    frozen, plan = await open_round(store, 0)
    await answer_all(store, plan, failing=frozenset({HOTKEYS[0]}))
    async with store.begin() as tx:
        await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, at(60))
        await tx.rounds.skip(1, epoch=4, block=9, block_hash="ff", reason=Reason.SKIPPED_NO_TASKS, at=at(61))
        await tx.rounds.open(*a_round(2), at(62))
        await tx.rounds.settle(2, "abandoned", Reason.ABANDONED_VERSION, None, at(63))
    async with store.read() as tx:
        heads = [await tx.records.head(round_id) for round_id in range(4)]
        void, skipped, abandoned, nothing = heads
        signed = [len(group.signed) async for group in tx.records.groups(0)]
    assert void is not None
    assert (void.input, void.outcome) == (canonical_bytes(frozen), None)
    assert [one.reason for one in void.dispatches] == ["deadline_late", *["accepted"] * 4]
    assert signed == [0]  # nothing of a void task counts
    assert skipped == Head(1, None, None, None, ())
    assert abandoned is not None
    assert {one.state for one in abandoned.dispatches} == {"void"}
    assert nothing is None


async def test_a_record_is_what_the_open_round_was(store: Store) -> None:
    world = World(store)
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    async with store.read() as tx:
        before = await tx.rounds.open_rows(0)
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    async with store.read() as tx:
        head = await tx.records.head(0)
    assert head is not None
    assert head.input == expanded(before.input or b"")
    kept = ("task_id", "hotkey", "sent_at", "received_at", "http_status", "body_bytes", "raw", "seconds")
    assert [[getattr(one, name) for name in kept] for one in head.dispatches] == [
        [getattr(one, name) for name in kept] for one in before.dispatches
    ]


async def test_a_record_of_other_ends_than_the_tables_have_is_refused(store: Store) -> None:
    _, plan = await open_round(store, 0)
    await answer_all(store, plan)
    async with store.read() as tx:
        void = recorded(await tx.rounds.open_rows(0), RoundEnding(Reason.VOID_OFFLINE))
    with pytest.raises(MismatchError, match="the record of round 0 has another end"):
        async with store.begin() as tx:
            await tx.rounds.settle(0, "settled", Reason.SETTLED, an_outcome(0, plan), at(9), record=void)
    fault = Failure(DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0]), Reason.BUG_INTERNAL)
    with pytest.raises(MismatchError, match="1 dispatches have changed"):  # noqa: PT012 - the transaction must end by it
        async with store.begin() as tx:
            await tx.dispatches.void(fault)
            await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, at(9), record=void)
    await settle(store, plan)


async def test_nothing_goes_before_the_record_was_read_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plan = await open_round(store, 0)
    await answer_all(store, plan)
    async with store.read() as tx:
        before = await tx.submissions.results(0)
    monkeypatch.setattr("validator.store.repositories.records.bytes", lambda _: b"other", raising=False)
    with pytest.raises(DamagedError, match="was not read back as it was written"):
        await settle(store, plan)
    monkeypatch.undo()
    async with store.read() as tx:
        assert await tx.submissions.results(0) == before
    assert await rows(store, records) == 0
    assert await rows(store, judged_documents) == len(before.passed)


async def test_a_copy_on_the_other_database_reads_the_same(
    store: Store, store_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    await planned(store)
    before = await everything(store_url)
    sqlite = store_url.startswith("sqlite")
    other = request.getfixturevalue("empty_postgres_url") if sqlite else f"sqlite:///{tmp_path}/copy.sqlite"
    await copy_store(store_url, other, lambda _name, _rows: None)
    assert await everything(other) == before


async def test_a_record_of_many_frames_reads_as_one_of_few(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for round_id in range(2):
        await play_round(store, round_id)
    before = await everything(store_url)
    monkeypatch.setattr(record, "FRAME", 500)
    async with store.begin() as tx:
        await rewrite(tx)
    async with store.read() as tx:
        parts = [expanded(frame) async for frame in tx.records.frames(0)]
    assert len(parts) > 8
    assert max(map(len, parts)) == 500
    assert await everything(store_url) == before


async def test_readers_at_once_do_not_disturb_each_other(store: Store) -> None:
    for round_id in range(2):
        await play_round(store, round_id)

    async def read(round_id: int) -> Any:
        async with store.read() as tx:
            return await tx.rounds.get(round_id), [each async for each in tx.submissions.each(round_id)]

    expected = [await read(round_id) for round_id in (0, 1)]
    assert await asyncio.gather(*(read(number % 2) for number in range(8))) == expected * 4


async def test_a_damaged_record_is_named(store: Store) -> None:
    world = World(store)
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    await close_epoch(store, VALIDATOR, world.clock)
    async with store.begin() as tx:
        await flipped(tx, 1)
    async with store.read() as tx:
        with pytest.raises(DamagedError):
            await tx.submissions.results(1)
        found = {check.name: check.faults async for check in checks(tx)}
    assert [(await replayed(store, one)).verdict for one in (0, 1)] == ["equal", "different"]
    assert [fault.split(":")[0] for fault in found["digests"]] == ["the record of round 1"]
    assert found["receipts"] == ["receipt 2 names other lines than round 1 has"]


def test_a_stream_that_is_cut_or_claims_too_much_is_refused() -> None:
    data = expanded(b"".join(frames(Head(1, b"{}", None, None, ()))))
    items = Items()
    assert list(items.take(data[:5])) == []
    with pytest.raises(DamagedError, match="cut short"):
        items.require_end()
    (item,) = items.take(data[5:])
    items.require_end()
    assert head_of(item).input == b"{}"
    with pytest.raises(DamagedError, match="would have"):
        list(items.take(b"\xff\xff\xff\xff"))
    with pytest.raises(DamagedError, match="cannot be read"):
        head_of(b"\x90")


async def test_a_round_with_a_document_that_cannot_be_read_can_still_be_void(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:1]})
    await answer_all(store, plan)
    async with store.begin() as tx:
        await tx.connection.execute(update(judged_documents).values(signed=b"torn"))
    with pytest.raises(DamagedError):
        await settle(store, plan)
    async with store.begin() as tx:
        await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, at(60))


async def test_a_document_that_an_answer_names_must_be_there(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:1]})
    await answer_all(store, plan)
    async with store.read() as tx:
        found = await tx.rounds.open_rows(0)
    outcome = an_outcome(0, plan)
    with pytest.raises(DamagedError, match="no document"):
        recorded(found._replace(documents={}), RoundEnding(Reason.SETTLED, b"{}", outcome.groups))


def test_nothing_but_settling_writes_records() -> None:
    writes = re.compile(r"(?:insert|update|delete|_insert\w*|_upsert|_update_each)\(records\b")
    found = {
        path.relative_to(PACKAGE).as_posix(): writes.findall(path.read_text())
        for path in PACKAGE.rglob("*.py")
        if writes.search(path.read_text())
    }
    assert found == {"store/repositories/records.py": ["_insert(records"]}


@pytest.mark.parametrize(("size", "level"), [(200_000, 19), (3 * 1024 * 1024, 3)])
def test_only_a_record_of_few_bytes_waits_for_the_best_compression(size: int, level: int) -> None:
    dice = Random(1)
    plan = b"".join(b"%x" % dice.randrange(4_096) for _ in range(size // 2))[:size]
    (frame,) = frames(msgspec.structs.replace(SKIPPED, plan=plan))
    assert frame == compressed(expanded(frame), level)
    assert compressed(expanded(frame), 19) != compressed(expanded(frame), 3)
