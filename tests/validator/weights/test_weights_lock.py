"""Two programs, one hotkey: who sees that another one writes stops, and stays stopped until it is cleared."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_store import called
from fork_start import ran
from sqlalchemy import text
from weights_world import ME, START, World, blocks, build, restarted, run_until, running, scored

from localnet.chain import subnet
from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SubnetRules, SubnetState, save_state
from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.daemon.exits import Exit
from validator.settings.model import Settings
from validator.store import Store, open_store
from validator.store.rows import WeightMark, WeightsRecord
from validator.telemetry import Event
from validator.weights.chain_view import Slot
from validator.weights.guard import KnownUpdates, UpdateOrigin, judge
from validator.weights.watch import CLEAR, WeightsLock, WeightsLockedError, clear, stop_file_of

ONE = {"miner0": 1.0}


async def world_with(store: Store, tmp_path: Path, **rules: Any) -> World:
    return await scored(store, ONE, stop_file=tmp_path / "stop-file", weights_rate_limit=1, **rules)


def error_of(world: World) -> WeightsLockedError:
    assert world.task is not None
    error = world.task.exception()
    assert isinstance(error, WeightsLockedError)
    return error


async def test_a_strangers_update_stops_the_sending_and_every_start_until_it_is_cleared(
    store: Store, tmp_path: Path
) -> None:
    world = await world_with(store, tmp_path)
    async with running(world):
        await world.until_block(20)
        assert blocks(await world.records()) == [(0, "confirmed", 14)]
        world.subnet.set_weights(ME, 0, {3: 1.0})
        await world.until_block(36)
        told = str(error_of(world))
    assert blocks(await world.records()) == [(0, "confirmed", 14)]
    for part in (ME, "uid 0", "block 20", "block 14", str(world.stop_file), CLEAR):
        assert part in told
    assert "block 20" in world.stop_file.read_text()

    async with running(restarted(world)):
        await world.until_block(37)
        assert "block 20" in str(error_of(world))
    assert world.events() == []

    async with store.begin() as tx:
        seen = await clear(tx, world.stop_file, "moved the machine", START + timedelta(hours=1))
    assert seen is not None
    assert "block 20" in seen
    world.stop_file.unlink()
    async with running(restarted(world)):
        await world.until_block(57)
        (mark,) = world.events(Event.WEIGHTS_MARKED)
        assert mark["block"] == 20
        assert set(mark) - {"event", "log_level"} == Event.WEIGHTS_MARKED.fields
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 37), (2, "confirmed", 54)]


async def test_an_update_between_two_runs_is_seen_at_the_start(store: Store, tmp_path: Path) -> None:
    world = await world_with(store, tmp_path)
    await run_until(world, 20)
    world.subnet.set_weights(ME, 0, {3: 1.0})
    async with running(restarted(world)):
        await world.calm()
        assert "block 20" in str(error_of(world))
    assert world.events() == []


async def test_the_lock_holds_where_the_file_cannot_be_written_or_was_lost(store: Store, tmp_path: Path) -> None:
    lock = WeightsLock(store, build(store).clock, tmp_path / "absent" / "stop-file")
    await lock.check()
    with pytest.raises(WeightsLockedError, match="could not be written"):
        await lock.lock("a stranger")
    with pytest.raises(WeightsLockedError, match="a stranger"):
        await lock.check()


async def test_a_stop_file_alone_locks_and_is_cleared_with_a_reason(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "stop-file"
    lock = WeightsLock(store, build(store).clock, file)
    file.write_text("put here\x1b[31m by hand\nand more")
    with pytest.raises(WeightsLockedError, match="put here") as caught:
        await lock.check()
    assert "\x1b" not in str(caught.value)
    file.write_bytes(b"\xff")
    with pytest.raises(WeightsLockedError):
        await lock.check()
    async with store.begin() as tx:
        assert await clear(tx, file, "mine", START) is not None
    file.unlink()
    async with store.begin() as tx:
        assert await clear(tx, file, "again", START) is None
    await lock.check()
    file.mkdir()
    with pytest.raises(WeightsLockedError, match="cannot be read"):
        await lock.check()


class Lagging(SimulatedChain):
    """Its snapshots are of the block before the one in which the slot is read."""

    async def snapshot(self) -> MetagraphSnapshot:
        newest = await super().snapshot()
        return msgspec.structs.replace(newest, block=max(0, newest.block - 1))


@pytest.mark.parametrize(("chain", "again"), [(SimulatedChain, 37), (Lagging, 38)])
async def test_the_first_look_and_a_new_registration_are_marked_once(
    store: Store, tmp_path: Path, chain: type[SimulatedChain], again: int
) -> None:
    world = await world_with(store, tmp_path, immunity_period=0, chain=chain)
    world.subnet.set_weights(ME, 0, {3: 1.0})
    async with running(world):
        await world.until_block(20)
        world.subnet.deregister(ME)
        await world.until_block(36)
        world.subnet.register(ME, stake_tao=100.0, validator_permit=True)
        await world.until_block(60)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", again), (2, "confirmed", 54)]
    assert [line["block"] for line in world.events(Event.WEIGHTS_MARKED)] == [0, 36]


async def test_a_stranger_after_a_new_registration_is_seen(store: Store, tmp_path: Path) -> None:
    world = await world_with(store, tmp_path)
    async with running(world):
        await world.until_block(20)
        world.subnet.deregister(ME)
        world.subnet.register(ME, stake_tao=100.0, validator_permit=True)
        await world.until_block(25)
        world.subnet.set_weights(ME, 0, {3: 1.0})
        await world.until_block(36)
        assert "block 25" in str(error_of(world))


async def test_a_stranger_who_commits_is_seen(store: Store, tmp_path: Path) -> None:
    world = await world_with(store, tmp_path, reveal_epochs=1)
    async with running(world):
        await world.until_block(20)
        world.subnet.set_weights(ME, 0, {3: 1.0})
        await world.until_block(36)
        assert "block 20" in str(error_of(world))


async def test_two_commitments_where_one_was_sent_are_a_strangers(store: Store, tmp_path: Path) -> None:
    world = await world_with(store, tmp_path, reveal_epochs=1)
    async with running(world):
        await world.until_block(13)
        world.chain.faults.lost_answers = 1
        await world.until_block(15)
        world.subnet.set_weights(ME, 0, {3: 1.0})
        await world.until_block(19)
        assert "block 15" in str(error_of(world))


async def test_switched_off_sending_does_not_mind_the_lock(store: Store, tmp_path: Path) -> None:
    world = build(store, stop_file=tmp_path, settings={"enabled": False})
    await world.service.run()
    assert await world.records() == []


MARK = WeightMark(uid=4, last_update=100, block=110)
RECORD = WeightsRecord(1, 1, 0, 5, "unknown", 1, 120, 8, 130, None, {7: 65535}, {}, {}, 0.0, None, None, START, START)


def slot(update: int, *, registered: int = 50, uid: int = 4, weights: dict[int, int] | None = None) -> Slot:
    return Slot(Neuron("Va", uid, 0.0, True, None), update, registered, [], weights or {})


@pytest.mark.parametrize(
    ("mark", "record", "seen", "origin"),
    [
        (MARK, None, slot(100), UpdateOrigin.SAME),
        (MARK, None, slot(100, uid=9), UpdateOrigin.SAME),  # the chain may move a neuron to another slot
        (None, None, slot(100), UpdateOrigin.FRESH),
        (MARK, None, slot(101), UpdateOrigin.STRANGER),
        (MARK, None, slot(99), UpdateOrigin.BEHIND),
        (MARK, None, slot(115, registered=115), UpdateOrigin.REGISTERED),
        (MARK, None, slot(90, registered=115), UpdateOrigin.REGISTERED),
        (MARK, None, slot(116, registered=115), UpdateOrigin.STRANGER),
        (MARK, RECORD, slot(125, weights={7: 65535}), UpdateOrigin.OURS),
        (MARK, RECORD, slot(125, weights={7: 32000}), UpdateOrigin.OURS),  # the same share
        (MARK, RECORD, slot(125, weights={8: 65535}), UpdateOrigin.STRANGER),
        (MARK, RECORD, slot(125), UpdateOrigin.STRANGER),
        (MARK, RECORD, slot(119, weights={7: 65535}), UpdateOrigin.STRANGER),  # before it was signed
        (MARK, RECORD, slot(131, weights={7: 65535}), UpdateOrigin.STRANGER),  # after it had expired
        (None, RECORD, slot(125, weights={7: 65535}), UpdateOrigin.OURS),
        (None, RECORD, slot(125), UpdateOrigin.FRESH),
        # a registration is its own update block, whatever weights the slot's last owner left
        (MARK, RECORD, slot(125, registered=125, weights={7: 65535}), UpdateOrigin.REGISTERED),
        (None, RECORD, slot(125, registered=125, weights={7: 65535}), UpdateOrigin.FRESH),
        (MARK, RECORD, slot(125, registered=124, weights={7: 65535}), UpdateOrigin.OURS),
    ],
)
def test_whose_an_update_is(
    mark: WeightMark | None, record: WeightsRecord | None, seen: Slot, origin: UpdateOrigin
) -> None:
    assert judge(KnownUpdates(mark, record, None, None), seen, hidden=False) is origin


def settings_with(url: str, **weights: Any) -> Settings:
    return Settings.model_validate({"validator": {"netuid": 1}, "store": {"url": url}, "weights": weights})


def test_where_the_stop_file_is() -> None:
    assert stop_file_of(settings_with("sqlite:////data/v.sqlite")) == Path("/data/v.sqlite.weights-locked")
    assert stop_file_of(settings_with("postgresql://u@h/d")) == Path("validator.weights-locked")
    assert stop_file_of(settings_with("sqlite:////data/v.sqlite", stop_file="/run/x")) == Path("/run/x")


def test_a_daemon_that_finds_a_stranger_ends_with_its_own_code_and_unlock_clears_it(
    store_url: str, tmp_path: Path
) -> None:
    me = Signer.from_uri("//Validator").hotkey
    genesis = int(SystemClock().now().timestamp()) - 1000
    rules = SubnetRules(seed="two", genesis=genesis, block_time_s=1.0, weights_rate_limit=1)
    slot = subnet.Slot(0, me, 1000.0, True, None, last_update=900, registered_at=10)
    save_state(SubnetState("1", rules, (slot,)), tmp_path / "chain.json")

    async def mark_an_older_one() -> None:
        async with open_store(store_url) as store, store.begin() as tx:
            await tx.weight_guard.set_mark(1, 0, me, WeightMark(0, 700, 800), START)

    asyncio.run(mark_an_older_one())
    stop_file, config = tmp_path / "stop-file", tmp_path / "validator.toml"
    config.write_text(f"""
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "{tmp_path}/chain.json"
[store]
url = {json.dumps(store_url)}
[tasks]
directory = "{tmp_path}"
[weights]
stop_file = "{stop_file}"
[health]
port = 0
""")
    unlock = ("weights", "unlock", "--config", str(config), "--reason")
    assert (called(*unlock, "x").returncode, stop_file.exists()) == (1, False)
    for _ in range(2):
        ended = ran("run", "--config", str(config))
        assert ended.returncode == Exit.WEIGHTS_LOCKED, ended.stderr
        (line,) = ended.stderr.splitlines()
        assert str(stop_file) in line
        assert "block 900" in line
        assert CLEAR in line
    assert called(*unlock, " ").returncode == Exit.INPUT
    assert stop_file.exists()
    done = ran(*unlock, "moved the machine")
    assert (done.returncode, done.stderr, stop_file.exists()) == (0, "", False)
    assert "block 900" in done.stdout

    async def stored() -> tuple[Any, ...]:
        async with open_store(store_url) as store, store.read() as tx:
            rows = await tx.connection.execute(text("SELECT cleared_reason FROM weight_locks"))
            return tuple(rows.scalars())

    assert asyncio.run(stored()) == ("moved the machine",)
