"""Everything outside the daemon, in memory for one history: chain, miners, services. It reads the store for checks."""

import asyncio
import json
import sqlite3
from asyncio import Protocol
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from random import Random
from socket import socket
from typing import Any, Final, NamedTuple

import msgspec
from waiting_world import CODE, STEPS, WHOLE
from workflow_builders import make_workflow, plan_document, signed_answer
from world import answer_to, tasks_of_all_types

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import STATE_VERSION, Pending, SimulatedSubnet, SubnetRules, SubnetState, WeightRow
from simulation.faults import ANSWERS, BRIEF, OWN, Faults
from simulation.loop import LoopClock, Time, VirtualLoop
from simulation.network import Link, fault_of
from simulation.sqlite import handles
from sssa.protocol.answer import Dispatch
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon, MetagraphSnapshot
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.task import Windows
from sssa.protocol.times import format_time
from sssa.protocol.weight_rows import to_u16
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_run import StepOutput, StepRequest
from sssa.protocol.workflow_task import Tool
from sssa.sources import SeededRandom, ns_of
from taskmaker.canary import make_canary
from validator.chain.interface import ChainUnreachableError, Commitment, Head, OtherChainError, WeightsResult
from validator.daemon.world import World
from validator.kinds.workflow.step import StepReply
from validator.miners.client import HttpMinerClient, MinerClient
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call
from validator.outgoing.stalls import StallsSince
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.sandbox.interface import CodeJob, SandboxFailure, SandboxJob
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox, ScriptedRun, ScriptedSandbox
from validator.settings.model import Settings
from validator.store.columns import unsealed
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import FETCH_S, MemorySource, Order, SourcedTask, TaskSourceError
from validator.workers.interface import Here

MECHANISMS: Final = (0, 1)
VALIDATOR: Final = Signer.from_uri("//Validator", "ed25519")
_MOST_MINERS: Final = 5
_NO_MECHANISM: Final = 255
_ANCHORED: Final = 50  # blocks of an epoch: fewer leave no room for an anchor
_TAKES_S: Final = 0.3  # that a client takes until it accepts its cancellation
_LOOKED_S: Final = 2.0  # between the look at the chain and what is handed over after it
_SETTLED_S: Final = 10.0  # after an event on the subnet the validator has seen it
_WINDOWS: Final = Windows((0, 6), (0, 3))
_OUTPUT: Final = StepOutput("The cat sat on the mat.", CODE, None)
_IMAGE: Final = f"registry.invalid/runtime@sha256:{'5' * 64}"


@cache
def signer_of(number: int) -> Signer:
    """Return a miner's hotkey."""
    return Signer.from_uri(f"//Miner//{number}", "ed25519")


class Shape(NamedTuple):
    """The size of one history, drawn from its seed: a small round costs less, so that there can be more of them.

    Attributes:
        types, goals: of the tasks that are given.
        http: the validator calls its miners over HTTP.
        canary: it plants tasks.
        block_s, epoch_blocks: of the chain; where epochs have many blocks the log is anchored.
        interval_s: between rounds.
        calm_s: without faults, at the end: an epoch whole, and rounds that settle.
    """

    miners: int
    types: Sequence[SkillType]
    goals: Sequence[str]
    http: bool
    canary: bool
    block_s: float
    epoch_blocks: int
    interval_s: float
    calm_s: float


def shape_of(seed: int) -> Shape:
    """Return the shape of a seed's history. Of a hundred seeds one has rounds enough to fill the windows."""
    random, long = Random(f"{seed}|shape"), seed % 100 == _LONG
    anchor = not long and random.random() < (0.2 if seed <= BRIEF else 0.08)
    return Shape(
        miners=3 if long else random.randint(4, _MOST_MINERS),
        types=random.choice(_TYPES[:2] if long else _TYPES),
        goals=("code",) if long else random.choice(_GOALS),
        http=random.random() < 0.5,
        canary=not long and random.random() < 0.2,
        block_s=0.5 if anchor else 2.0,
        epoch_blocks=100 if anchor else 10,
        interval_s=5.0 if long else 8.0 if seed <= BRIEF else 14.0,
        calm_s=500.0 if long else 104.0 if anchor else 46.0,
    )


_LONG: Final = 50
_TYPES: Final = ((SkillType.DECLARATIVE,), (SkillType.MCP_SERVER,), (SkillType.DECLARATIVE, SkillType.MCP_SERVER))
_GOALS: Final = (("code",), ("rag",), ("code", "rag"))


