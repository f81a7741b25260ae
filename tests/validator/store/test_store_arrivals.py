"""Dispatches that leave together and answers that are kept together are stored as one by one, all or none."""

from collections.abc import Sequence

import pytest
from store_examples import HOTKEYS, PYTHON, at, open_round, sha

from sssa.protocol.dispatch_record import Arrival, DispatchKey, Failure
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from sssa.protocol.round import RoundPlan
from validator.store import Store
from validator.store.codec import compressed
from validator.store.errors import AlreadySettledError, WrongStateError


def keys_of(plan: RoundPlan) -> list[DispatchKey]:
    return [DispatchKey(0, group.task_id, hotkey) for group in plan.groups for hotkey, _ in group.members]


def arrival(key: DispatchKey, body: bytes, stalled: float = 0.0) -> Arrival:
    return Arrival(key, 12.5, 200, compressed(body), len(body), at(13), stalled, RawAnswer(sha(key.hotkey), 3, True))


async def sent(store: Store) -> Sequence[DispatchKey]:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:4]})
    keys = keys_of(plan)
    async with store.begin() as tx:
        await tx.arrivals.sent(keys, at(1))
    return keys


async def test_all_dispatches_of_a_round_are_sent_at_once(store: Store) -> None:
    keys = await sent(store)
    async with store.read() as tx:
        assert [(one.key, one.state, one.sent_at) for one in await tx.dispatches.of_round(0)] == [
            (key, "sent", at(1)) for key in keys
        ]


async def test_where_one_is_not_planned_none_is_sent(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:4]})
    one, *others = keys_of(plan)
    async with store.begin() as tx:
        await tx.arrivals.sent([one], at(1))
    with pytest.raises(WrongStateError, match="1 of 4 dispatches are not planned"):
        async with store.begin() as tx:
            await tx.arrivals.sent([one, *others], at(2))
    async with store.read() as tx:
        assert {found.sent_at for found in await tx.dispatches.of_round(0)} == {at(1), None}


async def test_answers_are_kept_together_each_with_its_own(store: Store) -> None:
    keys = await sent(store)
    async with store.begin() as tx:
        await tx.arrivals.keep([arrival(keys[1], b"a"), arrival(keys[2], b"", 2.0)])
    async with store.read() as tx:
        first, one, two, _ = await tx.dispatches.of_round(0)
        assert [await tx.dispatches.answer_body(key) for key in keys[:3]] == [None, b"a", b""]
    assert first.state == "sent"
    for found, size, stalled in ((one, 1, None), (two, 0, 2.0)):
        assert (found.state, found.seconds, found.http_status, found.received_at) == ("answered", 12.5, 200, at(13))
        assert (found.body_bytes, found.stalled) == (size, stalled)
        assert found.raw == RawAnswer(sha(found.key.hotkey), 3, True)


async def test_where_one_cannot_be_kept_none_is(store: Store) -> None:
    keys = await sent(store)
    with pytest.raises(WrongStateError, match="1 of 2 dispatches are not sent"):
        async with store.begin() as tx:
            await tx.arrivals.keep([arrival(keys[0], b"a"), arrival(keys[1]._replace(hotkey="nobody"), b"b")])
    async with store.read() as tx:
        assert {one.state for one in await tx.dispatches.of_round(0)} == {"sent"}
        assert await tx.dispatches.bodies_of_round(0) == {}


async def test_nothing_is_sent_or_kept_in_a_round_that_has_ended(store: Store) -> None:
    keys = await sent(store)
    async with store.begin() as tx:
        await tx.rounds.settle(0, "abandoned", Reason.ABANDONED_INPUT, None, at(2))
    with pytest.raises(AlreadySettledError):
        async with store.begin() as tx:
            await tx.arrivals.sent(keys, at(3))
    with pytest.raises(AlreadySettledError):
        async with store.begin() as tx:
            await tx.arrivals.keep([arrival(keys[0], b"a")])
    with pytest.raises(AlreadySettledError):
        async with store.begin() as tx:
            await tx.arrivals.failed([Failure(key, Reason.DEADLINE_LATE) for key in keys])
