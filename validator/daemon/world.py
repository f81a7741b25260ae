"""What the daemon touches, as the settings say; the local network brings its own."""

from dataclasses import dataclass
from typing import Final

from validator.chain.base import Chain
from validator.chain.opening import chain_of
from validator.chain.wallet import load_signer
from validator.executions.sandbox.code import CodeSandbox
from validator.executions.sandbox.code_containers import ContainerCodeSandbox
from validator.executions.sandbox.job import Sandbox
from validator.executions.sandbox.opening import open_sandbox
from validator.kinds.assessment.supply import CanaryMaker
from validator.kinds.registry import KINDS
from validator.protocol.signatures import Signer
from validator.protocol.task import Windows
from validator.settings import Settings
from validator.sources import Clock, RandomBytes, SystemClock, SystemRandom
from validator.tasks.canary import Canaries, planting_workers
from validator.tasks.directory import DirectorySource
from validator.tasks.goals import DirectoryGoals, GoalSource
from validator.tasks.http import HttpSource
from validator.tasks.source import TaskSource
from validator.workers.interface import Workers
from validator.workers.pool import WorkerPool

PRELOAD: Final = (
    *sorted({kind.judge.__module__ for kind in KINDS.values()}),
    "validator.kinds.workflow.step",
    "validator.protocol.capabilities",
    "validator.executions.comparing",
    "validator.tasks.accepting",
)


@dataclass(frozen=True, slots=True)
class World:
    """The outside of one validator.

    Attributes:
        chain, source, signer, clock, random: what their names say.
        goals: where workflow tasks come from.
        canary: makes canary tasks; None for rounds without them.
        workers: where what strangers send is judged.
        sandbox: where answers are run again; None: none is.
        code: where the code of plans is judged; None: none is.
    """

    chain: Chain
    source: TaskSource
    goals: GoalSource
    signer: Signer
    clock: Clock
    random: RandomBytes
    canary: CanaryMaker | None
    workers: Workers
    sandbox: Sandbox | None = None
    code: CodeSandbox | None = None


def build_world(settings: Settings) -> World:
    """Return the world that the settings describe; nothing is connected yet.

    Raises:
        ValidatorError: a hotkey, chain file or server cannot be used; the text says which and why.
    """
    clock, random = SystemClock(), SystemRandom()
    signer = load_signer(settings.wallet)
    workers = judging_workers()
    embedded = settings.queue.backend != "postgres"
    sandbox = open_sandbox(settings.sandbox, signer.hotkey) if embedded else None
    return World(
        chain=chain_of(settings, signer, clock),
        source=_source(settings, signer, clock, workers),
        goals=DirectoryGoals(settings.tasks.directory),
        signer=signer,
        clock=clock,
        random=random,
        canary=canaries_of(settings, random),
        workers=workers,
        sandbox=sandbox,
        code=ContainerCodeSandbox(sandbox) if sandbox else None,
    )


def canaries_of(settings: Settings, random: RandomBytes, windows: Windows | None = None) -> CanaryMaker | None:
    """Return what makes the canaries that the settings describe, None for none; see `Canaries`."""
    tasks = settings.tasks
    if not tasks.canaries:
        return None
    bases = None if tasks.bases is None else DirectorySource(tasks.bases)
    return Canaries(random, bases, windows, planting_workers).make


def judging_workers() -> WorkerPool:
    """Return a pool for what strangers send; no process runs yet."""
    return WorkerPool(preload=PRELOAD)


def _source(settings: Settings, signer: Signer, clock: Clock, workers: Workers) -> TaskSource:
    tasks = settings.tasks
    if tasks.server_url is not None and tasks.server_hotkey is not None:
        return HttpSource(tasks.server_url, tasks.server_hotkey, signer, clock, workers=workers)
    return DirectorySource(tasks.directory)
