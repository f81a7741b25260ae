"""Worlds whose tasks are executed: honest miners that ran the bundle, one that invents its traces."""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from aiohttp import web
from builders import FILES, trace_records
from task_builders import make_truth
from world import WINDOWS, World, answer_to

from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch, probe_values
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.execution import AnswerReport, AnswerResult, ExecutionEvent, RunReport
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType, trace_names
from validator.protocol.sssa import Verdict
from validator.protocol.task import Task
from validator.protocol.traces import read_traces
from validator.protocol.waiting_work import Executed, Execution
from validator.sandbox.interface import SandboxJob
from validator.sandbox.scripted import ScriptedRun
from validator.scoring import Schedule
from validator.store import Store
from validator.tasks.source import MemorySource, SourcedTask

PYTHON = SkillType.EXECUTABLE_PYTHON
LIAR = Signer.from_uri("//Miner//1")
Records = Mapping[str, list[dict[str, Any]]]
DOES: Records = {
    "fs": [{"ts": i, "op": "read", "path": f"/skill/{i}"} for i in range(5)],
    "network": [{"ts": 2, "domain": "updates.example.invalid", "dst_port": 80, "proto": "tcp"}],
    "process": [{"ts": 3, "cmd": "tar -x"}],
}
INVENTS: Records = {**DOES, "fs": [{"ts": 1, "op": "write", "path": f"/tmp/invented\u0007{i}"} for i in range(5)]}
RUNS = RunReport({})
REPORT = AnswerReport((), None, {})


def files_of(skill_type: SkillType, nonce: str, does: Records = DOES) -> dict[str, bytes]:
    """The traces of a run that shows the probes and does this besides."""
    probes = trace_records(nonce)
    probes["fs"] = probes["fs"][:1]
    return {
        f"{name}.jsonl": b"".join(
            json.dumps(record).encode() + b"\n" for record in [*probes[name], *does.get(name, [])]
        )
        for name in trace_names(skill_type)
    }


def image(job: SandboxJob) -> ScriptedRun:
    """The runtime image over a bundle that does what honest miners' traces say."""
    return ScriptedRun(files_of(job.skill_type, job.nonce, DOES if job.bundle is not None else {}), seconds=5.0)


def ran(signer: Signer, dispatch: Dispatch, does: Records = DOES, verdict: Verdict = "ALLOW") -> ScriptedReply:
    """The answer of a miner whose traces show this."""
    answer = answer_to(signer, dispatch)
    analysis = msgspec.structs.replace(answer.sssa.analysis, verdict=verdict)
    sssa = msgspec.structs.replace(answer.sssa, analysis=analysis)
    bundle = None
    if answer.trace_bundle is not None:
        packed = pack(files_of(dispatch.skill_type, dispatch.nonce, does))
        hashes = read_traces(packed, dispatch.skill_type, probe_values(dispatch.nonce)).hashes
        evidence = msgspec.structs.replace(answer.sssa.evidence, trace_hashes=hashes)
        sssa = msgspec.structs.replace(sssa, evidence=evidence)
        bundle = base64.b64encode(packed).decode()
    answer = msgspec.structs.replace(answer, sssa=signer.sign_document(sssa), trace_bundle=bundle)
    return ScriptedReply(msgspec.json.encode(answer), seconds=1.0)


async def running(signer: Signer, dispatch: Dispatch, _request: web.Request) -> bytes:
    """The answer over HTTP of a miner that ran the bundle."""
    return ran(signer, dispatch).body or b""


def inventing(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One miner copies the probes from the dispatch into traces of a run that never was."""
    return ran(signer, dispatch, INVENTS if signer.hotkey == LIAR.hotkey else DOES)


def nobody_ran(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return ran(signer, dispatch, INVENTS)


def world_of(  # noqa: PLR0913 - what worlds of executions differ in
    store: Store,
    script: Callable[[Signer, Dispatch], ScriptedReply] = inventing,
    miners: int = 3,
    scoring: str = "1.0.0",
    *,
    executes: bool = True,
    mark: str | None = None,
) -> World:
    """Two tasks of Python a round; up to three miners are primaries of both. Their truth may be an execution mark."""
    truth = None if mark is None else make_truth(mark=mark)
    tasks = []
    for slot in range(2):
        bundle = pack({**FILES, "which.txt": str(slot).encode()})
        tasks.append(
            SourcedTask(
                Task("1.0", PYTHON, WINDOWS, sha256_hex(bundle), "curated" if truth else "none", truth, None), bundle
            )
        )
    world = World(store, miners=miners, source=MemorySource(tasks), script=script)
    preparer = replace(world.preparer, schedule=Schedule({scoring: 0}), executes=executes)
    world.preparer = world.service.preparer = preparer
    return world


def plain_world(store: Store) -> World:
    """Two tasks of Python a round, for one miner that runs them."""
    return world_of(store, ran, miners=1)


async def executions_of(store: Store, round_id: int = 0) -> tuple[Execution, ...]:
    async with store.read() as tx:
        return await tx.executions.of_round(round_id)


async def end_all(world: World, fails: str | None = None, unclear: str | None = None) -> int:
    """End every execution that waits: of `fails` with a fail, of `unclear` without an event; return the fails."""
    failed = 0
    special: dict[str | None, ExecutionEvent | None] = {fails: "rerun_fail", unclear: None}
    async with world.store.begin() as tx:
        while (taken := await tx.executions.take(world.clock.now())) is not None:
            events = [special.get(one, "rerun_pass") for one in taken.hotkeys]
            results = [AnswerResult(one, event, REPORT) for one, event in zip(taken.hotkeys, events, strict=True)]
            assert await tx.executions.end(
                taken, "done", Reason.EXECUTION_COMPARED, world.clock.now(), "", Executed(RUNS, tuple(results))
            )
            failed += events.count("rerun_fail")
    return failed


async def give_up_all(world: World) -> None:
    async with world.store.begin() as tx:
        while (taken := await tx.executions.take(world.clock.now())) is not None:
            assert await tx.executions.end(taken, "inconclusive", Reason.EXECUTION_ENDED, world.clock.now())


async def until(world: World, holds: Callable[[tuple[Execution, ...]], bool]) -> tuple[Execution, ...]:
    """Let time pass until it holds of the executions of round 0; while all of them wait, it jumps."""
    for _ in range(5_000):
        found = await executions_of(world.store)
        if holds(found):
            return found
        waits = min((one.due_at - world.clock.now()).total_seconds() for one in found)
        pending = all(one.state == "pending" for one in found)
        await world.clock.advance(max(1.0, waits) if pending else 1.0)
        await asyncio.sleep(0.001)
    raise AssertionError(found)


def ended(found: tuple[Execution, ...]) -> bool:
    return all(one.state in {"done", "inconclusive"} for one in found)
