"""Rounds whose work waits: executions of bundles, and checks of code that plans made."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import msgspec
from aiohttp import web
from builders import FILES, trace_records
from task_builders import make_truth
from workflow_builders import ScriptedServices, Try, make_workflow, plan_document, step
from world import VALIDATOR, WINDOWS, World, answer_to, frozen_of, one_round

from sssa.protocol.answer import Dispatch, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.execution import AnswerReport, AnswerResult, ExecutionEvent, RunReport
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.sssa import Verdict
from sssa.protocol.task import Task
from sssa.protocol.traces import read_traces
from sssa.protocol.waiting_work import CodeCheck, Executed, Execution, Judged
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_run import CodeReport, StepOutput
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import Schedule, code_quality, measure, score_workflow, version
from validator.daemon.daemon import Service
from validator.miners.scripted import ScriptedReply
from validator.sandbox.interface import CodeSandbox, SandboxJob
from validator.sandbox.scripted import ScriptedRun
from validator.store import Store
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource, SourcedTask
from validator.waiting.code_checks import CodeWork
from validator.waiting.embedded import AT_ONCE, EmbeddedWorker
from validator.waiting.engine_watch import SandboxWatch, note_code
from validator.waiting.life_cycle import Kind, Tries

Work = TypeVar("Work", Execution, CodeCheck)
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


async def _until(
    world: World, look: Callable[[], Awaitable[tuple[Work, ...]]], holds: Callable[[tuple[Work, ...]], bool]
) -> tuple[Work, ...]:
    """Let time pass until it holds of the waiting work; while all of it is pending, time jumps."""
    for _ in range(5_000):
        every = await look()
        if holds(every):
            return every
        waits = min((one.due_at - world.clock.now()).total_seconds() for one in every)
        pending = all(one.state == "pending" for one in every)
        await world.clock.advance(max(1.0, waits) if pending else 1.0)
        await asyncio.sleep(0.001)
    raise AssertionError(every)


async def until_executions(world: World, holds: Callable[[tuple[Execution, ...]], bool]) -> tuple[Execution, ...]:
    """Let time pass until it holds of the executions of round 0."""
    return await _until(world, lambda: executions_of(world.store), holds)


async def until_checks(
    world: World, holds: Callable[[tuple[CodeCheck, ...]], bool], round_id: int = 0
) -> tuple[CodeCheck, ...]:
    """Let time pass until it holds of a round's checks of code."""
    return await _until(world, lambda: checks_of(world.store, round_id), holds)


def ended(every: Sequence[Execution | CodeCheck]) -> bool:
    return all(one.state in {"done", "inconclusive"} for one in every)


TASK = make_workflow("code", goal="Write add.", required_steps=2)
RAG = make_workflow("rag", required_steps=2)
CODE = "def add(a, b):\n    return a + b\n"
CAT = "The cat sat on the mat."
WHOLE = CodeReport(4, 4, 0)
STEPS = (step("find"), step("say", {"text": "${find.output.text}"}))


def planner(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
    task = TASK if dispatch.goal.goal == TASK.goal else RAG
    document = plan_document(task, STEPS, (("find", "say"),))
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    signed = signer.sign_document(msgspec.convert(document, WorkflowPlan))
    return ScriptedReply(msgspec.json.encode(signed), seconds=0.5)


def code_world(
    store: Store, scoring: str = "1.0.0", code: str = CODE, miners: int = 3, goals: Sequence[WorkflowTask] = (TASK,)
) -> World:
    """Every miner's plan makes the same code."""
    world = World(store, miners=miners, source=MemorySource(), goals=MemoryGoals(goals), planner=planner)
    world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({scoring: 0}))
    world.run_plans_on(ScriptedServices(world.clock, {"say": [Try(1.0, 0.01, None, StepOutput(CAT, code, None))]}))
    return world


async def checks_of(store: Store, round_id: int = 0) -> tuple[CodeCheck, ...]:
    async with store.read() as tx:
        return await tx.code_checks.of_round(round_id)


async def worth(store: Store, check: CodeCheck, report: CodeReport) -> float:
    """S of the run with the report, from the formula's parts."""
    frozen = await frozen_of(store, check.round_id)
    scores = version(frozen.scoring_version)
    async with store.read() as tx:
        results = await tx.submissions.results(check.round_id)
    (ran,) = [one for one in results.answers(check.task_id, WorkflowSubmission) if one.hotkey == check.hotkey]
    quality = code_quality(scores, report.passed, report.total, report.findings)
    return score_workflow(scores, measure(TASK, ran.plan, ran.run, quality)).score


