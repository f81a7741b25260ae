"""Digests of raw answers in the log, made on arrival (SPEC 16, D-28)."""

import json
from pathlib import Path
from typing import Any

import msgspec
from audit_file import export, lines_of
from replays import executed, faults_after, replayed
from world import VALIDATOR, World, honest, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_BODY
from sssa.protocol.signatures import Signer
from validator.miners.scripted import ScriptedReply
from validator.rounds.prepare import Prepared
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import settle_round
from validator.store import Store
from validator.store.codec import compressed
from validator.store.tables import answers
from validator.tasks.source import MemorySource

HOTKEYS = [Signer.from_uri(f"//Miner//{number}").hotkey for number in range(5)]
ODD = {
    HOTKEYS[0]: ScriptedReply(b"{", seconds=1.0),
    HOTKEYS[1]: ScriptedReply(connects=False),
    HOTKEYS[2]: ScriptedReply(b"x" * (MAX_BODY + 1), seconds=1.0),
    HOTKEYS[3]: ScriptedReply(out_of="file descriptor"),
}


def world_of(store: Store, sent: dict[str, bytes]) -> World:
    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        reply = ODD.get(signer.hotkey) or honest(signer, dispatch)
        sent[signer.hotkey] = reply.body
        return reply

    return World(store, miners=5, source=MemorySource(tasks_of_all_types()[1:2]), script=script)


async def answers_line(store: Store, folder: Path) -> dict[str, Any]:
    data = (await export(store, folder / "log.jsonl")).read_bytes()
    (found,) = [line for line in lines_of(data) if line.startswith(b'{"answers":')]
    document: dict[str, Any] = json.loads(found)["answers"]
    return document


async def test_the_answers_line_has_them_in_the_order_of_the_plan_and_keeps_them_when_the_bytes_go(
    store: Store, tmp_path: Path
) -> None:
    sent: dict[str, bytes] = {}
    world = world_of(store, sent)
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        (group,) = (await tx.groups.plan_of(0)).groups
    part = b"x" * MAX_BODY
    whole = {hotkey: [sha256_hex(body), len(body), True] for hotkey, body in sent.items()}
    expected = {**whole, HOTKEYS[1]: None, HOTKEYS[2]: [sha256_hex(part), len(part), False], HOTKEYS[3]: None}
    before = await answers_line(store, tmp_path)
    assert before["raw"] == [[expected[hotkey] for hotkey, _ in group.members]]
    assert (await replayed(store)).verdict == "equal"
    await world.clock.advance(10)
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=world.clock.now())).answers == 2
    assert await answers_line(store, tmp_path) == before
    assert verify_file(tmp_path / "log.jsonl").answers == 1


async def test_after_a_crash_they_are_those_of_the_arrival_whatever_the_store_holds_then(
    store: Store, tmp_path: Path
) -> None:
    sent: dict[str, bytes] = {}
    world = world_of(store, sent)
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    async with store.begin() as tx:
        other = (await tx.submissions.results(0)).raw
        await tx.connection.execute(answers.update().values(body=compressed(b"something else")))
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    line = await answers_line(store, tmp_path)
    assert line["raw"] == json.loads(msgspec.json.encode(other))
    assert [sha256_hex(sent[HOTKEYS[4]]), len(sent[HOTKEYS[4]]), True] in line["raw"][0]
    found = await replayed(store)
    assert "other digest" in (found.difference or "")


async def settled(world: World, round_: Prepared) -> None:
    returned = await world.dispatcher.dispatch(round_)
    await settle_round(world.store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)


async def test_replay_names_a_stored_answer_that_is_not_the_one_that_arrived(store: Store) -> None:
    sent: dict[str, bytes] = {}
    world = world_of(store, sent)
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        size = (await tx.dispatches.of_round(0))[0].raw
    packed = compressed(b" ")
    tampered = executed(answers.update().where(answers.c.hotkey == HOTKEYS[0]).values(body=packed))
    found, _ = await faults_after(store, tampered)
    assert size is not None
    assert found == "answers: a stored raw answer is not the one that arrived: other digest"
