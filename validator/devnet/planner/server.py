"""A planner's HTTP server: `GET /v1/capabilities` and `POST /v1/workflows` (SPEC 12, 13)."""

import asyncio
from collections.abc import Container
from typing import Final

import msgspec
from aiohttp import web

from validator.devnet.miner.declaration import declare
from validator.devnet.miner.guard import RequestGuard
from validator.devnet.miner.server import HOST, say_why
from validator.devnet.planner.reading import UnreadableGoalError, read_goal
from validator.devnet.planner.skills import Habits, plan_steps
from validator.protocol.limits import MAX_TASK_BODY
from validator.protocol.round import Axon
from validator.protocol.scoring_version import DEFAULT_MAX_CONCURRENT, SkillType
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.strict_json import JsonError, decode
from validator.protocol.text import printable
from validator.protocol.workflow_plan import PlanTask, WorkflowDispatch, WorkflowPlan
from validator.sources import Clock

_READ_S: Final = 10.0
_SHUTDOWN_S: Final = 0.5
_JSON: Final = "application/json"


class LocalPlanner:
    """Serves one planner on a loopback port of its own.

    Args:
        signer: its hotkey.
        habits: its skill.
        validators: the hotkeys it answers.
        clock: for its declarations.
    """

    def __init__(self, signer: Signer, habits: Habits, validators: Container[str], clock: Clock) -> None:
        self.hotkey = signer.hotkey
        self._signer = signer
        self._habits = habits
        self._clock = clock
        self._guard = RequestGuard(self.hotkey, validators, clock)
        app = web.Application(client_max_size=MAX_TASK_BODY, middlewares=[say_why])
        app.add_routes([web.get("/v1/capabilities", self._capabilities), web.post("/v1/workflows", self._workflows)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S, auto_decompress=False)

    async def start(self) -> Axon:
        """Listen on a free loopback port and return where."""
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0).start()
        host, port = self._runner.addresses[0][:2]
        return Axon(host, port)

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._runner.cleanup()

    async def _capabilities(self, request: web.Request) -> web.Response:
        await self._authenticated_body(request)
        document = declare(self._signer, self._clock.now(), DEFAULT_MAX_CONCURRENT, (SkillType.WORKFLOW,))
        return web.Response(body=msgspec.json.encode(document), content_type=_JSON)

    async def _workflows(self, request: web.Request) -> web.Response:
        body = await self._authenticated_body(request)
        try:
            dispatch = decode(body, WorkflowDispatch, limit=MAX_TASK_BODY)
            plan = self.plan(dispatch)
        except (JsonError, UnreadableGoalError) as error:
            refusal = msgspec.json.encode({"error": printable(str(error))})
            return web.Response(body=refusal, status=400, content_type=_JSON)
        return web.Response(body=msgspec.json.encode(plan), content_type=_JSON)

    def plan(self, dispatch: WorkflowDispatch) -> WorkflowPlan:
        """Return the signed plan for a dispatch.

        Raises:
            UnreadableGoalError: the goal is not written in the local network's English.
        """
        nodes, edges, totals = plan_steps(read_goal(dispatch.goal.goal), dispatch.goal, self._habits)
        plan = WorkflowPlan(
            schema_version="1.0",
            task=PlanTask(dispatch.goal_sha256, dispatch.nonce),
            nodes=nodes,
            edges=edges,
            totals=totals,
            scoring_version=dispatch.scoring_version,
            signature=Signature(self.hotkey, "sr25519", ""),
        )
        return self._signer.sign_document(plan)

    async def _authenticated_body(self, request: web.Request) -> bytes:
        self._guard.admit(request.headers)
        async with asyncio.timeout(_READ_S):
            body = await request.read()
        await asyncio.to_thread(self._guard.verify, request.headers, body, request.method, request.raw_path)
        return body
