"""The guard: an epoch gets one submission, and whatever fails in between ends in a known state."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from sqlalchemy import text
from weights_world import ME, START, World, blocks, build, give_scores, restarted, run_until, running, scored

from localnet.chain.simulated import SimulatedChain
from validator.chain.interface import ChainUnreachableError, WeightsResult
from validator.store import Store
from validator.store.errors import StoreBusyError
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.telemetry import Event

ONE = {"miner0": 1.0}
# What a lone miner gets and the owner takes: uid 2 has 0.15, uid 1 the rest.
SENT = {1: 65535, 2: 11565}
PLAN = PlannedWeights({"miner0": 0.15}, ONE, 0.85, SENT)
LONG: dict[str, Any] = {"tempo": 39, "settings": {"blocks_before_epoch_end": 15}}  # due at 24, the end is 39


async def leave_row(world: World, state: str, *, epoch: int = 0, signed: int = 14, lifetime: int = 4) -> None:
    """Write the row that a killed process would leave in the store."""
    now = world.clock.now()
    async with world.store.begin() as tx:
        prepared = await tx.weights.prepare(1, 0, epoch, PLAN, now)
        if state != "prepared":
            await tx.weights.submit(prepared, PLAN, signed_block=signed, lifetime=lifetime, at=now)
        if state == "unknown":
            await tx.weights.lose(prepared.id, now, "gone")


async def test_a_lost_answer_is_unknown_until_the_chain_shows_the_weights(store: Store) -> None:
    world = await scored(store, ONE)
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(16)
        assert blocks(await world.records()) == [(0, "submitted", None)]
        await world.until_block(19)
        assert blocks(await world.records()) == [(0, "confirmed", 14)]
        assert world.events(Event.WEIGHTS_SUBMITTED)[0]["reason"] == "weights_unknown"
        (found,) = world.events(Event.WEIGHTS_CONFIRMED_LATE)
        assert set(found) - {"event", "log_level"} == Event.WEIGHTS_CONFIRMED_LATE.fields
        await world.until_block(39)
    assert world.sent == [14, 34]


async def test_what_the_chain_took_in_a_block_it_does_not_name_is_looked_up(store: Store) -> None:
    class Silent(SimulatedChain):
        async def set_weights(self, mechid: int, weights: Any, **given: Any) -> WeightsResult:
            taken = await super().set_weights(mechid, weights, **given)
            return taken._replace(block=None, extrinsic=None)

    world = await scored(store, ONE, chain=Silent)
    await run_until(world, 19)
    assert blocks(await world.records()) == [(0, "confirmed", 14)]


async def test_a_submission_that_can_no_longer_arrive_is_sent_again_in_the_same_epoch(store: Store) -> None:
    world = await scored(store, ONE, **LONG)
    world.chain.faults.delay = None
    async with running(world):
        await world.until_block(28)
        world.chain.faults.delay = 0
        # Given up at 27, and signed for the head 24 all the same: it may arrive until 28.
        (record,) = await world.records()
        assert (record.state, record.signed_block, record.expiry_block, record.attempts) == ("unknown", 24, 28, 1)
        assert world.sent == [24]
        await world.until_block(39)
    (record,) = await world.records()
    assert (record.state, record.block, record.attempts) == ("confirmed", 29, 2)
    (expired,) = world.events(Event.WEIGHTS_EXPIRED)
    assert set(expired) - {"event", "log_level"} == Event.WEIGHTS_EXPIRED.fields
    assert (expired["block"], expired["attempt"]) == (28, 1)
    assert world.sent == [24, 29]
    assert world.reasons() == ["weights_unknown"]


async def test_a_submission_that_arrives_late_is_not_sent_again(store: Store) -> None:
    world = await scored(store, ONE, **LONG)
    world.chain.faults.delay = 4
    world.chain.faults.lost_answers = 1
    await run_until(world, 39)
    assert blocks(await world.records()) == [(0, "confirmed", 28)]
    assert world.sent == [24]


async def test_a_submission_that_expires_after_its_epoch_leaves_the_next_one_alone(store: Store) -> None:
    world = await scored(store, ONE)
    world.chain.faults.delay = None
    async with running(world):
        await world.until_block(20)
        world.chain.faults.delay = 0
        await world.until_block(39)
    assert blocks(await world.records()) == [(0, "expired", None), (1, "confirmed", 34)]


async def test_equal_weights_of_an_earlier_epoch_do_not_pass_for_lost_ones(store: Store) -> None:
    world = await scored(store, ONE)
    async with running(world):
        await world.until_block(20)
        world.chain.faults.delay = None
        await world.until_block(45)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "expired", None)]


async def test_what_certainly_did_not_leave_is_sent_when_the_chain_is_back(store: Store) -> None:
    world = await scored(store, ONE)
    world.chain.faults.unsent = 1
    async with running(world):
        await world.until_block(14)
        (record,) = await world.records()
        assert (record.state, record.attempts) == ("prepared", 1)
        await world.until_block(19)
    (record,) = await world.records()
    assert (record.state, record.attempts) == ("confirmed", 2)
    assert world.reasons() == ["weights_chain_down"]
    assert [line["attempt"] for line in world.events(Event.WEIGHTS_SUBMITTED)] == [2]


async def test_a_row_that_was_prepared_only_is_planned_anew_and_sent(store: Store) -> None:
    world = await scored(store, {"miner1": 1.0})
    await world.clock.advance(15.0)
    await leave_row(world, "prepared")
    await run_until(world, 17)
    (record,) = await world.records()
    assert (record.state, record.block, record.attempts) == ("confirmed", 15, 1)
    assert record.vector == {"miner1": 0.15}


@pytest.mark.parametrize("state", ["submitted", "unknown"])
@pytest.mark.parametrize(("arrived", "outcome"), [(True, ("confirmed", 15)), (False, ("unknown", None))])
async def test_a_row_that_a_crash_left_open_is_settled_from_the_chain(
    store: Store, state: str, arrived: bool, outcome: tuple[str, int | None]
) -> None:
    world = await scored(store, ONE)
    await world.clock.advance(15.0)
    await leave_row(world, state)
    if arrived:
        assert world.subnet.set_weights(ME, 0, {2: 0.15, 1: 0.85}).accepted
    async with running(world):
        await world.until_block(17)
        (record,) = await world.records()
        assert (record.state, record.block) == outcome
        # Killed at 14 or later, found at 15: a killed one may have been signed at 15.
        assert record.expiry_block == 18
        await world.until_block(19)
    assert world.sent == []


@pytest.mark.parametrize("kept", [True, False])
async def test_a_row_that_a_crash_left_open_is_told_from_a_strangers_weights(
    store: Store, tmp_path: Path, kept: bool
) -> None:
    world = await scored(store, ONE, stop_file=tmp_path / "stop", weights_rate_limit=1)
    async with running(world):
        await world.until_block(1 if kept else 0)
    await world.clock.advance(15.0)
    await leave_row(world, "submitted")
    world.subnet.set_weights(ME, 0, {3: 1.0})
    await run_until(restarted(world), 17)
    assert [record.state for record in await world.records()] == ["submitted"]
    assert world.stop_file.exists()


async def test_the_last_write_is_complete_and_told_once_when_a_cancellation_surfaces(store: Store) -> None:
    world = await scored(store, ONE)
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(14)
        assert world.task is not None
        async with store.begin():  # the last write waits for this one
            for _ in range(2):
                world.task.cancel()
                for _ in range(5):
                    await asyncio.sleep(0)
            assert not world.task.done()
        await asyncio.gather(world.task, return_exceptions=True)
        assert blocks(await world.records()) == [(0, "unknown", None)]
        assert [line["reason"] for line in world.events(Event.WEIGHTS_SUBMITTED)] == ["weights_unknown"]


async def test_a_stop_in_mid_submission_ends_the_service_while_the_store_takes_no_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the simulation (seed 204): the error of the last write took the place of the stop."""

    def busy() -> NoReturn:
        raise StoreBusyError("simulated")

    world = await scored(store, ONE)
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(14)
        assert world.task is not None
        monkeypatch.setattr(store, "begin", busy)
        world.task.cancel()
        await asyncio.wait({world.task}, timeout=5.0)
        assert world.task.cancelled()
    assert blocks(await world.records()) == [(0, "submitted", None)]


