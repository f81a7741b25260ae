"""Rounds computed again: equal when nothing was touched, and what was touched is found and named; on both databases."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from recorded import dispatched, emptied, flipped, grouped, headed
from replays import DOCUMENTS, LINES, Tamper, executed, faults_after, replayed, unlike
from sqlalchemy import delete, insert, select, update
from world import VALIDATOR, World, garbage, honest, on_virtual_time, online, prepared

from sssa.protocol.answer import Dispatch
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.dispatch_record import Dispatch as StoredDispatch
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from validator.audit.replay import replay_round
from validator.miners.scripted import ScriptedReply
from validator.rounds.resume import resume_rounds
from validator.store import Store, Transaction, open_store
from validator.store.codec import compressed, expanded
from validator.store.record import Group
from validator.store.tables import answers, dispatches, flags, receipts, records, rounds, salts, tasks

LIAR = Signer.from_uri("//Miner//5").hotkey


def mixed(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    if signer.hotkey != LIAR:
        return honest(signer, dispatch)
    return garbage(signer, dispatch) if dispatch.skill_type > "f" else ScriptedReply(connects=False)


@pytest.fixture
async def settled(store_url: str) -> AsyncIterator[Store]:
    """A store with one settled round."""
    async with open_store(store_url) as store:
        world = World(store, script=mixed)
        await on_virtual_time(world, world.service.one_round())
        yield store


def altered(which: str, change: Callable[[dict[str, Any]], None], *, honest_digest: bool) -> Tamper:
    """Change a document of the round; with its digest or without."""

    async def tamper(tx: Transaction) -> None:
        def changed(data: bytes) -> bytes:
            document = json.loads(data)
            change(document)
            return canonical_bytes(document)

        changes: dict[str, Any] = {which: changed}
        await headed(**changes)(tx)
        if honest_digest:
            data = await tx.rounds.document_bytes(0, "input" if which == "input" else "outcome")
            await tx.connection.execute(update(rounds).values({f"{which}_sha256": sha256_hex(data or b"")}))

    return tamper


def has_sssa(one: StoredDispatch) -> bool:
    return one.signed_sha256 is not None


def liars(one: StoredDispatch) -> bool:
    return one.hotkey == LIAR


async def without_a_liar(tx: Transaction) -> None:
    await emptied(tx, liars)


async def another_sssa_in_its_place(tx: Transaction) -> None:
    """Other content with its own right hash, and everything that refers to it changed with it."""
    head = await tx.records.head(0)
    assert head is not None
    old = next(one.signed_sha256 for one in head.dispatches if has_sssa(one))
    groups = [group async for group in tx.records.groups(0)]
    document = json.loads(next(group.named()[old] for group in groups if old in group.named()))
    document["analysis"]["risk_score"] = 0.9
    data = canonical_bytes(document)
    new = sha256_hex(data)
    submission: dict[str, Any] = {"signed_sha256": new, "submission": lambda own: {**own, "sssa_sha256": new}}
    await dispatched(lambda one: one.signed_sha256 == old, **submission)(tx)
    await grouped(
        lambda group: replace(group, signed=tuple(data if sha256_hex(one) == old else one for one in group.signed))
    )(tx)


async def another_answer_in_its_place(tx: Transaction) -> None:
    row = (await tx.connection.execute(select(answers).where(answers.c.hotkey != LIAR).limit(1))).one()
    body = expanded(row.body).replace(b'"risk_score":0.1', b'"risk_score":0.9')
    at = (answers.c.task_id == row.task_id) & (answers.c.hotkey == row.hotkey)
    await tx.connection.execute(update(answers).where(at).values(body=compressed(body)))


def torn(group: Group) -> Group:
    return replace(group, signed=tuple(one[:-1] + b"]" for one in group.signed))


def planned_for(group: dict[str, Any]) -> None:
    group["groups"][0]["auditors"] = ["x"]


def more_risk(document: dict[str, Any]) -> None:
    document["members"][3]["consensus"] = 0.25


def richer(document: dict[str, Any]) -> None:
    document["miners"][0]["reputations"]["mcp_server"] = 0.9


def older(document: dict[str, Any]) -> None:
    document["scoring_version"] = "0.9.0"


def seeded(document: dict[str, Any]) -> None:
    document["seed"] = "00" * 32


def retitled(document: dict[str, Any]) -> None:
    document["tasks"][1]["slot"] = 1 - document["tasks"][1]["slot"]


A_FLAG = {
    "hotkey": LIAR,
    "skill_type": "mcp_server",
    "round_id": 0,
    "mean_with_primaries": 0.95,
    "mean_with_auditors": 0.5,
    "mean_own": 0.25,
    "mean_witnesses": 0.75,
    "samples": 5,
    "raised_at": datetime(2026, 1, 1, tzinfo=UTC),
}
TAMPERINGS: dict[str, tuple[Tamper, str, str]] = {  # what replay names, and what `db check` does
    "summary": (
        executed(update(rounds).values(accepted_count=0)),
        "",
        "summary.accepted_count: stored 0, recomputed 8",
    ),
    "outcome": (
        altered("outcome", more_risk, honest_digest=False),
        unlike("outcome"),
        "its outcome is not what outcome_sha256 names",
    ),
    "outcome and digest": (altered("outcome", more_risk, honest_digest=True), unlike("outcome"), LINES),
    "outcome digest": (
        executed(update(rounds).values(outcome_sha256="0" * 64)),
        "",
        "its outcome is not what outcome_sha256 names",
    ),
    "no outcome": (headed(outcome=None), unlike("outcome"), "its outcome is not what outcome_sha256 names"),
    "record byte": (flipped, "decompression error", "the record of round 0: decompression error"),
    "receipt": (
        executed(update(receipts).values(line=b"x")),
        "cannot get frame parameters",
        "receipt 1 cannot be read",
    ),
    "no record": (
        executed(delete(records)),
        "round 0 has ended and has no record",
        "round 0 has ended and has no record",
    ),
    "input": (
        altered("input", richer, honest_digest=False),
        unlike("input"),
        "its input is not what input_sha256 names",
    ),
    "input and digest": (altered("input", richer, honest_digest=True), unlike("input"), LINES),
    "version": (
        altered("input", older, honest_digest=True),
        unlike("input"),
        "No code here scores this version: `0.9.0`",
    ),
    "seed": (altered("input", seeded, honest_digest=True), "input.seed: does not follow from the stored salt", ""),
    "slot": (altered("input", retitled, honest_digest=True), unlike("input"), "slot: stored 0, recomputed 1"),
    "salt": (
        executed(update(salts).values(salt=b"x" * 32)),
        "the stored salt of epoch 0 is not the one",
        "salts.salt of 1 is not what commitment names",
    ),
    "block": (executed(update(rounds).values(block=1)), "round.block: stored 1, the receipt says 0", ""),
    "task": (executed(update(tasks).values(nonce="00")), "", 'nonce: stored "00", recomputed'),
    "group": (altered("plan", planned_for, honest_digest=False), unlike("plan"), LINES),
    "task end": (executed(update(tasks).values(reason="other")), "", 'reason: stored "other", recomputed "settled"'),
    "dispatch": (dispatched(rank=7), "", "its dispatches are not those of the table"),
    "dispatch reason": (
        dispatched(lambda one: one.state == "answered", reason=Reason.ACCEPTED_EARLY),
        "",
        "its dispatches are not those of the table",
    ),
    "dispatch row": (without_a_liar, unlike("answers"), "its dispatches are not those of the table"),
    "no judgement": (dispatched(lambda one: one.hotkey != LIAR, submission=None), unlike("answers"), LINES),
    "SSSA byte": (grouped(torn), "no document ", DOCUMENTS),
    "no SSSA": (grouped(lambda group: replace(group, signed=())), "no document ", DOCUMENTS),
    "another SSSA": (another_sssa_in_its_place, unlike("answers"), LINES),
    "another answer": (another_answer_in_its_place, "answers: a stored raw answer is not the one that arrived", ""),
    "damaged answer": (executed(update(answers).values(body=b"x")), "cannot get frame parameters", ""),
    "subset": (
        dispatched(
            lambda one: has_sssa(one) and one.skill_type == "mcp_server" and one.role == "primary",
            submission=lambda own: {**own, "semantic_subset": 0.125},
        ),
        unlike("answers"),
        LINES,
    ),
    "flag": (executed(insert(flags).values(A_FLAG)), "", "/mcp_server]: stored {"),
    "window": (
        executed(update(dispatches).values(entry=2.5)),
        "",
        "window_entries[0].value: stored 2.5, recomputed 0.0",
    ),
    "no window": (executed(update(dispatches).values(entry=None)), "", "window_entries[0]: missing in the store"),
}


async def test_what_was_not_touched_is_equal_twice(settled: Store) -> None:
    first, second = await replayed(settled), await replayed(settled)
    assert first == second
    assert (first.verdict, first.difference, first.pruned) == ("equal", None, 0)
    async with settled.read() as tx:
        receipt, record = await tx.receipts.of_round(0), await tx.rounds.record(0)
        assert await replay_round(tx, 1) is None
    assert receipt is not None
    assert record is not None
    assert first.receipt == receipt.sha256
    assert 0 < first.judged < record.dispatch_count


async def test_answers_that_are_too_large_for_memory_are_read_from_a_folder(
    settled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = await replayed(settled)
    for most in (1, 5_000):
        monkeypatch.setattr("validator.audit.replay._TOGETHER", most)
        assert await replayed(settled) == together
        assert await faults_after(settled, another_answer_in_its_place) != ("", "")


async def test_every_tampering_is_named_by_replay_or_by_db_check(settled: Store) -> None:
    wrong = {}
    for name, (tamper, by_replay, by_check) in TAMPERINGS.items():
        replay, check = await faults_after(settled, tamper)
        if not replay.startswith(by_replay) or by_check not in check or (replay, check) == ("", ""):
            wrong[name] = (replay, check)
    assert wrong == {}
    assert (await replayed(settled)).verdict == "equal"


async def test_pruned_answers_are_no_difference(settled: Store) -> None:
    whole = await replayed(settled)
    mcp = select(tasks.c.task_id).where(tasks.c.skill_type == "mcp_server")
    for gone in (answers.c.task_id.in_(mcp), answers.c.hotkey != ""):
        async with settled.begin() as tx:
            await tx.connection.execute(delete(answers).where(gone))
        replay = await replayed(settled)
        assert (replay.verdict, replay.difference) == ("equal", None)
        assert (replay.judged + replay.pruned, replay.pruned > 0) == (whole.judged, True)
    assert replay.judged == 0


async def test_rounds_without_scores_are_reported_as_what_they_are(store: Store) -> None:
    world = World(store, script=mixed)
    await prepared(world)
    async with store.begin() as tx:
        key = await tx.dispatches.of_round(0)
        await tx.arrivals.sent([key[0].key], world.clock.now())
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    await prepared(world)
    found = [await replayed(store, round_id) for round_id in range(2)]
    assert [replay.state for replay in found] == ["void", "open"]
    assert {replay.verdict for replay in found} == {"unscored"}
    assert {replay.difference for replay in found} == {None}


async def test_a_round_that_was_abandoned_for_its_version_is_no_difference(store: Store) -> None:
    world = World(store)
    frozen = msgspec.structs.replace((await prepared(world)).frozen, round_id="1", scoring_version="0.9.0")
    async with store.begin() as tx:
        plan = await tx.groups.plan_of(0)
        await tx.rounds.open(frozen, msgspec.structs.replace(plan, round_id="1"), world.clock.now())
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    replay = await replayed(store, 1)
    assert (replay.state, replay.reason) == ("abandoned", "abandoned_version")
    assert "scoring_version" not in (replay.difference or "")


async def test_a_round_with_a_void_task_is_equal(store: Store) -> None:
    world = World(store, script=mixed)
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    async with store.begin() as tx:
        first = (await tx.dispatches.of_round(0))[0].key
        open_again = update(dispatches).where(
            dispatches.c.task_id == first.task_id, dispatches.c.hotkey == first.hotkey
        )
        await tx.connection.execute(delete(answers).where(answers.c.task_id == first.task_id))
        await tx.connection.execute(open_again.values(state="sent"))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    replay = await replayed(store)
    assert (replay.state, replay.verdict, replay.difference) == ("settled", "equal", None)
    async with store.read() as tx:
        ends = [task.state for task in await tx.tasks.of_round(0)]
    assert ends.count("void") == 1