async def judge_all(world: World, report_of: Callable[[str], CodeReport] = lambda _: WHOLE) -> list[CodeCheck]:
    """End every check that waits with the report of its miner."""
    ended: list[CodeCheck] = []
    while True:
        async with world.store.begin() as tx:
            taken = await tx.code_checks.take(world.clock.now())
        if taken is None:
            return sorted(ended, key=lambda one: one.work_id)
        report = report_of(taken.hotkey)
        score = await worth(world.store, taken, report)
        async with world.store.begin() as tx:
            assert await tx.code_checks.end(
                taken, "done", Reason.QUALITY_JUDGED, world.clock.now(), "", Judged(report, score)
            )
        ended.append(taken)


async def entries(store: Store, round_id: int) -> list[tuple[str, str, float]]:
    async with store.read() as tx:
        return [(one.hotkey, one.task_id, one.value) for one in await tx.windows.of_round(round_id)]


async def three_rounds(store: Store) -> World:
    """Run three rounds of a code and a rag task; deferred results of round 0 enter with round 1, others never."""
    world = code_world(store, goals=(TASK, RAG))
    await one_round(world)
    await judge_all(world)
    await one_round(world)
    await one_round(world)
    return world


@asynccontextmanager
async def serving(services: Iterable[Service]) -> AsyncIterator[None]:
    """Run services until the block ends."""
    tasks = [asyncio.create_task(service.run()) for service in services]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def working(world: World, sandbox: CodeSandbox, at_once: int = AT_ONCE) -> AsyncIterator[None]:
    """The services at work on the world's store; the world's clock is the only one."""
    services = (
        SandboxWatch(sandbox, world.clock, world.board, note_code),
        EmbeddedWorker(world.store, world.clock, (CodeWork(world.store, sandbox, world.clock, world.board),), at_once),
    )
    async with serving(services):
        yield


Change = Callable[[dict[str, Any]], object]


class Wrong(NamedTuple):
    """Falsified input of a round, and the expected messages of the log's verifier and of replay."""

    round_id: int
    change: Change
    path: str
    log: str
    replay: str


def _first(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["filled"][0]
    return found


async def wrong_inputs(store: Store) -> dict[str, Wrong]:
    """Return falsified inputs of `three_rounds`."""
    rag = (await entries(store, 0))[0][1]
    same_round = (await checks_of(store, 1))[0]
    again = msgspec.to_builtins((await frozen_of(store, 1)).filled)
    return {
        "report": Wrong(
            1, lambda d: _first(d)["report"].update(passed=3), "filled[0].score", "with the report", "recomputed 0"
        ),
        "score": Wrong(1, lambda d: _first(d).update(score=0.125), "filled[0].score", "worth", "stored score 0.125,"),
        "another id": Wrong(
            1,
            lambda d: _first(d).update(check_id="0000000000000000-000-00x"),
            "filled[0].check_id",
            "is not 0000000000000000-00",
            "is named 0000000000000000-000-00x",
        ),
        "twice in a round": Wrong(
            1, lambda d: d["filled"].insert(1, _first(d)), "filled[1]", "is filled twice", "is filled twice"
        ),
        "not deferred": Wrong(
            1, lambda d: _first(d).update(task_id=rag), "filled[0]", "was not deferred", "was not deferred"
        ),
        "of nobody": Wrong(
            1, lambda d: _first(d).update(hotkey=VALIDATOR.hotkey), "filled[0]", "was not deferred", "was not deferred"
        ),
        "of the same round": Wrong(
            1,
            lambda d: _first(d).update(round_id="1", task_id=same_round.task_id, check_id=same_round.work_id),
            "filled[0].round_id",
            "not of a round before this one",
            "which is not before this one",
        ),
        "before its round": Wrong(
            0, lambda d: d.update(filled=again), "filled[0].round_id", "before this one", "which is not before this one"
        ),
        "twice": Wrong(
            2, lambda d: d.update(filled=again), "filled[0]", "or was filled before", "was filled by round 1"
        ),
    }


async def killed_in_the_middle(world: World, kind: Kind[Any], times: int) -> None:
    """A start takes back what is running and begins a try, and the process is killed: so often."""
    tries = Tries(world.store, world.clock)
    for _ in range(times):
        await tries.take_back(kind)
        async with world.store.read() as tx:
            due = await kind.queue(tx).next_due()
        assert due is not None
        await world.clock.advance(max(0.0, (due - world.clock.now()).total_seconds()))
        async with world.store.begin() as tx:
            assert await kind.queue(tx).take(world.clock.now()) is not None