async def test_committed_weights_are_told_by_the_update(store: Store) -> None:
    world = await scored(store, ONE, reveal_epochs=1)
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(19)
        assert world.subnet.weights(0, 0) == {}
        assert blocks(await world.records()) == [(0, "confirmed", 14)]
        await world.until_block(36)
        assert world.subnet.weights(0, 0) == SENT
        await world.until_block(61)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 34), (2, "confirmed", 54)]


async def test_a_change_of_mode_is_said(store: Store) -> None:
    class Changing(SimulatedChain):
        hidden = False

        async def parameters(self) -> Any:
            return (await super().parameters())._replace(commit_reveal=self.hidden)

    world = build(store, chain=Changing)
    assert isinstance(world.chain, Changing)
    await give_scores(store, world.subnet, ONE)
    async with running(world):
        await world.until_block(20)
        assert not world.events(Event.WEIGHTS_MODE)
        world.chain.hidden = True
        await world.until_block(36)
    (line,) = world.events(Event.WEIGHTS_MODE)
    assert set(line) - {"event", "log_level"} == Event.WEIGHTS_MODE.fields
    assert line["commit_reveal"]


@pytest.mark.parametrize("table", ["weight_marks", "weight_locks", "weight_submissions"])
async def test_without_its_tables_nothing_is_sent(store: Store, table: str) -> None:
    world = await scored(store, ONE)
    async with store.begin() as tx:
        await tx.connection.execute(text(f"ALTER TABLE {table} RENAME TO lost"))
    async with running(world):
        await world.until_block(16)
        assert world.sent == []
        assert world.reasons() == ["weights_guard_missing"]
        async with store.begin() as tx:
            await tx.connection.execute(text(f"ALTER TABLE lost RENAME TO {table}"))
        await world.until_block(19)
    assert len(world.sent) == 1


