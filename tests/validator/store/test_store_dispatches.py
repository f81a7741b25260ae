import os
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update
from store_examples import (
    HOTKEYS,
    PYTHON,
    RAG,
    a_submission,
    an_arrival,
    answer_all,
    at,
    open_round,
    play_round,
    settle,
    sha,
)

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import DispatchKey, Failure, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Rejection, RoundResults, VoidTask, packed
from validator.store import Store
from validator.store.codec import INLINE_LIMIT, expanded
from validator.store.errors import DamagedError, MismatchError, WrongStateError
from validator.store.tables import answers, dispatches, judged_documents


async def _one_sent(store: Store) -> DispatchKey:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:2]})
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    async with store.begin() as tx:
        await tx.arrivals.sent([key], at(1))
    return key


async def test_dispatches_are_planned_in_the_order_of_the_plan(store: Store) -> None:
    _, plan = await open_round(store, 0, {RAG: HOTKEYS[::-1], PYTHON: HOTKEYS[:2]})
    async with store.read() as tx:
        records = await tx.dispatches.of_round(0)
    assert [(r.key.task_id, r.key.hotkey, r.role) for r in records] == [
        (group.task_id, hotkey, role) for group in plan.groups for hotkey, role in group.members
    ]
    assert [r.rank for r in records] == [0, 1, 2, 3, 4, 0, 1]
    assert {r.state for r in records} == {"planned"}
    assert {r.skill_type for r in records[5:]} == {PYTHON}


@pytest.mark.parametrize("body", [b"", b"\x00\xff not JSON", os.urandom(3 * INLINE_LIMIT)], ids=len)
async def test_a_body_comes_back_byte_for_byte(store: Store, body: bytes) -> None:
    key = await _one_sent(store)
    async with store.begin() as tx:
        await tx.arrivals.keep([an_arrival(key, 12.25, 200, body, at(13))])
    async with store.read() as tx:
        assert await tx.dispatches.answer_body(key) == body
        record = (await tx.dispatches.of_round(0))[0]
    assert (record.state, record.seconds, record.http_status, record.body_bytes) == ("answered", 12.25, 200, len(body))
    assert (record.sent_at, record.received_at, record.reason) == (at(1), at(13), None)


async def test_bodies_of_a_round_are_read_together(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS[:2]})
    await answer_all(store, plan, failing=frozenset(HOTKEYS[1:2]))
    await play_round(store, 1, {PYTHON: HOTKEYS})
    keys = [DispatchKey(0, group.task_id, hotkey) for group in plan.groups for hotkey, _ in group.members]
    async with store.read() as tx:
        found = await tx.dispatches.bodies_of_round(0)
    whole = [key for key in keys if key.hotkey != HOTKEYS[1]]
    assert {key: expanded(body) for key, body in found.items()} == {
        (key.task_id, key.hotkey): f"answer of {key.hotkey}".encode() for key in whole
    }


async def test_a_dispatch_goes_forward_only(store: Store) -> None:
    key = await _one_sent(store)
    async with store.begin() as tx:
        with pytest.raises(WrongStateError, match="is sent, not planned"):
            await tx.arrivals.sent([key], at(2))
        with pytest.raises(WrongStateError, match="is sent, not answered"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.PARSE_SCHEMA)])
        await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{", at(2))])
        with pytest.raises(WrongStateError, match="is answered, not sent"):
            await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{", at(2))])
        with pytest.raises(WrongStateError, match="is answered, not planned or sent"):
            await tx.arrivals.failed([Failure(key, Reason.DEADLINE_LATE)])
        await tx.arrivals.judged([JudgedAnswer(key, Reason.PARSE_SCHEMA, detail="unexpected end")])
        with pytest.raises(WrongStateError, match="is failed, not answered"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED, packed(a_submission(key)))])
        with pytest.raises(WrongStateError, match="is unknown"):
            await tx.arrivals.sent([key._replace(hotkey="nobody")], at(2))
    async with store.read() as tx:
        record = (await tx.dispatches.of_round(0))[0]
    assert (record.state, record.reason, record.detail) == ("failed", "parse_schema", "unexpected end")


async def test_a_miner_without_an_axon_fails_unsent(store: Store) -> None:
    _, plan = await open_round(store)
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    async with store.begin() as tx:
        await tx.arrivals.failed([Failure(key, Reason.DEADLINE_NO_AXON)])
    async with store.read() as tx:
        record = (await tx.dispatches.of_round(0))[0]
    assert (record.state, record.seconds, record.sent_at, record.http_status) == ("failed", None, None, None)


