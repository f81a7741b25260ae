import pytest
from sqlalchemy.exc import IntegrityError
from store_examples import HOTKEYS, PYTHON, RAG, at, play_round, task_id

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.round import ExecutionResult
from sssa.protocol.skill_types import SkillType
from validator.store import Store
from validator.store.errors import AlreadyPreparedError, EmptyReasonError, MismatchError, WrongStateError
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import WeightMark, WeightsRecord, WindowEntry

A, B = HOTKEYS[:2]


async def played(store: Store, rounds: int) -> None:
    for round_id in range(rounds):
        await play_round(store, round_id, {PYTHON: (A, B), RAG: (A,)})


def entry(round_id: int, value: float, hotkey: str = A, name: SkillType = PYTHON) -> WindowEntry:
    return WindowEntry(hotkey, name, round_id, task_id(round_id, name), value)


async def test_entries_are_listed_as_they_were_when_a_round_had_settled(store: Store) -> None:
    await played(store, 4)
    async with store.begin() as tx:
        await tx.windows.enter(0, [entry(0, 0.1), entry(0, 0.2, B)])
        await tx.windows.enter(1, [entry(1, 0.3)])
        await tx.windows.enter(2, [entry(1, 0.5, B), entry(2, 0.4), entry(2, 0.6, name=RAG)])  # one of them is late
    async with store.read() as tx:
        assert await tx.windows.of_round(2) == (entry(1, 0.5, B), entry(2, 0.4), entry(2, 0.6, name=RAG))
        assert await tx.windows.of_round(3) == ()
        assert [one.value for one in (await tx.windows.newest(A, 2, 3))[PYTHON]] == [0.3, 0.4]
        assert [one.value for one in (await tx.windows.newest(A, 9, 1))[PYTHON]] == [0.1, 0.3]
        assert [(await tx.windows.added_after(B, round_id))[PYTHON] for round_id in range(3)] == [1, 1, 0]
        assert await tx.windows.all(9, 1, {A, B}) == {A: {PYTHON: [0.1, 0.3]}, B: {PYTHON: [0.2]}}
        assert await tx.windows.all(2, 2, {A, B}) == {A: {PYTHON: [0.3, 0.4], RAG: [0.6]}, B: {PYTHON: [0.2, 0.5]}}
        assert set(await tx.windows.all(9, 3, {B})) == {B}
        late, own = (DispatchKey(1, task_id(1, PYTHON), hotkey) for hotkey in (B, A))
        assert [await tx.windows.entered_in(key) for key in (late, own, own._replace(round_id=3))] == [2, 1, None]


async def test_what_execution_strikes_is_worth_nothing_from_then_on(store: Store) -> None:
    await played(store, 1)
    struck = [ExecutionResult("0", task_id(0, PYTHON), hotkey, PYTHON, "rerun_fail") for hotkey in (A, B)]
    async with store.begin() as tx:
        await tx.windows.enter(0, [entry(0, 0.1)])
        assert [*(await tx.windows.strike(struck)).values()] == [0.1, 0.0]  # B's was never entered
        assert await tx.windows.of_round(0) == (entry(0, 0.0),)


async def test_an_entry_belongs_to_a_dispatch(store: Store) -> None:
    await played(store, 1)
    with pytest.raises(MismatchError, match="did not get"):
        async with store.begin() as tx:
            await tx.windows.enter(0, [entry(0, 0.1, B, RAG)])


def planned(vector: dict[str, float], scores: dict[str, float] | None = None, rest: float = 0.0) -> PlannedWeights:
    return PlannedWeights(vector, scores or {}, rest, {3: 65535, 11: 7})


async def test_an_epoch_is_prepared_once_and_sent_once(store: Store) -> None:
    plan = planned({A: 0.1 + 0.2, B: 1.0, "ü": 1e-9}, {A: 12.5, B: 0.0}, 0.25)
    other = planned({B: 1.0})
    async with store.begin() as tx:
        await tx.weights.prepare(7, 0, 41, other, at(0))
        first = await tx.weights.prepare(7, 0, 41, plan, at(1))
        others = [await tx.weights.prepare(*key, planned({}), at(1)) for key in ((7, 0, 42), (7, 1, 41), (8, 0, 41))]
    assert len({first.id, *(record.id for record in others)}) == 4
    assert first == WeightsRecord(
        first.id,
        7,
        0,
        41,
        "prepared",
        0,
        None,
        None,
        None,
        None,
        plan.sent,
        plan.vector,
        plan.scores,
        0.25,
        None,
        None,
        at(0),
        at(1),
    )
    async with store.read() as tx:
        left = await tx.weights.get(first.id)
        assert left is not None
        assert left.state == "expired"  # a later epoch was prepared
        assert (await tx.weights.of_epoch(7, 0, 43)) is None
        assert [record.id for record in await tx.weights.listing(2)] == [others[2].id, others[1].id]
        latest, newest = await tx.weights.latest(1), await tx.weights.newest(7, 0)
        assert latest is not None
        assert newest is not None
        assert (latest.id, newest.id) == (others[1].id, others[0].id)
        assert await tx.weights.latest(5) is None
        assert await tx.weights.newest(8, 1) is None
        assert await tx.weights.highest_confirmed(7) is None


