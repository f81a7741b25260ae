"""Miners, step services and declarers that mix hostility with honest answers, and note what they did to whom."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
from aiohttp import web
from workflow_builders import SERVICE, step, task_document
from world import answer_to

from hostile.declarations import Declaration, capabilities
from hostile.kinds import Case, Kind, Made, is_runtime_primary, of_channel
from hostile.plans import Planning
from hostile.services import Serving
from sssa.protocol.answer import Dispatch
from sssa.protocol.limits import MIB
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_plan import WorkflowDispatch
from sssa.protocol.workflow_run import StepOutput, StepRequest, run_id_of
from sssa.protocol.workflow_task import WorkflowTask

_LITTLE_S = 0.1
_DEAR, _CHEAP, _HONEST = "dear", "cheap", "honest"
_OUTPUT = StepOutput("a cat sat " * 1_500, None, {"count": 2})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Plan:
    """Hostile share of a round.

    Attributes:
        pattern: what the dispatches of a round's assessments are answered with, in turn.
        plans: the share of plans that are hostile; the steps of the others are answered with hostility.
        waiting_every: in one round of so many, kinds that take until the deadline have their turn.
    """

    pattern: tuple[str, ...] = (_DEAR, _CHEAP, _HONEST)
    plans: float = 0.5
    waiting_every: int = 3


@dataclass
class Journal:
    """Log of answers by recipient; None means an honest answer.

    Attributes:
        answers: by task and hotkey.
        steps: by run, node and attempt.
        declarers: by hotkey.
        asked: which declarers were asked at all.
        rounds: dispatches of each round by class.
    """

    answers: dict[tuple[str, str], Kind | None] = field(default_factory=dict)
    steps: dict[tuple[str, str, int], Kind] = field(default_factory=dict)
    declarers: dict[str, Kind] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    rounds: dict[str, Counter[str]] = field(default_factory=dict)

    def used(self) -> Counter[str]:
        """Return the number of uses of each kind."""
        answers = [kind.name for kind in self.answers.values() if kind is not None]
        declared = [self.declarers[hotkey].name for hotkey in self.asked]
        return Counter([*answers, *(kind.name for kind in self.steps.values()), *declared])


class Population:
    """Everybody who is asked anything by the daemon.

    Attributes:
        axons: where the miners listen; what `Site` registers.
        url: of the step service.
        goals: the workflow tasks, by goal hash; set before the daemon starts.
    """

    def __init__(self, miners: int, plan: Plan | None = None, seed: int = 7) -> None:
        self.signers = [Signer.from_uri(f"//Miner//{number}") for number in range(miners)]
        self.plan = plan or Plan()
        self.journal = Journal()
        self.axons: dict[str, Axon] = {}
        self.goals: dict[str, WorkflowTask] = {}
        self.url = ""
        self._rng = random.Random(seed)
        self._used: Counter[str] = Counter()
        self._runs: dict[str, Kind | None] = {}
        self._runners: list[web.AppRunner] = []

    async def __aenter__(self) -> Self:
        for signer in self.signers:
            routes = [
                web.get("/v1/capabilities", self._declare(signer)),
                web.post("/v1/assessments", self._assess(signer)),
                web.post("/v1/workflows", self._propose(signer)),
            ]
            self.axons[signer.hotkey] = Axon("127.0.0.1", await self._listen(routes))
        for number, kind in enumerate(of_channel("capabilities")):
            signer = Signer.from_uri(f"//Declarer//{number}")
            self.journal.declarers[signer.hotkey] = kind
            routes = [web.get("/v1/capabilities", self._declare_hostile(signer, kind))]
            self.axons[signer.hotkey] = Axon("127.0.0.1", await self._listen(routes))
        self.url = f"http://127.0.0.1:{await self._listen([web.post('/v1/steps', self._serve)])}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for runner in self._runners:
            await runner.cleanup()

    async def _listen(self, routes: list[web.RouteDef]) -> int:
        app = web.Application(client_max_size=16 * MIB)
        app.add_routes(routes)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._runners.append(runner)
        port: int = runner.addresses[0][1]
        return port

    def _case_rng(self) -> random.Random:
        return random.Random(self._rng.random())

    def _declare(self, signer: Signer) -> Handler:
        async def handle(_: web.Request) -> web.StreamResponse:
            return web.Response(body=msgspec.json.encode(capabilities(signer)))

        return handle

    def _declare_hostile(self, signer: Signer, kind: Kind) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.journal.asked.add(signer.hotkey)
            return _response(await kind.make(Declaration(self._case_rng(), signer, request)))

        return handle

    def _assess(self, signer: Signer) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            dispatch = msgspec.json.decode(await request.read(), type=Dispatch)
            kind = self._choose(dispatch)
            self.journal.answers[dispatch.task_id, signer.hotkey] = kind
            if kind is None or kind.name != "early":
                await asyncio.sleep(dispatch.t_min_s + _LITTLE_S)
            if kind is None:
                return web.Response(body=msgspec.json.encode(answer_to(signer, dispatch)))
            return _response(await kind.make(Case(self._case_rng(), signer, dispatch, request)))

        return handle

    def _choose(self, dispatch: Dispatch) -> Kind | None:
        """Choose the least used kind of those that apply to this dispatch; None for an honest answer."""
        done = self.journal.rounds.setdefault(dispatch.round_id, Counter())
        turn = self.plan.pattern[done.total() % len(self.plan.pattern)]
        done[turn] += 1
        if turn == _HONEST:
            return None
        traced, waiting = is_runtime_primary(dispatch), int(dispatch.round_id) % self.plan.waiting_every == 0
        return self._least_used(
            kind
            for kind in of_channel("answer")
            if kind.dear == (turn == _DEAR) and (traced or not kind.traced) and (waiting or not kind.waits)
        )

    def _least_used(self, kinds: Any) -> Kind:
        kind: Kind = min(kinds, key=lambda kind: (self._used[kind.name], not kind.traced, not kind.waits))
        self._used[kind.name] += 1
        return kind

    def _propose(self, signer: Signer) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            dispatch = msgspec.json.decode(await request.read(), type=WorkflowDispatch)
            kind = self._least_used(of_channel("plan")) if self._rng.random() < 0.5 else None
            if kind is not None and kind.waits and int(dispatch.round_id) % self.plan.waiting_every:
                kind = None
            self.journal.answers[dispatch.task_id, signer.hotkey] = kind
            self._runs[run_id_of(dispatch.task_id, signer.hotkey)] = kind
            case = Planning(self._case_rng(), signer, dispatch, self.goals[dispatch.goal_sha256], request)
            if kind is None:
                return web.Response(body=case.plan([step(f"s{number}", timeout=3.0) for number in range(3)]))
            return _response(await kind.make(case))

        return handle

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        """Answer a step: with hostility to the plans of honest miners, else honestly."""
        body = await request.read()
        asked = msgspec.json.decode(body, type=StepRequest)
        case = Serving(self._case_rng(), body, request)
        planned = self._runs.get(asked.run_id)
        if planned is not None:
            tries = planned.make.__name__ == "as_many_tries_as_allowed"
            return web.Response(status=500) if tries else web.Response(body=case.answer(_OUTPUT))
        kind = self._least_used(of_channel("service"))
        self.journal.steps[asked.run_id, asked.node_id, asked.attempt] = kind
        return _response(await kind.make(case))


def goal_documents(url: str, window_s: float, latency_s: float) -> list[dict[str, Any]]:
    """Two workflow tasks whose steps go to `url`."""
    windows = {"primary": [0, window_s], "auditor": [0, window_s]}
    constraints = {"max_budget_tao": 1.0, "max_latency_seconds": latency_s, "allowed_services": None}
    documents = []
    for kind in ("rag", "data_transform"):
        document = task_document(kind, windows=windows, constraints=constraints, goal=f"Say it as {kind}.")
        for tool in document["tools"]:
            tool |= {"url": url, "hotkey": SERVICE.hotkey}
        documents.append(document)
    documents[0]["reference"] = {"text": "a cat sat on b mats " * 700}
    return documents


def _response(made: Made) -> web.StreamResponse:
    return web.Response(body=made) if isinstance(made, bytes) else made
