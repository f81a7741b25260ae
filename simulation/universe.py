"""Everything outside the daemon in one history: chain, miners, services, tasks, sandboxes; it outlives every kill."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from random import Random
from socket import socket
from typing import Any, Final, NamedTuple

import msgspec
from code_world import CODE, STEPS, WHOLE
from workflow_builders import make_workflow, plan_document
from workflow_world import signed_answer
from world import answer_to, tasks_of_all_types

from simulation.faults import ANSWERS, Faults
from simulation.loop import LoopClock, Time, VirtualLoop
from simulation.sqlite import handles
from validator.chain.base import ChainUnreachableError, Commitment, Head, OtherChainError, WeightsResult
from validator.chain.simulated import SimulatedChain
from validator.chain.subnet import STATE_VERSION, Pending, SimulatedSubnet, SubnetRules, SubnetState
from validator.daemon.world import World
from validator.kinds.workflow.step import StepReply
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call
from validator.protocol.answer import Dispatch
from validator.protocol.capabilities import Capabilities
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon, MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Signature
from validator.protocol.task import Windows
from validator.protocol.times import format_time
from validator.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from validator.protocol.workflow_run import StepOutput, StepRequest
from validator.protocol.workflow_task import Tool
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.sandbox.interface import CodeJob, SandboxFailure, SandboxJob
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox, ScriptedRun, ScriptedSandbox
from validator.settings import Settings
from validator.sources import SeededRandom
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource
from validator.workers.interface import Here

BLOCK_S: Final = 2.0
EPOCH_BLOCKS: Final = 15  # 30 s
MECHANISMS: Final = (0, 1)
VALIDATOR: Final = Signer.from_uri("//Validator", "ed25519")
_MINERS: Final = 6
_WINDOWS: Final = Windows((0, 6), (0, 3))
_OUTPUT: Final = StepOutput("The cat sat on the mat.", CODE, None)
_IMAGE: Final = f"registry.invalid/runtime@sha256:{'5' * 64}"


@cache
def signer_of(number: int) -> Signer:
    """Return a miner's hotkey."""
    return Signer.from_uri(f"//Miner//{number}", "ed25519")


class Handed(NamedTuple):
    """Weights that reached the chain's pool: `epoch` is that of the head then, `pending` tells what became of them."""

    mechid: int
    epoch: int
    pending: Pending


