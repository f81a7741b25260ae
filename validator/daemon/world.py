"""Everything outside the daemon that it touches (chain, store, miners, tasks, sandbox), opened from the settings.

Tests and simulations hand in another world; the daemon has no other way out. Reads the hotkey's file;
`validator worker`, the doctor and the miner's check use parts of it.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sssa.kinds.registry import KINDS
from sssa.protocol.signatures import Signer
from sssa.sources import Clock, RandomBytes, SystemClock, SystemRandom, ns_of
from validator.chain.interface import Chain
from validator.chain.opening import chain_of
from validator.chain.wallet import load_signer
from validator.incoming.server import Listen, listening_sockets
from validator.kinds.workflow.http import HttpStepClient
from validator.kinds.workflow.step import StepClient
from validator.miners.client import HttpMinerClient, MinerClient
from validator.rounds.facts import RoundListener
from validator.sandbox.code_containers import ContainerCodeSandbox
from validator.sandbox.containers import open_sandbox
from validator.sandbox.interface import CodeSandbox, Sandbox
from validator.settings.model import Settings
from validator.store import open_store
from validator.store.connections import Handles
from validator.store.engine import Opening
from validator.tasks.directory import DirectorySource
from validator.tasks.goals import DirectoryGoals, GoalSource
from validator.tasks.http import HttpSource
from validator.tasks.source import TaskSource
from validator.tasks.task_maker import CanaryMaker, NoTaskMakerError, canaries_of
from validator.waiting.job_queue import OpenQueue, open_queue
from validator.workers.interface import Workers
from validator.workers.pool import WorkerPool

NEEDS_PLANTED: Final = "2.0.0"
PRELOAD: Final = (
    *sorted({kind.judge.__module__ for kind in KINDS.values()}),
    "validator.kinds.workflow.step",
    "sssa.protocol.capabilities",
    "validator.tasks.wire",
    "validator.waiting.comparison",
)


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside one validator. `build_world` makes it of the settings; the local network brings its own.

    Attributes:
        chain, source, signer, clock, random: what their names say. A signer of ed25519 signs the same in every run.
        canary: makes canary tasks; None for rounds without them.
        canary_fault: why there is none although the settings want them; empty where that is not so.
        workers: judge what strangers send.
        sandbox: executes bundles; None: none is executed.
        code: judges the code of plans; None: none is judged.
        queue: opens the queue that gives executions and code checks to worker processes; None: the daemon does them.
        handles: hold the database open; a kill drops them.
        listen: opens the sockets of the health endpoint.
        listeners: called when rounds start and end.
    """

    chain: Chain
    source: TaskSource
    goals: GoalSource
    signer: Signer
    clock: Clock
    random: RandomBytes
    canary: CanaryMaker | None
    workers: Workers
    miners: MinerClient
    steps: StepClient
    canary_fault: str = ""
    sandbox: Sandbox | None = None
    code: CodeSandbox | None = None
    queue: OpenQueue | None = None
    handles: Handles = field(default_factory=Handles)
    listen: Listen = listening_sockets
    listeners: Sequence[RoundListener] = ()

    def open_store(self, settings: Settings) -> Opening:
        """Return an opening of the store for its only writer; missing tables are made."""
        return open_store(settings.store.url.reveal(), writer=True, create=True, handles=self.handles)

    def close_with(self, stack: AsyncExitStack) -> None:
        """Close all of it except the store when the stack closes."""
        held = (self.chain, self.source, self.workers, self.miners, self.steps, self.sandbox, self.code)
        for one in held:
            if one is not None:
                stack.push_async_callback(one.close)


def build_world(settings: Settings) -> World:
    """Return the world that the settings describe; nothing is connected yet.

    Raises:
        ValidatorError: a hotkey, chain file or server cannot be used; the text says which and why.
    """
    clock, random = SystemClock(), SystemRandom()
    signer = load_signer(settings.wallet)
    workers = judging_workers()
    queue = (
        partial(open_queue, settings.store.url.reveal(), make=True) if settings.queue.backend == "postgres" else None
    )
    sandbox = open_sandbox(settings.sandbox, signer.hotkey) if queue is None else None
    miners, steps = http_clients(settings, signer, clock)
    canary, canary_fault = None, ""
    try:
        canary = canaries_of(settings.tasks, random)
    except NoTaskMakerError as error:
        if NEEDS_PLANTED in (settings.scoring.schedule or ()):
            raise
        canary_fault = error.detail
    return World(
        chain=chain_of(settings, signer, clock),
        source=_source(settings, signer, clock, workers),
        goals=DirectoryGoals(settings.tasks.directory),
        signer=signer,
        clock=clock,
        random=random,
        canary=canary,
        canary_fault=canary_fault,
        workers=workers,
        miners=miners,
        steps=steps,
        sandbox=sandbox,
        code=ContainerCodeSandbox(sandbox) if sandbox else None,
        queue=queue,
    )


def http_clients(settings: Settings, signer: Signer, clock: Clock) -> tuple[MinerClient, StepClient]:
    """Return the clients that call miners and step services over HTTP."""
    private, connect_s = settings.miners.allow_private_axons, settings.rounds.connect_timeout_s
    time_ns = partial(ns_of, clock)
    miners = HttpMinerClient(
        signer,
        max_open=settings.rounds.max_open,
        connect_timeout_s=connect_s,
        allow_private=private,
        time_ns=time_ns,
    )
    return miners, HttpStepClient(signer, connect_timeout_s=connect_s, allow_private=private, time_ns=time_ns)


def judging_workers() -> WorkerPool:
    """Return a pool for what strangers send; no process runs yet."""
    return WorkerPool(preload=PRELOAD)


def _source(settings: Settings, signer: Signer, clock: Clock, workers: Workers) -> TaskSource:
    tasks = settings.tasks
    if tasks.server_url is not None and tasks.server_hotkey is not None:
        return HttpSource(tasks.server_url, tasks.server_hotkey, signer, clock, workers=workers)
    return DirectorySource(tasks.directory)
