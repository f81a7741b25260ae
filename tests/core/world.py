"""A whole small world in memory: a simulated chain, signing miners that follow a script, tasks; for round tests."""

import base64
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import msgspec
from builders import FILES, trace_files
from virtual_time import passed
from workflow_builders import ScriptedServices

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol.answer import Answer, Dispatch, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.round import Axon, RoundInput, RoundOutcome
from sssa.protocol.runtime_image import RuntimeImage, RuntimeImages
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.protocol.sssa import (
    Analysis,
    Evidence,
    Finding,
    Policy,
    SandboxManifest,
    Signature,
    Skill,
    Sssa,
)
from sssa.protocol.task import Task, Windows
from sssa.protocol.times import format_time
from sssa.protocol.traces import read_traces
from sssa.protocol.workflow_plan import WorkflowDispatch
from sssa.sources import SeededRandom, VirtualClock
from validator.health.board import Board, advice_on
from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.step import StepClient
from validator.kinds.workflow.supply import Goals
from validator.miners.directory import CapabilityDirectory
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call
from validator.rounds.dispatch import Dispatcher
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.prepare import Prepared, Preparer
from validator.rounds.readiness import Readiness, Standing
from validator.rounds.service import RoundService
from validator.store import Store
from validator.tasks.goals import GoalSource, MemoryGoals
from validator.tasks.source import MemorySource, SourcedTask, TaskSource
from validator.workers.interface import Here, Workers

T = TypeVar("T")
VALIDATOR = Signer.from_uri("//Validator")
WINDOWS = Windows((0, 6), (0, 3))
_FEW = (SkillType.DECLARATIVE, SkillType.MCP_SERVER)
Script = Callable[[Signer, Dispatch], ScriptedReply]
Planner = Callable[[Signer, WorkflowDispatch], ScriptedReply]


def tasks_of_all_types(windows: Windows = WINDOWS, each: int = 2) -> list[SourcedTask]:
    """Two tasks per type without truth, or so many."""
    return [_task(skill_type, slot, windows) for skill_type in ASSESSED_TYPES for slot in range(each)]


@cache
def _task(skill_type: SkillType, slot: int, windows: Windows) -> SourcedTask:
    bundle = pack({**FILES, "which.txt": f"{skill_type} {slot}\n".encode()})
    return SourcedTask(Task("1.0", skill_type, windows, sha256_hex(bundle), "none", None, None), bundle)


def few_tasks() -> list[SourcedTask]:
    """One task of a type that runs and one of a type that does not."""
    return [one for one in tasks_of_all_types(each=1) if one.task.skill_type in _FEW]


@cache  # most of what a world costs that plays no round
def miner_signer(number: int, crypto: str = "sr25519") -> Signer:
    """Return the signer of a world's miner."""
    return Signer.from_uri(f"//Miner//{number}", crypto)


