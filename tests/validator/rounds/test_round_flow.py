"""Whole rounds against both databases: settled once, whatever happens in between (SPEC 5, D-6; ARCHITECTURE)."""

import asyncio
from dataclasses import replace

import msgspec
import pytest
from builders import MINER, V1
from sqlalchemy import update
from state_kit import reputations_of, windows_of
from toy_version import TOY, known
from world import VALIDATOR, World, answer_to, garbage, honest, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessedMember, RoundInput
from sssa.protocol.signatures import Signer
from sssa.scoring import Schedule, plan_round, score_round, version
from validator.chain.interface import ChainUnreachableError
from validator.miners.scripted import ScriptedReply
from validator.rounds.prepare import Skipped
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import settle_round
from validator.store import Store, open_store
from validator.store.errors import AlreadySettledError
from validator.store.tables import dispatches
from validator.tasks.source import MemorySource


async def test_a_round_is_settled_with_everything_it_decided(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types()))
    end = await on_virtual_time(world, world.service.one_round())
    assert (end.round_id, end.reason) == ("0", Reason.SETTLED)
    assert end.outcome is not None
    assert len(end.outcome.groups) == 12
    assert world.posts == len(end.outcome.members)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        assert stored is not None
        assert stored.record.state == "settled"
        assert stored.outcome == end.outcome
        windows = await windows_of(tx)
        reputations = await reputations_of(tx)
        results = await tx.submissions.results(0)
    assert sum(len(entries) for of_types in windows.values() for entries in of_types.values()) == world.posts
    assert set(reputations.values()) <= {0.52, 0.54}
    # what is stored is enough to score the round again, byte for byte
    assert stored.input is not None
    scores = version(stored.input.scoring_version)
    assert score_round(scores, stored.input, plan_round(scores, stored.input), results) == end.outcome


async def test_reputation_and_history_reach_the_next_round(store: Store) -> None:
    world = World(store)
    for _ in range(3):
        await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        last = await tx.rounds.get(2)
    assert last is not None
    assert last.input is not None
    assert all(miner.reputations for miner in last.input.miners)
    assert any(history.dispatches for miner in last.input.miners for history in miner.history.values())
    inputs = [await _input(store, round_id) for round_id in range(3)]
    salts = {frozen.snapshot.epoch: frozen.salt_commitment for frozen in inputs}
    assert len(set(salts.values())) == len(salts)
    assert len({frozen.seed for frozen in inputs}) == 3


async def _input(store: Store, round_id: int) -> RoundInput:
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
    assert stored is not None
    assert stored.input is not None
    return stored.input


async def test_every_bad_answer_gets_its_reason_and_a_zero(store: Store) -> None:
    world = World(store)
    bad = sorted(world.signers)
    behaviours = {
        bad[0]: (lambda _s, _d: ScriptedReply(connects=False), Reason.DEADLINE_CONNECT),
        bad[1]: (lambda _s, _d: ScriptedReply(seconds=60.0), Reason.DEADLINE_LATE),
        bad[2]: (garbage, Reason.PARSE_SCHEMA),
        bad[3]: (lambda _s, d: honest(MINER, d), Reason.VALIDITY_HOTKEY),
    }

    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        behave, _ = behaviours.get(signer.hotkey, (honest, None))
        return behave(signer, dispatch)

    world.script = script
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    for member in end.outcome.members:
        expected = behaviours.get(member.hotkey, (None, Reason.ACCEPTED))[1]
        if expected != Reason.ACCEPTED:
            assert (member.reason, member.window_entry) == (expected, 0.0)
    reasons = {member.reason for member in end.outcome.members}
    assert {str(reason) for _, reason in behaviours.values()} <= reasons


async def test_without_tasks_the_round_is_skipped_and_stored(store: Store) -> None:
    world = World(store, source=MemorySource())
    result = await world.preparer.prepare(await world.chain.snapshot())
    assert isinstance(result, Skipped)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    assert (stored.record.state, stored.record.reason) == ("skipped", Reason.SKIPPED_NO_TASKS)


async def test_a_crash_after_all_answers_loses_nothing(store: Store) -> None:
    world = World(store)
    round_ = await prepared(world)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    # the process dies here; a new one starts on the same database
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == []
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    assert stored.outcome is not None
    assert {member.reason for member in stored.outcome.members} == {Reason.ACCEPTED}
    assert len(stored.outcome.members) == len(returned.judged)
    with pytest.raises(AlreadySettledError):
        await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    async with store.read() as tx:
        windows = await windows_of(tx)
    assert sum(len(e) for of_types in windows.values() for e in of_types.values()) == len(returned.judged)


async def answered(store: Store) -> int:
    async with store.read() as tx:
        return [record.state for record in await tx.dispatches.of_round(0)].count("answered")


async def test_a_crash_in_the_middle_voids_only_the_tasks_it_hit(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types()))
    round_ = await prepared(world)
    slow = {round_.frozen.tasks[0].task_id, round_.frozen.tasks[7].task_id}

    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        if dispatch.task_id in slow:
            return ScriptedReply(seconds=5.0)  # the clock stops, so it never comes
        return ScriptedReply(msgspec.json.encode(answer_to(signer, dispatch)))

    world.script = script
    dispatching = asyncio.ensure_future(world.dispatcher.dispatch(round_))
    quick = sum(len(group.members) for group in round_.plan.groups if group.task_id not in slow)
    while await answered(store) < quick:  # noqa: ASYNC110 - a database has no event to wait for
        await asyncio.sleep(0.005)
    dispatching.cancel()
    await asyncio.gather(dispatching, return_exceptions=True)
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    assert stored.outcome is not None
    reasons = {group.task_id: group.reason for group in stored.outcome.groups}
    assert {task_id for task_id, reason in reasons.items() if reason == Reason.BUG_CRASH} == slow
    assert {reason for task_id, reason in reasons.items() if task_id not in slow} == {Reason.SETTLED}
    assert not {member.task_id for member in stored.outcome.members} & slow


