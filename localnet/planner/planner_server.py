"""A planner's HTTP server: `GET /v1/capabilities` and `POST /v1/workflows` (SPEC 12, 13)."""

from collections.abc import Container

from aiohttp import web

from localnet.planner.goal_parser import UnreadableGoalError, read_goal
from localnet.planner.skills import Habits, plan_steps
from miner.server import LocalServer, answer, declare, refusal
from sssa.protocol.capabilities import DEFAULT_MAX_CONCURRENT
from sssa.protocol.limits import MAX_TASK_BODY
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.workflow_plan import PlanTask, WorkflowDispatch, WorkflowPlan
from sssa.sources import Clock


class LocalPlanner:
    """Serves one planner on its own loopback port.

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
        self._server = LocalServer(
            self.hotkey,
            validators,
            clock,
            [web.get("/v1/capabilities", self._capabilities), web.post("/v1/workflows", self._workflows)],
            max_body=MAX_TASK_BODY,
        )

    async def start(self) -> Axon:
        """Listen on a free loopback port and return where."""
        return Axon(*await self._server.start())

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._server.close()

    async def _capabilities(self, request: web.Request) -> web.Response:
        await self._server.body(request)
        return answer(declare(self._signer, self._clock.now(), DEFAULT_MAX_CONCURRENT, (SkillType.WORKFLOW,)))

    async def _workflows(self, request: web.Request) -> web.Response:
        body = await self._server.body(request)
        try:
            return answer(self.plan(decode(body, WorkflowDispatch, limit=MAX_TASK_BODY)))
        except (JsonError, UnreadableGoalError) as error:
            return refusal(400, str(error))

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