async def test_reasons_and_submissions_must_fit(store: Store) -> None:
    key = await _one_sent(store)
    other = key._replace(hotkey=HOTKEYS[1])
    async with store.begin() as tx:
        for reason in (Reason.ACCEPTED, Reason.SETTLED, Reason.BUG_CRASH):
            with pytest.raises(MismatchError, match="no gate's reason"):
                await tx.arrivals.failed([Failure(key, reason)])
        await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{}", at(2))])
        with pytest.raises(MismatchError, match="no gate's reason"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED)])
        with pytest.raises(MismatchError, match="a submission with the reason"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.PARSE_SCHEMA, packed(a_submission(key)))])
        with pytest.raises(MismatchError, match="another dispatch"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED, packed(a_submission(other)))])
        forged = msgspec.structs.replace(a_submission(key), sssa_sha256=sha("something else"))
        with pytest.raises(MismatchError, match="sssa_sha256"):
            await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED, packed(forged))])


async def test_what_came_back_is_read_as_the_results_of_the_round(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS[:2]})
    python_task, rag_task = (group.task_id for group in plan.groups)
    await answer_all(store, plan, failing=frozenset({"miner-b"}))
    await settle(store, plan, {rag_task: Reason.BUG_INTERNAL})
    async with store.read() as tx:
        results = await tx.submissions.results(0)
    accepted = [(hotkey, role) for hotkey, role in plan.groups[0].members if hotkey != "miner-b"]
    assert results == RoundResults(
        passed=tuple(a_submission(DispatchKey(0, python_task, hotkey), role) for hotkey, role in accepted),
        rejections=(Rejection(python_task, "miner-b", "primary", Reason.DEADLINE_LATE, 90.0),),
        void=(VoidTask(rag_task, Reason.BUG_INTERNAL),),
        raw=((None,) * 5, (None,) * 2),
    )


async def test_an_answer_that_is_not_judged_is_in_no_list(store: Store) -> None:
    key = await _one_sent(store)
    async with store.begin() as tx:
        await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{}", at(2))])
    async with store.read() as tx:
        assert await tx.submissions.results(0) == RoundResults((), (), raw=((None, None),))


async def test_judging_again_after_a_crash_replaces_the_acceptance(store: Store) -> None:
    key = await _one_sent(store)
    async with store.begin() as tx:
        await tx.arrivals.keep([an_arrival(key, 1.0, 200, b"{}", at(2))])
        await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED, packed(a_submission(key)))])
        await tx.arrivals.judged([JudgedAnswer(key, Reason.ACCEPTED_EARLY, packed(a_submission(key)))])
    async with store.begin() as tx:
        await tx.arrivals.judged([JudgedAnswer(key, Reason.TRACES_HASH)])
    async with store.read() as tx:
        results = await tx.submissions.results(0)
    assert (results.passed, [r.reason for r in results.rejections]) == ((), ["traces_hash"])


async def test_documents_that_were_tampered_with_are_not_believed(store: Store) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:2]})
    await answer_all(store, plan)
    key = DispatchKey(0, plan.groups[0].task_id, HOTKEYS[0])
    swapped = select(judged_documents.c.signed).order_by(judged_documents.c.hotkey).limit(1).scalar_subquery()
    async with store.begin() as tx:
        await tx.connection.execute(update(judged_documents).values(signed=swapped))
        await tx.connection.execute(update(answers).values(body=b"not zlib"))
    async with store.read() as tx:
        with pytest.raises(DamagedError, match="do not hash"):
            await tx.submissions.results(0)
        with pytest.raises(DamagedError):
            await tx.dispatches.answer_body(key)


@pytest.mark.parametrize("broken", [{}, {"task_id": 3}])
async def test_a_submission_of_another_form_is_not_believed(store: Store, broken: dict[str, Any]) -> None:
    _, plan = await open_round(store, 0, {PYTHON: HOTKEYS[:1]})
    await answer_all(store, plan)
    async with store.begin() as tx:
        await tx.connection.execute(update(dispatches).values(submission=broken))
    async with store.read() as tx:
        with pytest.raises(DamagedError, match="submission 0/"):
            await tx.submissions.results(0)


async def test_bundles_are_kept_by_their_hash(store: Store) -> None:
    data = os.urandom(2 * INLINE_LIMIT)
    async with store.begin() as tx:
        await tx.bundles.put(sha256_hex(data), data, at(0))
        await tx.bundles.put(sha256_hex(data), data, at(5))  # its retention begins anew
        assert (await tx.retention.prune(bundles_before=at(5))).bundles == 0
        with pytest.raises(MismatchError, match="does not hash"):
            await tx.bundles.put(sha("other"), data, at(0))
    async with store.read() as tx:
        assert await tx.bundles.get(sha256_hex(data)) == data
        assert await tx.bundles.get(sha("other")) is None