async def test_only_one_of_those_who_prepared_may_send(store: Store) -> None:
    async with store.begin() as tx:
        one = await tx.weights.prepare(7, 0, 41, planned({A: 1.0}), at(0))
        two = await tx.weights.prepare(7, 0, 41, planned({B: 1.0}), at(1))
        await tx.weights.submit(one, planned({A: 0.5}), signed_block=100, lifetime=8, at=at(2))
        with pytest.raises(WrongStateError, match="not prepared any more"):
            await tx.weights.submit(two, planned({B: 1.0}), signed_block=100, lifetime=8, at=at(2))
        with pytest.raises(AlreadyPreparedError, match="netuid 7, mechanism 0, epoch 41"):
            await tx.weights.prepare(7, 0, 41, planned({B: 1.0}), at(3))
        record = await tx.weights.of_epoch(7, 0, 41)
        assert record is not None
        assert (record.state, record.attempts, record.vector) == ("submitted", 1, {A: 0.5})
        assert (record.signed_block, record.lifetime, record.expiry_block) == (100, 8, 108)
        await tx.weights.lose(record.id, at(4), "gone")
        await tx.weights.update(record.id, "expired", at(5))
        again = await tx.weights.prepare(7, 0, 41, planned({B: 1.0}), at(6))
        assert (again.state, again.attempts, again.expiry_block, again.message) == ("prepared", 1, 108, "gone")
        with pytest.raises(WrongStateError):
            await tx.weights.submit(two, planned({B: 1.0}), signed_block=120, lifetime=8, at=at(7))
        await tx.weights.submit(again, planned({B: 1.0}), signed_block=120, lifetime=8, at=at(7))


async def test_what_became_of_weights_is_noted_until_they_are_confirmed(store: Store) -> None:
    async with store.begin() as tx:
        row = (await tx.weights.prepare(7, 0, 41, planned({A: 1.0}), at(0))).id
        await tx.weights.update(row, "rejected", at(1), message="too soon\n\x1b[0m")
        await tx.weights.update(row, "submitted", at(2), block=9, extrinsic="0xab")
        await tx.weights.update(row, "confirmed", at(3))
        for change in (
            tx.weights.update(row, "unknown", at(4)),
            tx.weights.lose(row, at(4), None),
            tx.weights.update(row + 1, "unknown", at(4)),
        ):
            with pytest.raises(WrongStateError):
                await change
        record = await tx.weights.get(row)
        assert await tx.weights.highest_confirmed(7) == 9
    assert record is not None
    assert (record.state, record.block, record.extrinsic) == ("confirmed", 9, "0xab")
    assert record.message == r"too soon\u000a\u001b[0m"
    assert (record.created_at, record.updated_at) == (at(0), at(3))


async def test_marks_and_locks(store: Store) -> None:
    async with store.begin() as tx:
        guard = tx.weight_guard
        assert await guard.present()
        assert await guard.mark(7, 0, A) is None
        assert await guard.last_written(7) is None
        await guard.set_mark(7, 0, A, WeightMark(3, 100, 120), at(1))
        await guard.set_mark(7, 0, A, WeightMark(3, 130, 131), at(2))
        await guard.set_mark(7, 1, A, WeightMark(3, 90, 131), at(0))
        assert await guard.mark(7, 0, A) == WeightMark(3, 130, 131)
        assert await guard.last_written(7) == at(2)
        assert await guard.last_written(8) is None
        await tx.weights.prepare(7, 0, 41, planned({A: 1.0}), at(5))
        assert await guard.last_written(7) == at(5)

        assert await guard.locked() is None
        await guard.lock("block 9\x1b[0m", at(6))
        await guard.lock("block 10", at(7))
        lock = await guard.locked()
        assert lock is not None
        assert (lock.seen, lock.locked_at) == (r"block 9\u001b[0m", at(6))
        with pytest.raises(EmptyReasonError):
            await guard.unlock("  ", at(8))
        assert await guard.unlock("moved the machine", at(8)) == 1
        assert await guard.locked() is None
        assert await guard.mark(7, 1, A) is None
        assert await guard.unlock("again", at(9)) == 0


async def test_salts_wait_until_an_epoch_takes_them(store: Store) -> None:
    one, two = b"1" * 32, b"2" * 32
    async with store.begin() as tx:
        assert await tx.salts.pending() is None
        first = await tx.salts.add(one, sha256_hex(one))
        second = await tx.salts.add(two, sha256_hex(two))
        with pytest.raises(MismatchError):
            await tx.salts.add(b"3" * 32, sha256_hex(two))
        pending = await tx.salts.pending()
        assert pending is not None
        assert (pending.id, pending.salt, pending.epoch) == (first, one, None)
        assert "1111" not in repr(pending)
        await tx.salts.assign(first, 5)
        for salt_id, epoch in ((first, 6), (second, 5), (99, 7)):
            with pytest.raises(WrongStateError):
                await tx.salts.assign(salt_id, epoch)
        await tx.salts.assign(second, 6)
    async with store.read() as tx:
        assert await tx.salts.pending() is None
        current = await tx.salts.current(6)
        assert current is not None
        assert (current.salt, current.commitment) == (two, sha256_hex(two))
        assert await tx.salts.current(7) is None


async def test_the_same_salt_is_not_kept_twice(store: Store) -> None:
    salt = b"1" * 32
    async with store.begin() as tx:
        await tx.salts.add(salt, sha256_hex(salt))
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await tx.salts.add(salt, sha256_hex(salt))
