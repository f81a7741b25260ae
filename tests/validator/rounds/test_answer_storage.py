"""Answers that wait while others are stored go into the next transaction together, and none costs another anything."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from world import World, prepared, tasks_of_all_types

from sssa.protocol.dispatch_record import DispatchKey, Failure
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from validator.outgoing.calls import Body
from validator.rounds import answer_storage
from validator.rounds.answer_storage import AnswerStorage, Received
from validator.store import Store, Transaction
from validator.store.errors import WrongStateError
from validator.tasks.source import MemorySource


class Counting:
    """A store that counts its lasting writes, and holds them until it is let go."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writes = 0
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def lasting(self, work: Callable[[Transaction], Awaitable[Any]]) -> Any:
        self.writes += 1
        self.begun.set()
        await self.go.wait()
        return await self.store.lasting(work)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def sent(store: Store) -> list[DispatchKey]:
    round_ = await prepared(World(store, source=MemorySource(tasks_of_all_types()[:1])))
    (group,) = round_.plan.groups
    keys = [DispatchKey(0, group.task_id, hotkey) for hotkey, _ in group.members]
    async with store.begin() as tx:
        await tx.arrivals.sent(keys, NOW)
    return keys


def received(key: DispatchKey, body: bytes | None = None) -> Received:
    return Received(key, 1.0, 200, Body(key.hotkey.encode() if body is None else body), NOW, 0.0, None)


async def kept(store: Store, keys: list[DispatchKey]) -> set[str]:
    async with store.read() as tx:
        return {key.hotkey for key in keys if await tx.dispatches.answer_body(key)}


async def test_those_that_wait_are_stored_together(store: Store) -> None:
    keys, counting = await sent(store), Counting(store)
    desk = AnswerStorage(cast("Store", counting))
    waiting = [asyncio.ensure_future(desk.keep(received(key))) for key in keys]
    await counting.begun.wait()
    counting.go.set()
    await asyncio.gather(*waiting)
    assert counting.writes == 2  # the first one, and all that came meanwhile
    async with store.read() as tx:
        found = {key: await tx.dispatches.answer_body(key) for key in keys}
    assert found == {key: key.hotkey.encode() for key in keys}


async def test_failures_are_stored_with_the_answers_beside_them(store: Store) -> None:
    keys, counting = await sent(store), Counting(store)
    desk = AnswerStorage(cast("Store", counting))
    counting.go.set()
    raw = RawAnswer("ab" * 32, 7, False)
    failures = [Failure(key, Reason.DEADLINE_STATUS, 1.5, 503, "status 503", raw) for key in keys[:3]]
    answers = [received(key) for key in keys[3:]]
    await asyncio.gather(*(desk.keep(one) for one in failures), *(desk.keep(one) for one in answers))
    assert counting.writes == 2
    assert await kept(store, keys) == {key.hotkey for key in keys[3:]}
    async with store.read() as tx:
        found = [one for one in await tx.dispatches.of_round(0) if one.state == "failed"]
    assert [(one.key, one.reason, one.seconds, one.http_status, one.detail, one.raw) for one in found] == failures


async def test_bodies_of_one_transaction_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_storage, "_MOST_BYTES", 5)
    keys, counting = await sent(store), Counting(store)
    counting.go.set()
    desk = AnswerStorage(cast("Store", counting))
    await asyncio.gather(*(desk.keep(received(key, b"four")) for key in keys))
    assert counting.writes == len(keys)


async def test_one_that_cannot_be_stored_costs_the_others_nothing(store: Store) -> None:
    keys = await sent(store)
    wrong = keys[2]._replace(hotkey="nobody")
    desk = AnswerStorage(store)
    ends = await asyncio.gather(
        *(desk.keep(received(key)) for key in (*keys[:2], wrong, *keys[2:])), return_exceptions=True
    )
    assert [type(end) for end in ends if end is not None] == [WrongStateError]
    assert isinstance(ends[2], WrongStateError)
    assert await kept(store, keys) == {key.hotkey for key in keys}


async def test_one_that_waits_no_more_is_not_stored_and_holds_up_nobody(store: Store) -> None:
    keys, counting = await sent(store), Counting(store)
    desk = AnswerStorage(cast("Store", counting))
    first, second, third = (asyncio.ensure_future(desk.keep(received(key))) for key in keys[:3])
    await counting.begun.wait()
    second.cancel()
    first.cancel()
    counting.go.set()
    await asyncio.gather(first, second, third, return_exceptions=True)
    assert await kept(store, keys) == {keys[2].hotkey}