class Subnet(SimulatedSubnet):
    """A subnet that remembers every submission of weights."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.handed: list[Handed] = []

    def submit(
        self, hotkey: str, mechid: int, weights: Mapping[int, float], *, delay: int | None, valid_blocks: int
    ) -> Pending:
        """Take a submission."""
        pending = super().submit(hotkey, mechid, weights, delay=delay, valid_blocks=valid_blocks)
        self.handed.append(Handed(mechid, self.blocks.head().epoch, pending))
        return pending


class _Frozen(NamedTuple):
    head: Head
    snapshot: MetagraphSnapshot
    reads: Mapping[tuple[str, int], Any]


class FaultyChain(SimulatedChain):
    """A connection of one life to the subnet.

    Args:
        universe: whose.
        loop: of the life.
    """

    def __init__(self, universe: "Universe", loop: VirtualLoop) -> None:
        super().__init__(universe.subnet, VALIDATOR.hotkey)
        self._universe, self._loop, self._plan = universe, loop, universe.faults

    async def head(self) -> Head:
        """Return the newest block that the node shows."""
        await self._travel()
        head = await super().head()
        if (frozen := self._universe.frozen) is not None and self._plan.acts("chain_lags"):
            return frozen.head
        return head._replace(hash=self._forked(head.number, head.hash))

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as the node shows it."""
        await self._travel()
        snapshot = await super().snapshot()
        if (frozen := self._universe.frozen) is not None and self._plan.acts("chain_lags"):
            return frozen.snapshot
        return msgspec.structs.replace(snapshot, block_hash=self._forked(snapshot.block, snapshot.block_hash))

    async def wait_for_block(self, number: int) -> Head:
        """Wait for a block, which a node that lags does not see."""
        while self._universe.frozen is not None and self._universe.frozen.head.number < number:
            await self._universe.clock.sleep(BLOCK_S)
        return await super().wait_for_block(number)

    async def set_weights(self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int) -> WeightsResult:
        """Submit weights; the process may be killed before and after."""
        await self._travel()
        if self._plan.kills("before_handover"):
            await self._loop.die()
        fault = self._plan.submission()
        if fault == "refused":
            return WeightsResult(False, "SettingWeightsTooFast: simulated", None, None)
        self.faults.unsent += fault == "unsent"
        self.faults.broken += fault == "sent_then_broken"
        self.faults.lost_answers += fault == "lost_answer"
        self.faults.delay = {"delayed": 3, "pool_lost": None}.get(fault or "", 0)
        if self._plan.kills("cancel_at_handover"):
            self.faults.delay = 3  # a submission on its way, whose answer takes some blocks
            self._loop.call_later(0.5, self._plan.cancel)
        return await super().set_weights(mechid, weights, valid_blocks=valid_blocks)

    async def _answered(self, submit: Callable[[int | None], Pending]) -> WeightsResult:
        def handed_over(delay: int | None) -> Pending:
            pending = submit(delay)
            if self._plan.kills("after_handover"):
                self._loop.kill()  # nothing of this life runs after this step, which only returns
            return pending

        return await super()._answered(handed_over)

    async def last_update(self, mechid: int, uid: int) -> int:
        """Return the block of the last weights."""
        return await self._read("last_update", mechid, partial(super().last_update, mechid, uid))  # type: ignore[no-any-return]

    async def commits(self, mechid: int) -> Sequence[int]:
        """Return the blocks of commitments."""
        return await self._read("commits", mechid, partial(super().commits, mechid))  # type: ignore[no-any-return]

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights on chain."""
        return await self._read("weights", mechid, partial(super().weights, mechid, uid))  # type: ignore[no-any-return]

    async def commitment(self, hotkey: str) -> Commitment | None:
        """Return the commitment."""
        return await self._read("commitment", 0, partial(super().commitment, hotkey))  # type: ignore[no-any-return]

    async def _read(self, name: str, mechid: int, now: Callable[[], Any]) -> Any:
        await self._travel()
        value = await now()
        frozen = self._universe.frozen
        return value if frozen is None else frozen.reads.get((name, mechid), value)

    async def _travel(self) -> None:
        await self._universe.clock.sleep(self._loop.duration())

    def _forked(self, number: int, block_hash: str) -> str:
        return f"{number:064x}" if self._plan.acts("chain_forks") else block_hash

    def _reach(self) -> None:
        if self._plan.acts("chain_away"):
            raise ChainUnreachableError("simulated: no node answers")
        if self._plan.acts("other_chain"):
            raise OtherChainError("simulated: another genesis")
        super()._reach()


class Source(MemorySource):
    """A task source that can be away."""

    faults: Faults

    async def reachable(self) -> bool:
        """Return whether it is there."""
        return not self.faults.acts("source_away")


class Steps:
    """Services on which plans run.

    Args:
        universe: whose.
    """

    def __init__(self, universe: "Universe") -> None:
        self._universe = universe

    async def call(self, tool: Tool, body: bytes, timeout_s: float) -> StepReply:  # noqa: ARG002 - the interface's
        """Answer after half a second."""
        request = msgspec.json.decode(body, type=StepRequest)
        random = self._universe.stream("step", request.node_id, body.hex())
        await self._universe.clock.sleep(0.5)
        if self._universe.faults.drawn(("step_fails",), random):
            return StepReply(Reason.STEP_TRANSPORT, b"", "simulated")
        return StepReply(None, signed_answer(body, _OUTPUT))

    async def close(self) -> None:
        """Hold nothing."""


class Told:
    """A listener that notes which rounds it was told of, in all lives."""

    def __init__(self) -> None:
        self.started_rounds: list[str] = []
        self.ended_rounds: list[str] = []
        self.settled = 0

    def started(self, prepared: Prepared) -> None:
        """Note the start."""
        self.started_rounds.append(prepared.frozen.round_id)

    def ended(self, end: EndedRound) -> None:
        """Note the end."""
        self.ended_rounds.append(end.round_id)
        self.settled += end.outcome is not None


class Universe:
    """The world of one history.

    Args:
        seed: of the history.
        folder: of the store.
        faults: what goes wrong.
        time: shared by all lives.

    Attributes:
        honest: dispatches that a miner answered properly and in time, by nonce and hotkey.
    """

    def __init__(self, seed: int, folder: Path, faults: Faults, time: Time) -> None:
        self.seed, self.folder, self.faults, self.time = seed, folder, faults, time
        self.clock, self.own = LoopClock(time), LoopClock(time, wrong=True)
        self.told = Told()
        self.honest: set[tuple[str, str]] = set()
        self.frozen: _Frozen | None = None
        self.random = SeededRandom(f"{seed}|daemon")
        rules = SubnetRules(
            seed=f"{seed}",
            genesis=int(self.clock.now().timestamp()),
            block_time_s=BLOCK_S,
            tempo=EPOCH_BLOCKS - 1,
            weights_rate_limit=3,
            mechanisms=len(MECHANISMS),
            reveal_epochs=self.stream("reveal").choice((0, 0, 1)),
            immunity_period=0,
            max_uids=_MINERS + 1,
        )
        self.subnet = Subnet(SubnetState(STATE_VERSION, rules), self.clock)
        self.subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        self.signers: dict[str, Signer] = {}
        self._next = 0
        for _ in range(_MINERS):
            self.newcomer()
        self.source = Source(_tasks())
        self.source.faults = faults
        self.goals = MemoryGoals(
            (make_workflow("code", goal="Write add.", required_steps=2), make_workflow("rag", required_steps=2))
        )

    def stream(self, *names: object) -> Random:
        """Return a stream of random numbers of its own for a purpose."""
        return Random("|".join(map(str, (self.seed, *names))))

    def newcomer(self) -> None:
        """Register one more miner; where no uid is free it gets the one of a neuron that earns least."""
        signer = signer_of(self._next)
        self._next += 1
        self.signers[signer.hotkey] = signer
        self.subnet.register(signer.hotkey, axon=Axon("127.0.0.1", 9000 + self._next))

    def settings(self) -> Settings:
        """Return the operator's settings."""
        random = self.stream("settings")
        switch = random.choice(({"1.0.0": 0, "1.1.0": 2}, {"1.1.0": 0}))
        mechanism = random.choice(MECHANISMS)
        if len(switch) > 1:
            self.faults.counts["version_switch"] = max(1, self.faults.counts["version_switch"])
        self.faults.counts["two_mechanisms"] = max(mechanism, self.faults.counts["two_mechanisms"])
        return Settings.model_validate(
            {
                "validator": {"netuid": 1},
                "chain": {"kind": "simulated"},
                "store": {"url": f"sqlite:///{self.folder}/store.sqlite", "archive": str(self.folder / "archive")},
                "rounds": {"interval_s": 10.0, "grace_s": random.choice((2.0, 30.0)), "capabilities_refresh_s": 60.0},
                "weights": {
                    "blocks_before_epoch_end": 9,
                    "timeout_s": 8.0,
                    "valid_blocks": 4,
                    "workflow_mechid": mechanism,
                },
                "scoring": {"schedule": switch, "runtime_images": {_IMAGE: 0}},
                "health": {"port": 0},
            }
        )

    def world(self, loop: VirtualLoop) -> World:
        """Return the world of a new life."""
        return World(
            chain=FaultyChain(self, loop),
            source=self.source,
            goals=self.goals,
            signer=VALIDATOR,
            clock=self.own,
            random=self.random,
            canary=None,
            workers=Here(),
            miners=ScriptedMinerClient(self._reply, self.own),
            steps=Steps(self),
            sandbox=ScriptedSandbox(self._run, self.own),
            code=ScriptedCodeSandbox(self._check, self.own),
            handles=handles(loop, self.faults),
            listen=_nowhere,
            listeners=(self.told,),
        )

    def freeze(self, *, on: bool) -> None:
        """Let the node show what is now for as long as it lags."""
        self.frozen = None
        if not on:
            return
        uid = next(one.uid for one in self.subnet.snapshot().neurons if one.hotkey == VALIDATOR.hotkey)
        reads: dict[tuple[str, int], Any] = {("commitment", 0): self.subnet.commitment(VALIDATOR.hotkey)}
        for mechid in MECHANISMS:
            reads["last_update", mechid] = self.subnet.last_update(mechid, uid)
            reads["commits", mechid] = self.subnet.commits(mechid, VALIDATOR.hotkey)
            reads["weights", mechid] = self.subnet.weights(mechid, uid)
        self.frozen = _Frozen(self.subnet.blocks.head(), self.subnet.snapshot(), reads)

    # What miners and sandboxes do

    def _reply(  # noqa: PLR0911 - one for each thing that a miner does
        self, method: str, call: Call
    ) -> ScriptedReply:
        signer = self.signers[call.hotkey]
        if method == "GET":
            return ScriptedReply(self._capabilities(signer))
        if self.faults.acts("miners_out"):
            return ScriptedReply(connects=False)
        workflow = call.path == "/v1/workflows"
        dispatch: Any = msgspec.json.decode(call.whole, type=WorkflowDispatch if workflow else Dispatch)
        random = self.stream(signer.hotkey, dispatch.nonce)
        fault = self.faults.drawn(ANSWERS, random)
        signed_by = signer_of(10_000) if fault == "false_signature" else signer
        body = _plan(signed_by, dispatch) if workflow else msgspec.json.encode(answer_to(signed_by, dispatch))
        seconds = round(0.2 + 2.2 * random.random(), 3)
        match fault:
            case "late":
                return ScriptedReply(body, seconds=call.deadline_s + 1)
            case "broken":
                return ScriptedReply(body[: len(body) // 2], seconds)
            case "missing":
                return ScriptedReply(connects=random.random() < 0.5, status=None, seconds=seconds)  # noqa: PLR2004
            case "doubled":
                return ScriptedReply(body + body, seconds)
            case "refused_answer":
                return ScriptedReply(b"busy", seconds, status=503)
        if fault is None:
            self.honest.add((signer.hotkey, dispatch.nonce))
        return ScriptedReply(body, seconds)

    def _capabilities(self, signer: Signer) -> bytes:
        now = self.own.now()
        begin, end = format_time(now), format_time(now + timedelta(hours=12))
        unsigned = Signature(signer.hotkey, "ed25519", "0x" + "0" * 128)
        return msgspec.json.encode(
            signer.sign_document(
                Capabilities("1.0", signer.hotkey, tuple(SkillType), "simulated", begin, end, unsigned)
            )
        )

    def _run(self, job: SandboxJob) -> ScriptedRun | SandboxFailure:
        fault = self.faults.drawn(("execution_fails", "execution_hangs"), self.stream("run", job.nonce, self.time.now))
        if fault == "execution_fails":
            return SandboxFailure(Reason.SANDBOX_ENGINE, "simulated")
        return ScriptedRun(_traces(job), 1_000.0 if fault else 1.0)

    def _check(self, job: CodeJob) -> ScriptedCheck | SandboxFailure:
        fault = self.faults.drawn(("check_fails", "check_hangs"), self.stream("check", job.code, self.time.now))
        if fault == "check_fails":
            return SandboxFailure(Reason.SANDBOX_ENGINE, "simulated")
        return ScriptedCheck(WHOLE, 1_000.0 if fault else 1.0)


def _traces(job: SandboxJob) -> dict[str, bytes]:
    from builders import trace_files  # noqa: PLC0415

    return dict(trace_files(job.skill_type, job.nonce))


@cache
def _tasks() -> Collection[Any]:
    chosen = (SkillType.DECLARATIVE, SkillType.MCP_SERVER)
    return [one for one in tasks_of_all_types(_WINDOWS, each=1) if one.task.skill_type in chosen]


def _plan(signer: Signer, dispatch: WorkflowDispatch) -> bytes:
    task = make_workflow("rag", required_steps=2)
    document = plan_document(task, STEPS, (("find", "say"),))
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    return msgspec.json.encode(signer.sign_document(msgspec.convert(document, WorkflowPlan)))


async def _nowhere(_host: str, _port: int) -> Sequence[socket]:
    return ()