def honest(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """A valid answer with one finding, after a second."""
    return ScriptedReply(msgspec.json.encode(answer_to(signer, dispatch)), seconds=1.0)


def answer_to(signer: Signer, dispatch: Dispatch) -> Answer:
    """A valid answer to a dispatch."""
    bundle, hashes = None, {}
    runtime, image = is_runtime(dispatch.skill_type) and dispatch.role == "primary", dispatch.runtime_image
    manifest = SandboxManifest(image.reference, image.digest, "1") if runtime and image is not None else None
    if runtime:
        packed = pack(trace_files(dispatch.skill_type, dispatch.nonce))
        hashes = read_traces(packed, dispatch.skill_type, probe_values(dispatch.nonce)).hashes
        bundle = base64.b64encode(packed).decode()
    finding = Finding("f1", "other", "low", "words", "a.py#L1", (), "a.py")
    sssa = Sssa(
        "1.0",
        Skill(dispatch.skill_type, dispatch.bundle_sha256, dispatch.nonce),
        Analysis("ALLOW", 0.1, (finding,), ("file_io",), ()),
        Evidence(hashes, None, manifest, None),
        Policy(()),
        Signature(signer.hotkey, "sr25519", "0x" + "0" * 128),
    )
    return Answer(signer.sign_document(sssa), dispatch.probe_spec, bundle)


class World:
    """Everything around the round service, in memory; `script` decides what miners answer.

    Its source has `few_tasks`: most of what a round costs, it costs for each of its tasks.
    """

    def __init__(  # noqa: PLR0913 - what tests vary
        self,
        store: Store,
        *,
        miners: int = 6,
        script: Script = honest,
        source: TaskSource | None = None,
        goals: GoalSource | None = None,
        planner: Planner | None = None,
        crypto: str = "sr25519",
        tempo: int = 20,
        workers: Workers | None = None,
        owner_hotkey: str | None = None,
    ) -> None:
        self.store = store
        self.clock = VirtualClock()
        self.script = script
        self.planner = planner
        self.at_once: int | msgspec.UnsetType = msgspec.UNSET
        self.declares = tuple(SkillType) if planner else ASSESSED_TYPES
        self.posts = 0
        genesis = int(self.clock.now().timestamp())
        rules = SubnetRules(
            seed="test",
            genesis=genesis,
            block_time_s=1.0,
            tempo=tempo,
            weights_rate_limit=5,
            owner_hotkey=owner_hotkey,
        )
        self.subnet = SimulatedSubnet.create(rules, self.clock)
        self.subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        self.signers = {}
        for number in range(miners):
            signer = miner_signer(number, crypto)
            self.signers[signer.hotkey] = signer
            self.subnet.register(signer.hotkey, axon=Axon("127.0.0.1", 9000 + number))
        self.chain = SimulatedChain(self.subnet, VALIDATOR.hotkey)
        self.source = source or MemorySource(few_tasks())
        self.gates = Gatekeeper(workers or Here(), store)
        self.client = ScriptedMinerClient(self._reply, self.clock)
        random = SeededRandom("world")
        self.preparer = Preparer(
            store=store,
            supplies=(Bundles(self.source, None, random), Goals(goals or MemoryGoals(), random)),
            clock=self.clock,
            random=random,
            signer=VALIDATOR,
        )
        runners = {WORKFLOW.name: PlanRunner(ScriptedServices(self.clock, {}), self.clock)}
        self.dispatcher = Dispatcher(self.client, store, self.clock, self.gates, runners)
        self.board = Board(self.clock)
        self.service = RoundService(
            store=store,
            chain=self.chain,
            source=self.source,
            clock=self.clock,
            signer=VALIDATOR,
            directory=CapabilityDirectory(self.client, store, self.clock, VALIDATOR.hotkey),
            preparer=self.preparer,
            dispatcher=self.dispatcher,
            gates=self.gates,
            interval_s=0.0,
            refresh_s=3600.0,
            standing=Standing(VALIDATOR.hotkey),
            readiness=Readiness((), self.board, lambda: None),
            board=self.board,
            advice=advice_on,
        )

    def run_plans_on(self, services: StepClient) -> None:
        """Let plans be run on these services."""
        self.dispatcher = replace(self.dispatcher, runners={WORKFLOW.name: PlanRunner(services, self.clock)})
        self.service.dispatcher = self.dispatcher

    def name_image(self, image: RuntimeImage) -> None:
        """Let new rounds name it."""
        self.preparer = replace(self.preparer, images=RuntimeImages({image.pinned: 0}))
        self.service.preparer = self.preparer

    def _reply(self, method: str, call: Call) -> ScriptedReply:
        signer = self.signers[call.hotkey]
        if method == "GET":
            return ScriptedReply(self._capabilities(signer))
        self.posts += 1
        if self.planner is not None and call.path == "/v1/workflows":
            return self.planner(signer, msgspec.json.decode(call.whole, type=WorkflowDispatch))
        return self.script(signer, msgspec.json.decode(call.whole, type=Dispatch))

    def _capabilities(self, signer: Signer) -> bytes:
        now = self.clock.now()
        document = Capabilities(
            "1.0",
            signer.hotkey,
            self.declares,
            "test",
            format_time(now),
            format_time(now + timedelta(hours=12)),
            Signature(signer.hotkey, "sr25519", "0x" + "0" * 128),
            max_concurrent=self.at_once,
        )
        return msgspec.json.encode(signer.sign_document(document))


def garbage(_signer: Signer, _dispatch: Dispatch) -> ScriptedReply:
    """No JSON."""
    return ScriptedReply(json.dumps("garbage").encode()[1:], seconds=0.5)


async def on_virtual_time(world: World, work: Coroutine[Any, Any, T]) -> T:
    """Await `work` while virtual time runs on whenever everybody waits for it."""
    return await passed(world.clock, world.store, work)


async def one_round(world: World) -> RoundOutcome:
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    return end.outcome


async def frozen_of(store: Store, round_id: int) -> RoundInput:
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
    assert stored is not None
    assert stored.input is not None
    return stored.input


async def online() -> bool:
    return True


async def prepared(world: World) -> Prepared:
    snapshot = await world.chain.snapshot()
    await on_virtual_time(world, world.service.directory.refresh(snapshot))
    result = await world.preparer.prepare(snapshot)
    assert isinstance(result, Prepared)
    return result
