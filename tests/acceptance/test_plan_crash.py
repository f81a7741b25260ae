"""The daemon as a process: kill -9 while it runs plans; no step is asked for twice (SPEC 12, D-6)."""

import asyncio
import json
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from aiohttp import web
from daemon_process import Miners, Site, until
from workflow_builders import plan_document, step, task_document
from workflow_world import TEXT, signed_answer

from validator.protocol.capabilities import Capabilities
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Signature
from validator.protocol.task import Windows
from validator.protocol.times import format_time
from validator.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from validator.protocol.workflow_run import StepRequest
from validator.protocol.workflow_task import WorkflowTask
from validator.store import Store, open_store

FIND, SAY, GROUP = "find", "say", 5
Handler = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def listening(routes: list[web.RouteDef]) -> AsyncIterator[int]:
    """Yield the port."""
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class Planners(Miners):
    """Miners that answer the goal with two steps, one after the other."""

    task: WorkflowTask

    async def start(self) -> None:
        for signer in self.signers:
            routes = [web.get("/v1/capabilities", declaring(signer)), web.post("/v1/workflows", self._planning(signer))]
            app = web.Application()
            app.add_routes(routes)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.runners.append(runner)
            self.axons[signer.hotkey] = Axon("127.0.0.1", runner.addresses[0][1])

    def _planning(self, signer: Signer) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            dispatch = msgspec.json.decode(await request.read(), type=WorkflowDispatch)
            document = plan_document(self.task, (step(FIND), step(SAY, timeout=60.0)), ((FIND, SAY),))
            document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
            signed = signer.sign_document(msgspec.convert(document, WorkflowPlan))
            return web.Response(body=msgspec.json.encode(signed))

        return handle


def declaring(signer: Signer) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        now = datetime.now(UTC)
        until = format_time(now + timedelta(hours=12))
        blank = Signature(signer.hotkey, "sr25519", "0x" + "0" * 128)
        types = (SkillType.WORKFLOW.value,)
        document = Capabilities("1.0", signer.hotkey, types, "test", format_time(now), until, blank)
        return web.Response(body=msgspec.json.encode(signer.sign_document(document)))

    return handle


class StepService:
    """Answers `find` at once, and `say` once it is released; counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str, int]] = Counter()
        self.released = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        asked = msgspec.json.decode(body, type=StepRequest)
        self.asked[asked.run_id, asked.node_id, asked.attempt] += 1
        if asked.node_id == SAY:
            await self.released.wait()
        return web.Response(body=signed_answer(body, TEXT))

    @property
    def saying(self) -> int:
        return sum(times for (_, node, _), times in self.asked.items() if node == SAY)


async def test_plans_that_were_cut_off_by_a_kill_are_void_and_never_run_again(sqlite_url: str, tmp_path: Path) -> None:
    service, planners = StepService(), Planners()
    await planners.start()
    async with listening([web.post("/v1/steps", service.answer)]) as port:
        document = task_document(required_steps=2)
        for tool in document["tools"]:
            tool["url"] = f"http://127.0.0.1:{port}"
        planners.task = msgspec.convert(document, WorkflowTask)
        site = Site(tmp_path, sqlite_url, planners, Windows((0, 30), (0, 30)))
        shutil.rmtree(tmp_path / "tasks")
        (tmp_path / "tasks" / "goal").mkdir(parents=True)
        (tmp_path / "tasks" / "goal" / "workflow.json").write_text(json.dumps(document))

        async def all_run() -> bool:
            return service.saying == GROUP

        async with site.forked() as process:
            await until(all_run, site)
            process.kill()
            await process.wait()
        service.released.set()
        store = await open_store(sqlite_url)

        async def next_settled() -> bool:
            async with store.read() as tx:
                stored = await tx.rounds.get(1)
            return stored is not None and stored.record.state == "settled"

        async with site.forked() as process:
            await until(next_settled, site)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0, site.log.read_text()[-3000:]
        await check(store, service)
        await store.close()
    await planners.close()


async def check(store: Store, service: StepService) -> None:
    """The first round is void and costs nobody anything; the next one counts; nothing was asked for twice."""
    async with store.read() as tx:
        first, second = await tx.rounds.get(0), await tx.rounds.get(1)
        nothing, entries = await tx.windows.of_round(0), await tx.windows.of_round(1)
        outcome = await tx.records.outcome(0)
    assert first is not None
    assert (first.record.state, first.record.reason) == ("void", Reason.BUG_CRASH)
    assert second is not None
    assert second.outcome is not None
    assert (list(nothing), outcome) == ([], None)
    assert [group.reason for group in second.outcome.groups] == [Reason.SETTLED]
    assert len(entries) == GROUP
    assert set(service.asked.values()) == {1}
