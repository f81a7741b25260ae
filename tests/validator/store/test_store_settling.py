import asyncio

import pytest
from sqlalchemy import update
from store_examples import (
    HOTKEYS,
    PYTHON,
    RAG,
    a_round,
    an_arrival,
    an_outcome,
    answer_all,
    at,
    open_round,
    play_round,
    settle,
)

from sssa.protocol.dispatch_record import DispatchKey, Failure, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundPlan
from validator.store import Store, open_store
from validator.store.errors import (
    AlreadySettledError,
    MismatchError,
    UnfinishedDispatchesError,
    WrongStateError,
)
from validator.store.tables import rounds


async def test_a_round_is_settled_once(store: Store) -> None:
    _, plan = await open_round(store)
    await answer_all(store, plan)
    await settle(store, plan)
    with pytest.raises(AlreadySettledError, match="round 0 is settled"):
        await settle(store, plan)
    async with store.begin() as tx:
        with pytest.raises(AlreadySettledError):
            await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, at(61))
        with pytest.raises(WrongStateError, match="never opened"):
            await tx.rounds.settle(7, "void", Reason.VOID_OFFLINE, None, at(61))


async def test_of_two_racing_settlers_exactly_one_wins(store: Store, store_url: str) -> None:
    _, plan = await open_round(store)
    await answer_all(store, plan)
    outcome = an_outcome(0, plan)

    async def settler(mine: Store) -> str:
        try:
            async with mine.begin() as tx:
                await tx.rounds.settle(0, "settled", Reason.SETTLED, outcome, at(60))
        except AlreadySettledError:
            return "lost"
        return "won"

    async with open_store(store_url) as other:
        results = await asyncio.gather(*(settler(mine) for mine in (store, other, store, other)))
    assert sorted(results) == ["lost", "lost", "lost", "won"]
    async with store.read() as tx:
        assert len(await tx.scores.of_round(0)) == len(outcome.members)


@pytest.mark.parametrize("fate", ["planned", "sent", "answered"])
async def test_a_round_cannot_settle_over_a_dispatch_of_unknown_fate(store: Store, fate: str) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:1]})
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    async with store.begin() as tx:
        if fate != "planned":
            await tx.arrivals.sent([key], at(0))
        if fate == "answered":
            await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{}", at(1))])
    with pytest.raises(UnfinishedDispatchesError, match=f"miner-a is {fate}"):
        await settle(store, plan)
    async with store.read() as tx:
        assert [stored.record.round_id for stored in await tx.rounds.unfinished()] == [0]


async def test_a_void_task_takes_its_dispatches_with_it_and_the_others_settle(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:2], RAG: HOTKEYS[:2]})
    lost, kept = (group.task_id for group in plan.groups)
    async with store.begin() as tx:
        await tx.arrivals.sent([DispatchKey(0, lost, HOTKEYS[0])], at(0))
        await tx.arrivals.failed([Failure(DispatchKey(0, lost, HOTKEYS[1]), Reason.DEADLINE_NO_AXON)])
        for hotkey in HOTKEYS[:2]:
            await tx.arrivals.failed([Failure(DispatchKey(0, kept, hotkey), Reason.DEADLINE_CONNECT)])
    await settle(store, plan, {lost: Reason.BUG_CRASH})
    async with store.read() as tx:
        assert [(t.state, t.reason) for t in await tx.tasks.of_round(0)] == [
            ("void", "bug_crash"),
            ("settled", "settled"),
        ]
        states = [(d.state, d.reason) for d in await tx.dispatches.of_round(0)]
        assert states[:2] == [("void", "bug_crash"), ("void", "deadline_no_axon")]
        assert states[2:] == [("failed", "deadline_connect")] * 2


async def test_an_outcome_leaves_out_no_task(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS})
    await answer_all(store, plan)
    with pytest.raises(MismatchError, match="says nothing about"):
        await settle(store, RoundPlan("0", plan.groups[1:]))
    await settle(store, plan)


async def test_outcomes_of_other_rounds_and_tasks_are_refused(store: Store) -> None:
    _, plan = await open_round(store)
    await answer_all(store, plan)
    other = RoundPlan("0", a_round(1)[1].groups)
    async with store.begin() as tx:
        with pytest.raises(MismatchError, match="outcome of round 1"):
            await tx.rounds.settle(0, "settled", Reason.SETTLED, an_outcome(1, plan), at(1))
        with pytest.raises(MismatchError, match="an outcome belongs to a settled round"):
            await tx.rounds.settle(0, "settled", Reason.SETTLED, None, at(1))
        with pytest.raises(MismatchError, match="an outcome belongs to a settled round"):
            await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, an_outcome(0, plan), at(1))
    with pytest.raises(MismatchError, match="has no task"):
        await settle(store, other)
    with pytest.raises(MismatchError, match="twice"):
        await settle(store, RoundPlan("0", plan.groups * 2))


async def test_a_void_round_voids_everything_but_keeps_why_each_dispatch_failed(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:2], RAG: ()})
    async with store.begin() as tx:
        key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
        await tx.arrivals.failed([Failure(key, Reason.DEADLINE_CONNECT, detail="refused")])
        await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, at(60))
    async with store.read() as tx:
        assert [(t.state, t.reason) for t in await tx.tasks.of_round(0)] == [
            ("void", "void_offline"),
            ("skipped", "skipped_no_candidates"),
        ]
        assert [(d.state, d.reason) for d in await tx.dispatches.of_round(0)] == [
            ("void", "deadline_connect"),
            ("void", "void_offline"),
        ]


@pytest.mark.parametrize("damage", [b"not zlib", b"x\x9c\x03\x00\x00\x00\x00\x01"])
async def test_a_round_whose_input_cannot_be_read_is_found_and_can_be_abandoned(store: Store, damage: bytes) -> None:
    await open_round(store)
    async with store.begin() as tx:
        await tx.connection.execute(update(rounds).values(input=damage))
    async with store.read() as tx:
        (stored,) = await tx.rounds.unfinished()
        assert stored.input is None
        assert stored.record.input_sha256 is not None
    async with store.begin() as tx:
        await tx.rounds.settle(0, "abandoned", Reason.ABANDONED_INPUT, None, at(9))
    async with store.read() as tx:
        assert await tx.rounds.unfinished() == ()


async def test_a_round_that_has_ended_does_not_change(store: Store) -> None:
    plan = await play_round(store, 0)
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    async with store.begin() as tx:
        for change in (
            tx.arrivals.sent([key], at(99)),
            tx.arrivals.judged([JudgedAnswer(key, Reason.PARSE_SCHEMA)]),
            tx.arrivals.failed([Failure(key, Reason.DEADLINE_LATE)]),
            tx.arrivals.keep([an_arrival(key, 1.0, 200, b"late", at(99))]),
            tx.dispatches.void(Failure(key, Reason.BUG_INTERNAL)),
        ):
            with pytest.raises(AlreadySettledError):
                await change
    async with store.read() as tx:
        assert (await tx.dispatches.of_round(0))[0].state == "answered"