class Handed(NamedTuple):
    """Weights that reached the chain's pool: mechanism, the epoch that they were made for, what tells their result."""

    mechid: int
    epoch: int
    pending: Pending


class Subnet(SimulatedSubnet):
    """A subnet that remembers every submission of weights, and which rows did not come into force as sent.

    Attributes:
        unlike: mechanism and block of those rows, with the fault.
    """

    def __init__(self, faults: Faults, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._plan = faults
        self.handed: list[Handed] = []
        self.unlike: dict[tuple[int, int], str] = {}
        self.epoch = 0  # that the next ones are made for

    def submit(
        self, hotkey: str, mechid: int, weights: Mapping[int, float], *, delay: int | None, valid_blocks: int
    ) -> Pending:
        """Take a submission."""
        pending = super().submit(hotkey, mechid, weights, delay=delay, valid_blocks=valid_blocks)
        self.handed.append(Handed(mechid, self.epoch, pending))
        return pending

    def _reveal(self, row: WeightRow) -> None:
        hidden = self.rules.reveal_epochs > 0
        fault = self._plan.row()
        fault = fault if hidden or fault is None else "row_altered"
        self.failing_reveals, self.altered_rows = int(fault == "reveal_fails"), int(fault == "row_altered")
        if fault is not None:
            self.unlike[row.mechid, row.block] = fault
        super()._reveal(row)


class _Frozen(NamedTuple):
    kind: str
    head: Head
    snapshot: MetagraphSnapshot
    reads: Mapping[tuple[str, int], Any]


class FaultyChain(SimulatedChain):
    """A connection of one life to the subnet."""

    def __init__(self, universe: "Universe", loop: VirtualLoop) -> None:
        super().__init__(universe.subnet, VALIDATOR.hotkey)
        self._universe, self._loop, self._plan = universe, loop, universe.faults

    async def head(self) -> Head:
        """Return the newest block that the node shows."""
        await self._travel()
        head = await super().head()
        if (frozen := self._universe.frozen) is not None and self._plan.acts(frozen.kind):
            return frozen.head
        return replace(head, hash=self._forked(head.number, head.hash))

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as the node shows it."""
        await self._travel()
        snapshot = await super().snapshot()
        if (frozen := self._universe.frozen) is not None and self._plan.acts(frozen.kind):
            return frozen.snapshot
        return msgspec.structs.replace(snapshot, block_hash=self._forked(snapshot.block, snapshot.block_hash))

    async def wait_for_block(self, number: int) -> Head:
        """Wait for a block, which a node that lags does not see."""
        while self._universe.frozen is not None and self._universe.frozen.head.number < number:
            await self._universe.clock.sleep(self._universe.shape.block_s)
        return await super().wait_for_block(number)

    async def set_weights(
        self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int, head: int | None = None
    ) -> WeightsResult:
        """Submit weights; the process may be killed before and after."""
        await self._travel()
        self._universe.hand_over(mechid, weights)
        if self._plan.kills("before_handover"):
            await self._loop.die()
        fault = self._plan.submission()
        if fault == "refused":
            mechid = _NO_MECHANISM  # the runtime refuses it, in a block
        self.faults.unsent += fault == "unsent"
        self.faults.broken += fault == "sent_then_broken"
        self.faults.lost_answers += fault == "lost_answer"
        self.faults.delay = {"delayed": 3, "pool_lost": None}.get(fault or "", 0)
        if (end := self._plan.end) is not None and end.kind == "cancel_at_handover" and end.aim:
            self._plan.count("cancel_at_handover")
            self._plan.arm(end._replace(kind="cancel_at_commit", aim="weight_submissions"))
        elif self._plan.kills("cancel_at_handover"):
            self.faults.delay = 3  # a submission on its way, whose answer takes some blocks
            self._loop.call_later(0.5, self._plan.cancel)
        try:
            return await super().set_weights(mechid, weights, valid_blocks=valid_blocks, head=head)
        except asyncio.CancelledError:
            await asyncio.sleep(_TAKES_S)
            raise

    async def _answered(self, submit: Callable[[int | None], Pending]) -> WeightsResult:
        def handed_over(delay: int | None) -> Pending:
            pending = submit(delay)
            if self._plan.kills("after_handover"):
                self._loop.kill()  # nothing of this life runs after this step, which only returns
            return pending

        return await super()._answered(handed_over)

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        """Commit to an anchor."""
        await self._travel()
        self._plan.count("anchor")
        return await super().set_commitment(content, valid_blocks=valid_blocks)

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
        try:
            await self._universe.clock.sleep(self._loop.duration())
        except asyncio.CancelledError:
            await asyncio.sleep(_TAKES_S)
            raise

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
        """Return whether it exists."""
        return not self.faults.acts("source_away")

    async def fetch(
        self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
    ) -> list[SourcedTask]:
        """Return up to `count` tasks."""
        if self.faults.acts("source_away"):
            raise TaskSourceError("simulated: no answer")
        return await super().fetch(skill_type, count, order, within_s)


class Steps:
    """Services on which plans run.

    Args:
        universe: whose.
    """

    def __init__(self, universe: "Universe") -> None:
        self._universe = universe

    async def call(self, tool: Tool, body: bytes, timeout_s: float, stalls: StallsSince) -> StepReply:
        """Answer after half a second."""
        request = msgspec.json.decode(body, type=StepRequest)
        random = self._universe.stream("step", request.node_id, body.hex())
        await self._universe.clock.sleep(0.5)
        if self._universe.faults.drawn(("step_fails",), random):
            return StepReply(Reason.STEP_TRANSPORT, b"", "simulated")
        return StepReply(None, signed_answer(body, _OUTPUT))

    async def close(self) -> None:
        """Hold nothing."""


class Listener:
    """A listener that notes the starts and ends of rounds, in all lives."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self.started_at: dict[int, float] = {}
        self.ended_rounds: list[str] = []

    def started(self, prepared: Prepared) -> None:
        """Note the start."""
        self.started_at[int(prepared.frozen.round_id)] = self._time.now

    def ended(self, end: EndedRound) -> None:
        """Note the end."""
        self.ended_rounds.append(end.round_id)


class Universe:
    """The world of one history.

    Args:
        seed: of the history.
        folder: of the store.
        faults: what goes wrong.
        time: shared by all lives.

    Attributes:
        shape: how large it is.
        honest: dispatches that a miner answered properly and in time, by hotkey and nonce.
        ours: dispatches that this machine could not send.
        wrong: dispatches that a miner did not answer properly, and how.
        violations: what must not happen and did, as it was seen.
        on_dispatch: called when the next dispatch arrives.
        moved_at: when uids changed hands last.
    """

    def __init__(self, seed: int, folder: Path, faults: Faults, time: Time) -> None:
        self.seed, self.folder, self.faults, self.time = seed, folder, faults, time
        self.shape = shape = shape_of(seed)
        self.clock, self.own = LoopClock(time), LoopClock(time, wrong=True)
        self.listener = Listener(time)
        self.honest: set[tuple[str, str]] = set()
        self.ours: set[tuple[str, str]] = set()
        self.wrong: dict[tuple[str, str], str] = {}
        self.violations: list[str] = []
        self.on_dispatch: list[Callable[[], object]] = []
        self.moved_at = -_SETTLED_S
        self.frozen: _Frozen | None = None
        self.frozen_at = 0.0
        self.captured: dict[str, _Frozen] = {}
        self.ports: dict[int, str] = {}
        self.random = SeededRandom(f"{seed}|daemon")
        rules = SubnetRules(
            seed=f"{seed}",
            netuid=self.stream("netuid").choice((1, 4)),
            genesis=int(self.clock.now().timestamp()),
            block_time_s=shape.block_s,
            tempo=shape.epoch_blocks - 1,
            weights_rate_limit=3,
            mechanisms=len(MECHANISMS),
            reveal_epochs=self.stream("reveal").choice((0, 0, 1)),
            immunity_period=0,
            max_uids=shape.miners + 1,
        )
        self.subnet = Subnet(faults, SubnetState(STATE_VERSION, rules), self.clock)
        self.subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        self.signers: dict[str, Signer] = {}
        self._next = 0
        for _ in range(shape.miners):
            self.newcomer()
        self.source = Source([one for one in _tasks() if one.task.skill_type in shape.types])
        self.source.faults = faults
        self.goals = MemoryGoals([_goal(name) for name in shape.goals])

    def stream(self, *names: object) -> Random:
        """Return a separate stream of random numbers for a purpose."""
        return Random("|".join(map(str, (self.seed, *names))))

    def newcomer(self) -> None:
        """Register one more miner; where no uid is free it gets the one of a neuron that earns least."""
        signer = signer_of(self._next)
        self._next += 1
        self.signers[signer.hotkey] = signer
        self.moved_at = self.time.now
        self.subnet.register(signer.hotkey, axon=Axon("127.0.0.1", 9000 + self._next))
        self.ports[9000 + self._next] = signer.hotkey

    def settings(self) -> Settings:
        """Return the operator's settings."""
        random = self.stream("settings")
        switch = random.choice(({"1.0.0": 0, "2.0.0": 2}, {"1.0.0": 0}))
        mechanism = random.choice(MECHANISMS)
        if len(switch) > 1:
            self.faults.counts["version_switch"] = max(1, self.faults.counts["version_switch"])
        shape = self.shape
        for kind, acts in (("two_mechanisms", mechanism), ("miners_over_http", shape.http), ("canary", shape.canary)):
            self.faults.counts[kind] = max(int(acts), self.faults.counts[kind])
        return Settings.model_validate(
            {
                "validator": {"netuid": self.subnet.rules.netuid},
                "chain": {"kind": "simulated"},
                "store": {"url": f"sqlite:///{self.folder}/store.sqlite"},
                "rounds": {
                    "interval_s": shape.interval_s,
                    "grace_s": random.choice((0.5, 45.0)),
                    "capabilities_refresh_s": 60.0,
                },
                "audit": {"anchor": shape.epoch_blocks > _ANCHORED},
                "weights": {
                    "blocks_before_epoch_end": 6,
                    "timeout_s": random.choice((5.0, 8.0)),  # what is delayed arrives after it, or before
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
            canary=self._canary if self.shape.canary else None,
            workers=Here(),
            miners=self._miners(loop),
            steps=Steps(self),
            sandbox=ScriptedSandbox(self._run, self.own),
            code=ScriptedCodeSandbox(self._check, self.own),
            handles=handles(loop, self.faults),
            listen=_nowhere,
            listeners=(self.listener,),
        )

    async def _canary(self, skill_type: SkillType) -> SourcedTask:
        """Return the planted task of a type with a new nonce: planting takes longer than a round."""
        return replace(canary_of(skill_type), nonce=self.random.token(NONCE_BYTES))

    def _miners(self, loop: VirtualLoop) -> MinerClient:
        if not self.shape.http:
            return ScriptedMinerClient(self._reply, self.own)
        loop.connect = self._connected
        time_ns = partial(ns_of, self.own)
        return HttpMinerClient(VALIDATOR, connect_timeout_s=5.0, allow_private=True, time_ns=time_ns)

    async def _connected(self, loop: VirtualLoop, factory: Callable[[], Protocol], port: int) -> tuple[Link, Protocol]:
        """Connect the validator to the miner behind a port."""
        await self.clock.sleep(loop.duration())
        hotkey, random = self.ports[port], self.stream("connect", port, self.time.now)
        if (fault := fault_of(self._line(random))) is not None:
            raise fault
        client = factory()
        return Link(loop, client, hotkey, self._reply, random), client

    def hand_over(self, mechid: int, weights: Mapping[int, float]) -> None:
        """Look at weights that the validator hands to the chain now."""
        where, head = f"mechanism {mechid}, {self.time.now:.1f} s", self.subnet.blocks.head()
        shown = head.number if self.frozen is None else self.frozen.head.number
        self.subnet.snapshot()  # the blocks until now take what is due
        with sqlite3.connect(self.folder / "store.sqlite") as database:
            newest = "SELECT state, sent, vector, epoch FROM weight_submissions WHERE mechid = ? ORDER BY epoch DESC"
            row = database.execute(newest, (mechid,)).fetchone()
            confirmed = "SELECT max(block) FROM weight_submissions WHERE state = 'confirmed'"  # of all mechanisms
            highest = database.execute(confirmed).fetchone()[0] or 0
        if (
            row is None
            or row[0] != "submitted"
            or json.loads(unsealed(row[1].encode())) != {str(k): v for k, v in to_u16(weights).items()}
        ):
            self.violations.append(f"{where}: handed over what is not written down: {row}")
            return
        self.subnet.epoch = row[3]
        for handed in self.subnet.handed:
            result = handed.pending.result
            if handed.mechid != mechid:
                continue
            if result is None and self.frozen is None and head.number <= handed.pending.expires:
                self.violations.append(f"{where}: handed over while an earlier submission may still arrive")
            if result is not None and result.accepted and handed.epoch == row[3]:
                self.violations.append(f"{where}: handed over, and the epoch's weights are on chain")
        if shown < highest and self.time.now > self.frozen_at + _LOOKED_S:
            self.violations.append(f"{where}: handed over at block {shown}; weights of ours are in block {highest}")
        if self.frozen is None and self.time.now > self.moved_at + _SETTLED_S:
            uids = {one.hotkey: one.uid for one in self.subnet.snapshot().neurons}
            for hotkey, weight in json.loads(unsealed(row[2].encode())).items():
                if weight and weights.get(uids.get(hotkey, -1)) is None:
                    self.violations.append(f"{where}: {hotkey} has weight {weight} and its uid gets none")

    def capture(self, kind: str) -> None:
        """Let a node fall behind that shows, from `freeze` on, what is now."""
        self.freeze(None)
        uid = next(one.uid for one in self.subnet.snapshot().neurons if one.hotkey == VALIDATOR.hotkey)
        reads: dict[tuple[str, int], Any] = {("commitment", 0): self.subnet.commitment(VALIDATOR.hotkey)}
        for mechid in MECHANISMS:
            reads["last_update", mechid] = self.subnet.last_update(mechid, uid)
            reads["commits", mechid] = self.subnet.commits(mechid, VALIDATOR.hotkey)
            reads["weights", mechid] = self.subnet.weights(mechid, uid)
        self.captured[kind] = _Frozen(kind, self.subnet.blocks.head(), self.subnet.snapshot(), reads)

    def freeze(self, kind: str | None) -> None:
        """Let the node show what it showed when it fell behind; None: what is now."""
        self.frozen, self.frozen_at = None if kind is None else self.captured.get(kind), self.time.now

    # What miners and sandboxes do

    def _line(self, random: Random) -> ScriptedReply:
        """Return whether a connection comes about."""
        fault = self.faults.drawn(OWN, random)
        if fault is not None:
            return ScriptedReply(connects=False, out_of="sockets" if fault == "no_resources" else None, no_route=True)
        return ScriptedReply(connects=not self.faults.acts("miners_out"))

    def _reply(self, method: str, call: Call) -> ScriptedReply:
        signer = self.signers[call.hotkey]
        if method == "GET":
            return ScriptedReply(self._capabilities(signer))
        workflow = call.path == "/v1/workflows"
        dispatch: Any = msgspec.json.decode(call.whole, type=WorkflowDispatch if workflow else Dispatch)
        random, key = self.stream(signer.hotkey, dispatch.nonce), (signer.hotkey, dispatch.nonce)
        if key in self.honest or key in self.wrong:
            self.violations.append(f"{self.time.now:.1f} s: dispatch {key} is sent twice")
        if not self.shape.http and fault_of(line := self._line(random)) is not None:
            self.ours |= {key} if line.out_of else set()
            return line
        for call_back in self.on_dispatch:
            call_back()
        self.on_dispatch.clear()
        fault = self.faults.drawn(ANSWERS, random)
        if fault is None:
            self.honest.add(key)
        else:
            self.wrong[key] = fault
        signed_by = signer_of(10_000) if fault == "false_signature" else signer
        body = _plan(signed_by, dispatch) if workflow else msgspec.json.encode(answer_to(signed_by, dispatch))
        good = ScriptedReply(body, round(0.2 + 2.2 * random.random(), 3))
        bad = {
            "late": replace(good, seconds=call.deadline_s + 1),
            "broken": replace(good, body=body[: len(body) // 2]),
            "missing": replace(good, connects=random.random() < 0.5, status=None),
            "doubled": replace(good, body=body + body),
            "refused_answer": replace(good, body=b"busy", status=503),
        }
        return bad.get(fault or "", good)

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
    return tasks_of_all_types(_WINDOWS, each=1)


@cache
def canary_of(skill_type: SkillType) -> SourcedTask:
    """Return the planted task of a type."""
    return make_canary(skill_type, SeededRandom(f"canary|{skill_type}"), _WINDOWS)


@cache
def _goal(name: str) -> Any:
    return (
        make_workflow("code", goal="Write add.", required_steps=2)
        if name == "code"
        else make_workflow("rag", required_steps=2)
    )


def _plan(signer: Signer, dispatch: WorkflowDispatch) -> bytes:
    task = make_workflow("rag", required_steps=2)
    document = plan_document(task, STEPS, (("find", "say"),))
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    return msgspec.json.encode(signer.sign_document(msgspec.convert(document, WorkflowPlan)))


async def _nowhere(_host: str, _port: int) -> Sequence[socket]:
    return ()
