"""Twenty rounds with miners that invent their traces: what D-30 and reputation leave them (SPEC 15, 16)."""

import asyncio
import base64
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace

import msgspec
from builders import finding, trace_files
from rerun_world import honest_image
from test_rerun_service import working
from world import VALIDATOR, World, answer_to, one_round, tasks_of_all_types

from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Answer, Dispatch
from validator.protocol.archives import pack
from validator.protocol.probes import probe_values
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.protocol.traces import read_traces
from validator.reruns.sandbox.scripted import ScriptedSandbox
from validator.scoring import Schedule
from validator.store import Store, open_store
from validator.tasks.memory import MemorySource

ROUNDS = 20
SCRIPT = SkillType.EXECUTABLE_SCRIPT
INVENTING, CARELESS, PRETENDING = (Signer.from_uri(f"//Miner//{number}").hotkey for number in range(3))
# The first two report two findings of five, so that they diverge; the first and the last invent their traces.
FINDINGS = tuple(finding(ref=f"a.py#L{line}", target_pattern=str(kind)) for line in (1, 2) for kind in range(3))[:5]


def behaving(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    answer = answer_to(signer, dispatch)
    seen = FINDINGS[:2] if signer.hotkey in {INVENTING, CARELESS} else FINDINGS
    answer = signed(signer, answer, analysis=msgspec.structs.replace(answer.sssa.analysis, findings=seen))
    if signer.hotkey in {INVENTING, PRETENDING} and answer.trace_bundle is not None:
        files = trace_files(dispatch.skill_type, dispatch.nonce)  # the probes of the dispatch, and a guess
        packed = pack({**files, "fs.jsonl": files["fs.jsonl"] + b'{"ts": 9, "op": "read", "path": "/skill/guess"}\n'})
        hashes = read_traces(packed, dispatch.skill_type, probe_values(dispatch.nonce)).hashes
        answer = msgspec.structs.replace(answer, trace_bundle=base64.b64encode(packed).decode())
        answer = signed(signer, answer, evidence=msgspec.structs.replace(answer.sssa.evidence, trace_hashes=hashes))
    return ScriptedReply(msgspec.json.encode(answer), seconds=1.0)


def signed(signer: Signer, answer: Answer, **changed: object) -> Answer:
    sssa = signer.sign_document(msgspec.structs.replace(answer.sssa, **changed))
    return msgspec.structs.replace(answer, sssa=sssa)


@dataclass
class Stand:
    """What twenty rounds leave a miner: mean window entry, how many of them are 0, reputation."""

    entry: float
    zeros: int
    reputation: float


async def stands(store: Store, version: str) -> dict[str, Stand]:
    """Seven miners, two tasks a round; every image does what an honest miner's traces say."""
    tasks = [task for task in tasks_of_all_types() if task.task.skill_type is SCRIPT]
    world = World(store, miners=7, source=MemorySource(tasks), script=behaving)
    world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({version: 0}))
    world.service.most_reruns = 100
    async with working(world, ScriptedSandbox(honest_image, world.clock)):
        for _ in range(ROUNDS):
            await one_round(world)
            await run_again(world)
    await one_round(world)  # counts what the last one's reruns came to
    entries = defaultdict(list)
    async with store.read() as tx:
        for round_id in range(ROUNDS):
            for entry in await tx.windows.of_round(round_id):
                entries[entry.hotkey].append(entry.value)
        reputations = await tx.reputations.all()
    return {
        hotkey: Stand(statistics.mean(found), found.count(0.0), reputations[hotkey, SCRIPT])
        for hotkey, found in entries.items()
    }


async def run_again(world: World) -> None:
    for _ in range(2_000):
        async with world.store.read() as tx:
            if not await tx.reruns.unended():
                return
        await world.clock.advance(1.0)
        await asyncio.sleep(0.001)
    raise AssertionError("reruns do not end")


async def figures(url: str, version: str) -> tuple[dict[str, Stand], float]:
    """What is left to whom, and an honest miner's mean window entry; both are printed."""
    async with open_store(url, writer=True) as store:
        found = await stands(store, version)
    names = {INVENTING: "inventing", CARELESS: "careless", PRETENDING: "pretending"}
    honest = statistics.mean(stand.entry for hotkey, stand in found.items() if hotkey not in names)
    for hotkey, stand in found.items():
        share = stand.entry / honest
        print(f"{version} {names.get(hotkey, 'honest')}: {stand}, {share:.2f} of an honest miner's entry")  # noqa: T201
    assert VALIDATOR.hotkey not in found
    return found, honest


async def test_inventing_leaves_less_than_half_of_an_honest_entry_and_the_lowest_reputation(sqlite_url: str) -> None:
    found, honest = await figures(sqlite_url, "1.1.0")
    assert found[INVENTING].entry < honest / 2
    assert found[CARELESS].entry > honest / 2  # the same report, of a run that was
    assert found[INVENTING].reputation == min(stand.reputation for stand in found.values())
    assert found[PRETENDING].entry < honest


async def test_reputation_alone_would_not_do_it(sqlite_url: str) -> None:
    found, honest = await figures(sqlite_url, "1.0.0")
    assert found[INVENTING].entry >= honest / 2
