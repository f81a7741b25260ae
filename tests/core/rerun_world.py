"""Worlds whose answers are run again: one miner that invents its traces, images that do what honest ones claim."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
from builders import FILES, trace_files
from world import WINDOWS, World, answer_to, honest

from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.probes import probe_values
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Task
from validator.protocol.traces import read_traces
from validator.reruns.sandbox.job import SandboxJob
from validator.reruns.sandbox.scripted import ScriptedRun
from validator.scoring import Schedule
from validator.store import Store
from validator.store.rerun import Rerun
from validator.tasks.memory import MemorySource
from validator.tasks.source import SourcedTask

PYTHON = SkillType.EXECUTABLE_PYTHON
LIAR = Signer.from_uri("//Miner//1")


def honest_image(job: SandboxJob) -> ScriptedRun:
    """Does what the honest miners' traces say, at other times."""
    files = trace_files(job.skill_type, job.nonce)
    return ScriptedRun({name: data.replace(b'"ts": 1', b'"ts": 7') for name, data in files.items()}, seconds=5.0)


def inventing(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One miner copies the probes from the dispatch into traces of files that its image never touches."""
    if signer.hotkey != LIAR.hotkey or dispatch.role != "primary":
        return honest(signer, dispatch)
    files = trace_files(dispatch.skill_type, dispatch.nonce)
    packed = pack(
        {**files, "fs.jsonl": files["fs.jsonl"] + b'{"ts": 9, "op": "write", "path": "/tmp/invented\\u0007"}\n'}
    )
    answer = answer_to(signer, dispatch)
    hashes = read_traces(packed, dispatch.skill_type, probe_values(dispatch.nonce)).hashes
    sssa = msgspec.structs.replace(
        answer.sssa, evidence=msgspec.structs.replace(answer.sssa.evidence, trace_hashes=hashes)
    )
    lie = msgspec.structs.replace(
        answer, sssa=signer.sign_document(sssa), trace_bundle=base64.b64encode(packed).decode()
    )
    return ScriptedReply(msgspec.json.encode(lie), seconds=1.0)


def world_of(
    store: Store,
    script: Callable[[Signer, Dispatch], ScriptedReply] = honest,
    miners: int = 1,
    files: Mapping[str, bytes] = FILES,
) -> World:
    """A task of Python in two slots; with one miner its two answers are drawn to be run again."""
    tasks = []
    for slot in range(2):
        bundle = pack({**files, "which.txt": str(slot).encode()})
        tasks.append(SourcedTask(Task("1.0", PYTHON, WINDOWS, sha256_hex(bundle), "none", None, None), bundle))
    world = World(store, miners=miners, source=MemorySource(tasks), script=script)
    world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"1.1.0": 0}))
    world.service.most_reruns = 100
    return world


async def until(world: World, holds: Callable[[tuple[Rerun, ...]], bool]) -> tuple[Rerun, ...]:
    """Let time pass until it holds of the reruns of round 0; while all of them wait, it jumps."""
    for _ in range(5_000):
        async with world.store.read() as tx:
            found = await tx.reruns.of_round(0)
        if holds(found):
            return found
        waits = min((one.due_at - world.clock.now()).total_seconds() for one in found)
        pending = all(one.state == "pending" for one in found)
        await world.clock.advance(max(1.0, waits) if pending else 1.0)
        await asyncio.sleep(0.001)
    raise AssertionError(found)


def ended(found: tuple[Rerun, ...]) -> bool:
    return all(one.state in {"done", "inconclusive"} for one in found)