async def test_a_clock_that_went_back_refuses_until_it_has_caught_up(store: Store) -> None:
    world = await scored(store, ONE)
    await run_until(world, 20)
    world.clock._start -= timedelta(hours=1)
    world.subnet.blocks._genesis -= 3600  # the chain continues
    world.sent.clear()
    await run_until(restarted(world), 39)
    assert world.sent == []
    assert world.reasons() == ["weights_clock_back"]


@pytest.mark.parametrize(
    ("row_epoch", "row_block", "reason"), [(0, 500, "weights_chain_behind"), (7, 0, "weights_epoch_back")]
)
async def test_a_chain_that_lacks_what_was_seen_refuses(
    store: Store, row_epoch: int, row_block: int, reason: str
) -> None:
    world = await scored(store, ONE)
    async with store.begin() as tx:
        row = await tx.weights.prepare(1, 0, row_epoch, PLAN, START)
        await tx.weights.update(row.id, "confirmed", START, block=row_block)
    await run_until(world, 19)
    assert world.sent == []
    assert world.reasons() == [reason]


class OtherMechanism(SimulatedChain):
    """While one mechanism reads the chain, the weights of another one are confirmed in a block after the snapshot."""

    store: Store | None = None

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        store, self.store = self.store, None
        if store is not None:
            block, plan = self.subnet.blocks.number(), PlannedWeights({}, {}, 1.0, {})
            async with store.begin() as tx:
                other = await tx.weights.prepare(1, 1, 0, plan, START)
                await tx.weights.submit(other, plan, signed_block=block, lifetime=4, at=START)
                await tx.weights.update(other.id, "confirmed", START, block=block + 1)
        return await super().weights(mechid, uid)


async def test_weights_of_another_mechanism_that_arrive_during_a_look_stand_in_nobodys_way(store: Store) -> None:
    world = build(store, chain=OtherMechanism, mechanisms=2)
    world.chain.store = store  # type: ignore[attr-defined]
    view, chain_blocker, _ = await world.service._watch.check()
    assert (view.snapshot.block, chain_blocker) == (0, None)
    async with store.read() as tx:
        assert await tx.weights.highest_confirmed(1) == 1


async def test_nothing_is_handed_over_at_a_head_before_the_weights_of_another_mechanism(store: Store) -> None:
    world = await scored(store, ONE, chain=OtherMechanism, mechanisms=2)
    async with running(world):
        await world.until_block(13)
        world.chain.store = store  # type: ignore[attr-defined]
        await world.until_block(19)
    assert world.sent == [15], "looked at 14, and the other mechanism's are in 15"


async def test_a_look_that_fails_leaves_no_read_behind(store: Store) -> None:
    ended = []

    class Broken(SimulatedChain):
        async def snapshot(self) -> NoReturn:
            raise ChainUnreachableError("gone")

        async def parameters(self) -> Any:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await asyncio.sleep(0)
                ended.append("parameters")

    world = build(store, chain=Broken)
    with pytest.raises(ChainUnreachableError):
        await world.service._reader.look()
    assert ended == ["parameters"]
