"""Faults of the validator do not count against miners: void dispatches in whole rounds (SPEC 16, D-26)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from audit_file import export
from replays import executed, faults_after, replayed
from sqlalchemy import update
from state_kit import histories_of, windows_of
from world import VALIDATOR, World, honest, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.dispatch_record import Dispatch as Stored
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.audit.documents import round_document
from validator.audit.explain.round_explanation import explain_round
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call, Reply, Sent
from validator.outgoing.stalls import Stall
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import settle_round
from validator.store import Store
from validator.store.tables import dispatches
from validator.tasks.source import MemorySource

NOW = ScriptedReply(out_of="file descriptor")
NO_ROUTE = ScriptedReply(no_route=True)
REFUSED = ScriptedReply(connects=False)
LATE = ScriptedReply(seconds=60.0)


def hotkey(number: int) -> str:
    return Signer.from_uri(f"//Miner//{number}").hotkey


def world_of(store: Store, replies: Mapping[int, ScriptedReply], *, miners: int = 5, tasks: int = 1) -> World:
    """A world with a declarative task, where some miners have the given replies and the others are honest."""
    bad = {hotkey(number): reply for number, reply in replies.items()}

    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return bad.get(signer.hotkey) or honest(signer, dispatch)

    return World(store, miners=miners, source=MemorySource(tasks_of_all_types()[2 : 2 + tasks]), script=script)


def play_faults(world: World, *, stalls: tuple[Stall, ...] = (), away: bool = False) -> Callable[[], int]:
    """Let the dispatcher know of stalls, and of a network that is away; return what counts the questions.

    Stalls are given by the time since the first dispatch goes out; one shows once it has begun.
    """
    count_requests, began, script = 0, list[float](), world.script

    def noted(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        began.append(world.clock.monotonic())
        return script(signer, dispatch)

    world.script = noted

    async def is_away() -> bool:
        nonlocal count_requests
        count_requests += 1
        return away

    def since(moment: float) -> tuple[Stall, ...]:
        now = world.clock.monotonic()
        found = (Stall(began[0] + stall.start, stall.seconds) for stall in stalls)
        return tuple(stall for stall in found if stall.end > moment and stall.start < now)

    world.dispatcher = replace(world.dispatcher, stalls=since, away=is_away)
    world.service.dispatcher = world.dispatcher
    return lambda: count_requests


async def dispatched(world: World, stall: Stall) -> None:
    """Play a round with a stall, given by the time since its dispatches go out."""
    round_ = await prepared(world)
    play_faults(world, stalls=(stall,))
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await settle_round(world.store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)


async def of_miners(store: Store, round_id: int = 0) -> dict[str, Stored]:
    async with store.read() as tx:
        return {one.key.hotkey: one for one in await tx.dispatches.of_round(round_id)}


async def test_a_void_dispatch_counts_for_nothing_and_the_others_are_scored_without_it(
    store: Store, tmp_path: Path
) -> None:
    world = world_of(store, {0: NOW, 1: REFUSED})
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    assert {m.hotkey for m in end.outcome.members} == {hotkey(n) for n in range(1, 5)}
    assert end.outcome.groups[0].n_valid == 3
    assert {e.hotkey for e in end.outcome.reputation} == {hotkey(n) for n in range(2, 5)}
    stored = await of_miners(store)
    assert (stored[hotkey(0)].state, stored[hotkey(0)].reason) == ("void", "local_resources")
    assert (stored[hotkey(1)].state, stored[hotkey(1)].reason) == ("failed", "deadline_connect")
    async with store.read() as tx:
        windows = await windows_of(tx)
        results = await tx.submissions.results(0)
    assert hotkey(0) not in windows
    assert windows[hotkey(1)] == {"declarative": [0.0]}
    assert [(v.hotkey, v.reason) for v in results.alone] == [(hotkey(0), "local_resources")]
    assert (await replayed(store)).verdict == "equal"
    assert verify_file(await export(store, tmp_path / "log.jsonl")).answers == 3


async def test_it_was_an_assignment_and_neither_a_dispatch_nor_a_failure(store: Store) -> None:
    world = world_of(store, {0: NOW, 1: REFUSED})
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        history = {key: of for (key, _), of in (await histories_of(tx, 2, 30)).items()}
    assert (len(history[hotkey(0)].recent_roles), history[hotkey(0)].dispatches, history[hotkey(0)].failures) == (
        2,
        0,
        0,
    )
    assert (history[hotkey(1)].dispatches, history[hotkey(1)].failures) == (2, 2)


async def test_a_task_all_of_whose_dispatches_are_void_is_void_for_the_first_ones_reason(store: Store) -> None:
    world = world_of(store, dict.fromkeys(range(5), NOW), tasks=1)
    end = await on_virtual_time(world, world.service.one_round())
    assert (end.reason, end.outcome) == (Reason.LOCAL_RESOURCES, None)
    async with store.read() as tx:
        (task,) = await tx.tasks.of_round(0)
        assert (task.state, task.reason) == ("void", "local_resources")
        assert not await windows_of(tx)
        assert not await histories_of(tx, 1, 30)  # a void round enters nothing (D-6)
    assert (await replayed(store)).verdict == "unscored"


@pytest.mark.parametrize("reason", [Reason.LOCAL_RESOURCES, Reason.LOCAL_NETWORK])
async def test_the_first_ones_reason_is_that_of_the_first_member_of_the_group(store: Store, reason: Reason) -> None:
    world = world_of(store, {})
    round_ = await prepared(world)
    first = round_.plan.groups[0].members[0][0]
    is_first = {Reason.LOCAL_RESOURCES: NOW, Reason.LOCAL_NETWORK: NO_ROUTE}[reason]
    others = NO_ROUTE if is_first is NOW else NOW
    world.script = lambda signer, _: is_first if signer.hotkey == first else others
    play_faults(world, away=True)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    assert set(returned.alone.values()) == {Reason.LOCAL_RESOURCES, Reason.LOCAL_NETWORK}
    await settle_round(world.store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    async with store.read() as tx:
        assert [task.reason for task in await tx.tasks.of_round(0)] == [reason]


async def test_a_void_task_of_a_round_that_settles_was_an_assignment_of_all_its_members(
    store: Store, tmp_path: Path
) -> None:
    world = world_of(store, {}, tasks=3)
    void = tasks_of_all_types()[4].task.skill_type
    world.script = lambda signer, dispatch: NOW if dispatch.skill_type == void else honest(signer, dispatch)
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        ends = {str(task.state): task.reason for task in await tx.tasks.of_round(0)}
        assert ends == {"settled": "settled", "void": "local_resources"}
        history = await histories_of(tx, 2, 30)
    found = {key[0]: (len(of.recent_roles), of.dispatches) for key, of in history.items() if key[1] == void}
    assert found == {hotkey(number): (2, 0) for number in range(5)}
    assert (await replayed(store, 1)).verdict == "equal"
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds["settled"] == 2


async def test_an_exception_of_ours_voids_its_dispatch_alone(store: Store) -> None:
    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        if signer.hotkey == hotkey(2):
            raise RuntimeError("a bug of ours")
        return honest(signer, dispatch)

    world = World(store, miners=5, source=MemorySource(tasks_of_all_types()[2:3]), script=script)
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    assert len(end.outcome.members) == 4
    stored = await of_miners(store)
    assert stored[hotkey(2)].reason == "bug_internal"
    assert {one.state for key, one in stored.items() if key != hotkey(2)} == {"answered"}


# Network: what a miner that cannot be reached would like to be


@pytest.mark.parametrize(
    ("others", "away", "reason"),
    [
        ("silent", True, "local_network"),
        ("silent", False, "deadline_connect"),  # the chain answers: the network is there
        ("one answers", True, "deadline_connect"),
        ("one errs", True, "deadline_connect"),  # any response is one
        ("one refuses", True, "local_network"),  # no byte of a response
    ],
)
async def test_without_a_route_it_takes_the_silence_of_all_and_an_endpoint_that_failed(
    store: Store, others: str, away: bool, reason: str
) -> None:
    replies = dict.fromkeys(range(5), NO_ROUTE)
    if others == "one answers":
        del replies[4]
    if others in {"one refuses", "one errs"}:
        replies[4] = REFUSED if others == "one refuses" else ScriptedReply(seconds=1.0, status=500)
    world = world_of(store, replies)
    count_requests = play_faults(world, away=away)
    round_ = await prepared(world)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    stored = await of_miners(store)
    assert {stored[hotkey(number)].reason for number in range(4)} == {reason}
    assert count_requests() == 1  # once a round
    if others == "one refuses":
        assert stored[hotkey(4)].reason == "deadline_connect"


class Later(ScriptedMinerClient):
    """Calls one miner so much later than the others, as where too many calls are open."""

    late, seconds = "", 0.0

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        if call.hotkey == self.late:
            await self._clock.sleep(self.seconds)
        return await super().post(call, sent)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        (0.9, "deadline_connect"),
        (1.0, "deadline_connect"),
        (1.1, "local_network"),
    ],
)
async def test_what_was_heard_before_a_dispatch_went_out_says_nothing_of_it(
    store: Store, seconds: float, reason: str
) -> None:
    world = world_of(store, dict.fromkeys(range(4), NO_ROUTE))  # the last one answers after a second
    play_faults(world, away=True)
    client = Later(world.client._script, world.clock)
    client.late, client.seconds = hotkey(0), seconds
    world.service.dispatcher = replace(world.dispatcher, client=client)
    await on_virtual_time(world, world.service.one_round())
    stored = await of_miners(store)
    assert {stored[hotkey(number)].reason for number in range(1, 4)} == {"deadline_connect"}
    assert stored[hotkey(0)].reason == reason


async def test_what_is_heard_after_a_deadline_says_nothing_of_its_dispatch(store: Store) -> None:
    """Auditors have 3 s, primaries 6: an answer after 5 s shows a network to the latter."""
    world = world_of(store, {})
    round_ = await prepared(world)
    (group,) = round_.plan.groups
    slow = group.primaries[0]
    world.script = lambda signer, dispatch: (
        replace(honest(signer, dispatch), seconds=5.0) if signer.hotkey == slow else NO_ROUTE
    )
    play_faults(world, away=True)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    stored = await of_miners(store)
    assert {stored[one].reason for one in group.primaries[1:]} == {"deadline_connect"}
    assert {stored[one].reason for one in group.auditors} == {"local_network"}


# Stalls


CUT = ScriptedReply(seconds=2.5, status=None)
ERROR = ScriptedReply(seconds=2.5, status=500)


@pytest.mark.parametrize(
    ("reply", "stall", "reason"),
    [
        (CUT, Stall(1.0, 10.0), "local_stall"),  # it may have waited for us in vain
        (replace(CUT, seconds=11.9), Stall(1.0, 10.0), "local_stall"),
        (replace(CUT, seconds=12.1), Stall(1.0, 10.0), "deadline_transport"),  # over a second after it
        (replace(CUT, seconds=0.9), Stall(1.0, 10.0), "deadline_transport"),
        (CUT, Stall(1.0, 9.9), "deadline_transport"),
        (CUT, None, "deadline_transport"),
        (ERROR, Stall(1.0, 20.0), "deadline_status"),
        (REFUSED, Stall(0.0, 20.0), "deadline_connect"),
        (LATE, Stall(1.0, 20.0), "deadline_late"),
        (ScriptedReply(b"no answer", seconds=2.5), Stall(1.0, 20.0), "parse_schema"),
    ],
)
async def test_what_the_other_side_ended_in_a_long_stall_is_void_and_nothing_else(
    store: Store, reply: ScriptedReply, stall: Stall | None, reason: str
) -> None:
    world = world_of(store, {0: reply})
    await dispatched(world, stall or Stall(50.0, 1.0))
    stored = await of_miners(store)
    assert stored[hotkey(0)].reason == reason
    assert (stored[hotkey(0)].state == "void") == (reason == "local_stall")
    assert {stored[hotkey(number)].reason for number in range(1, 5)} == {"accepted"}
    assert (await replayed(store)).verdict == "equal"


async def test_a_stall_that_shows_later_voids_what_was_charged(store: Store) -> None:
    """A stall is from the beat before it on: what was charged meanwhile was ended during it."""
    world = world_of(store, {0: CUT, 1: replace(ERROR, seconds=2.9)})
    round_ = await prepared(world)
    began = world.clock.monotonic()
    stall = Stall(began + 2.4, 15.0)
    late = replace(world.dispatcher, stalls=lambda _: (stall,) if world.clock.monotonic() > began + 2.6 else ())
    returned = await on_virtual_time(world, late.dispatch(round_))
    await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    assert returned.alone == {(round_.frozen.tasks[0].task_id, hotkey(0)): Reason.LOCAL_STALL}
    assert (await of_miners(store))[hotkey(0)].state == "void"
    assert (await replayed(store)).verdict == "equal"


async def test_a_deadline_moves_by_each_stall_before_it(store: Store, tmp_path: Path) -> None:
    """An auditor has 3 s: an answer after 8 s is in time where the validator stalled for 5.5 s of them."""
    world = world_of(store, {})
    world.script = lambda signer, dispatch: replace(honest(signer, dispatch), seconds=8.0)
    round_ = await prepared(world)
    play_faults(world, stalls=(Stall(1.0, 2.5), Stall(4.0, 3.0)))
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await settle_round(world.store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    for one in (await of_miners(store)).values():
        assert one.reason == "accepted"
        assert one.seconds == pytest.approx(2.5)
        assert one.stalled == pytest.approx(5.5)
    async with store.read() as tx:
        view = await round_document(tx, 0)
    assert view is not None
    assert [stall.seconds for stall in view.stalls] == [2.5, 3.0]
    assert (await replayed(store)).verdict == "equal"
    assert verify_file(await export(store, tmp_path / "log.jsonl")).answers == 5


async def test_a_stall_makes_no_answer_early(store: Store) -> None:
    """One that came 3 s after its sending with t_min at 2 s, and 1.5 s of them in a stall, took 2."""
    (task, *_) = tasks_of_all_types(Windows((2, 6), (2, 4)))[2:3]
    world = World(store, miners=5, source=MemorySource([task]))
    world.script = lambda signer, dispatch: replace(honest(signer, dispatch), seconds=3.0)
    await dispatched(world, Stall(1.0, 1.5))
    for one in (await of_miners(store)).values():
        assert one.reason == "accepted"
        assert one.seconds == pytest.approx(2.0)


async def test_the_stalls_of_a_round_are_stored_with_it_and_no_others(store: Store) -> None:
    world = world_of(store, {})
    await world.clock.advance(100.0)
    round_ = await prepared(world)
    began, now = world.clock.monotonic(), world.clock.now()
    stalls = (Stall(began - 5.0, 2.0), Stall(began + 0.5, 1.5))
    seen = replace(world.dispatcher, stalls=lambda moment: tuple(one for one in stalls if one.end > moment))
    returned = await on_virtual_time(world, seen.dispatch(round_))
    await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    async with store.read() as tx:
        (stored,) = await tx.stalls.of_round(0)
    assert stored.seconds == 1.5
    assert stored.started_at == now + timedelta(seconds=0.5)


async def test_of_an_answer_only_its_own_time_counts(store: Store) -> None:
    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return replace(honest(signer, dispatch), seconds=2.5)

    world = World(store, miners=5, source=MemorySource(tasks_of_all_types()[2:3]), script=script)
    await dispatched(world, Stall(1.0, 1.25))
    for one in (await of_miners(store)).values():
        assert one.seconds == pytest.approx(1.25, abs=0.2)
        assert one.stalled == pytest.approx(1.25)
    assert (await replayed(store)).verdict == "equal"


# What is stored stays


async def test_what_is_void_survives_a_crash(store: Store) -> None:
    world = world_of(store, {0: NOW, 1: REFUSED})
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    stored = await of_miners(store)
    assert (stored[hotkey(0)].reason, stored[hotkey(1)].reason) == ("local_resources", "deadline_connect")
    async with store.read() as tx:
        assert hotkey(0) not in await windows_of(tx)
    assert (await replayed(store)).verdict == "equal"


async def test_a_check_finds_a_dispatch_that_was_made_void_without_a_fault_of_ours(store: Store) -> None:
    world = world_of(store, {1: REFUSED})
    await on_virtual_time(world, world.service.one_round())
    mine = update(dispatches).where(dispatches.c.hotkey == hotkey(1))
    for values in ({"state": "void"}, {"state": "void", "reason": "local_stall"}):
        _, check = await faults_after(store, executed(mine.values(values)))
        assert "its dispatches are not those of the table" in check


async def test_a_miners_author_is_told_that_it_was_not_the_miner(store: Store) -> None:
    world = world_of(store, {0: NOW})
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        explained = await explain_round(tx, 0, hotkey(0))
    (task,) = explained.tasks
    assert (task.entry, task.entry_reason) == (None, "local_resources")
    assert task.gates is not None
    assert task.gates.dispatch.void_alone
    assert {gate.result for gate in task.gates.gates} == {"not_reached"}