async def test_a_crashed_round_with_a_gate_that_this_version_does_not_have_is_void_there(store: Store) -> None:
    world = World(store)
    world.script = lambda _s, _d: ScriptedReply(b"{}", status=503)
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    first = round_.frozen.tasks[0].task_id
    async with store.begin() as tx:
        of_first = update(dispatches).where(dispatches.c.task_id == first)
        await tx.connection.execute(of_first.values(reason="gate_of_tomorrow"))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    assert stored.outcome is not None
    assert [group.task_id for group in stored.outcome.groups if group.reason == Reason.BUG_INTERNAL] == [first]
    assert {member.reason for member in stored.outcome.members} == {Reason.DEADLINE_STATUS}


class Unplugged:
    """The chain of a machine whose network went away after the snapshot."""

    def __init__(self, world: World) -> None:
        self.snapshot = world.chain.snapshot

    async def head(self) -> None:
        raise ChainUnreachableError("unplugged")


@pytest.mark.parametrize("status", [200, 503])
async def test_a_round_that_one_miner_answered_is_settled_although_we_are_offline_now(
    sqlite_url: str, status: int
) -> None:
    async with open_store(sqlite_url, create=True) as store:
        world = World(store)
        reached = min(world.signers)
        world.script = lambda signer, _: ScriptedReply(b"{}", status=status, connects=signer.hotkey == reached)
        world.service.chain = Unplugged(world)  # type: ignore[assignment]
        end = await on_virtual_time(world, world.service.one_round())
    assert (end.reason, end.outcome is None) == (Reason.SETTLED, False)


async def test_a_round_that_reached_nobody_is_void_only_if_we_were_offline(store: Store) -> None:
    world = World(store, script=lambda _s, _d: ScriptedReply(connects=False))
    end = await on_virtual_time(world, world.service.one_round())
    assert end.reason == Reason.SETTLED
    assert end.outcome is not None
    assert {member.window_entry for member in end.outcome.members} == {0.0}

    world.service.chain = Unplugged(world)  # type: ignore[assignment]
    end = await on_virtual_time(world, world.service.one_round())
    assert (end.reason, end.outcome) == (Reason.VOID_OFFLINE, None)
    async with store.read() as tx:
        assert {r.state for r in await tx.dispatches.of_round(1)} == {"void"}
        windows = await windows_of(tx)
    assert sum(len(e) for of_types in windows.values() for e in of_types.values()) == world.posts // 2


async def test_answers_name_their_dispatch(store: Store) -> None:
    """A replayed answer carries the nonce of another task."""
    world = World(store)
    first: dict[str, Dispatch] = {}

    def replay(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        earlier = first.setdefault(signer.hotkey, dispatch)
        return ScriptedReply(msgspec.json.encode(answer_to(signer, earlier)), seconds=1.0)

    world.script = replay
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    reasons = [member.reason for member in end.outcome.members]
    assert sum(Reason(reason).gate == 0 for reason in reasons) == len(first)
    assert len(first) < len(reasons)


@pytest.mark.parametrize("is_online", [True, False])
async def test_a_crashed_round_without_any_response_is_void_if_we_are_offline(store: Store, is_online: bool) -> None:
    world = World(store, script=lambda _s, _d: ScriptedReply(connects=False))

    async def reachable() -> bool:
        return is_online

    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, reachable)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        windows = await windows_of(tx)
    assert stored is not None
    assert stored.record.state == ("settled" if is_online else "void")
    assert stored.record.reason == (Reason.SETTLED if is_online else Reason.VOID_OFFLINE)
    assert bool(windows) == is_online


async def test_a_crashed_round_of_another_scoring_version_is_abandoned(store: Store) -> None:
    world = World(store)
    round_ = await prepared(world)
    older = msgspec.structs.replace(round_.frozen, round_id="1", scoring_version="0.9.0")
    async with store.begin() as tx:
        await tx.rounds.open(older, msgspec.structs.replace(plan_round(V1, older), round_id="1"), world.clock.now())
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0", "1"]
    async with store.read() as tx:
        records = {record.round_id: record for record in await tx.rounds.listing(10)}
    assert (records[0].state, records[1].state) == ("settled", "abandoned")
    assert records[1].reason == Reason.ABANDONED_VERSION


async def test_a_crashed_round_is_settled_by_the_version_it_was_frozen_under(store: Store) -> None:
    world = World(store)
    with known(TOY):
        world.preparer = replace(world.preparer, schedule=Schedule({TOY.name: 0}))
        await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
        assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        entries = await tx.windows.of_round(0)
    assert stored is not None
    assert stored.outcome is not None
    assert (stored.record.state, stored.outcome.scoring_version) == ("settled", TOY.name)
    rewards = [m.emission for m in stored.outcome.members if isinstance(m, AssessedMember) and m.emission]
    assert {reward.tier for reward in rewards} & {0.25, 3.0}
    assert [entry.value for entry in entries] == [reward.emission for reward in rewards]


async def test_a_stop_while_miners_say_what_they_can_do_begins_no_round(store: Store) -> None:
    class Stopped(World):
        def _capabilities(self, signer: Signer) -> bytes:
            self.service.stopping.set()
            return super()._capabilities(signer)

    world = Stopped(store)
    await on_virtual_time(world, world.service.run())
    assert world.posts == 0
    async with store.read() as tx:
        assert await tx.rounds.get(0) is None
