"""What the daemon touches, as the settings say; the local network brings its own."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from validator.chain.base import Chain, NoSubnetError
from validator.chain.simulated import SimulatedChain
from validator.chain.state import SubnetRules, load_state
from validator.chain.subnet import SimulatedSubnet
from validator.chain.wallet import load_signer
from validator.kinds.assessment.supply import CanaryMaker
from validator.kinds.registry import KINDS
from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.reruns.sandbox.code import CodeSandbox
from validator.reruns.sandbox.job import Sandbox
from validator.reruns.sandbox.opening import open_code_sandbox, open_sandbox
from validator.settings import Settings
from validator.sources import Clock, RandomBytes, SystemClock, SystemRandom
from validator.tasks.canary import make_canary
from validator.tasks.directory import DirectorySource
from validator.tasks.goals import DirectoryGoals, GoalSource
from validator.tasks.http import HttpSource
from validator.tasks.source import TaskSource
from validator.workers.interface import Workers
from validator.workers.pool import WorkerPool

if TYPE_CHECKING:
    from validator.chain.bittensor import BittensorChain

_STAKE_TAO: Final = 1_000.0
PRELOAD: Final = (
    *sorted({kind.judge.__module__ for kind in KINDS.values()}),
    "validator.kinds.workflow.answers",
    "validator.protocol.capabilities",
    "validator.reruns.comparing",
    "validator.tasks.accepting",
)


class WorldError(ValidatorError):
    """The settings name something that this version cannot use."""


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
        chain=_chain(settings, signer, clock),
        source=_source(settings, signer, clock, workers),
        goals=DirectoryGoals(settings.tasks.directory),
        signer=signer,
        clock=clock,
        random=random,
        canary=partial(make_canary, random=random) if settings.tasks.canaries else None,
        workers=workers,
        sandbox=sandbox,
        code=open_code_sandbox(settings.sandbox, sandbox),
    )


def judging_workers() -> WorkerPool:
    """Return a pool for what strangers send; no process runs yet."""
    return WorkerPool(preload=PRELOAD)


def real_chain(settings: Settings, signer: Signer, clock: Clock) -> "BittensorChain":
    """Return the chain at the settings' endpoints; nothing is connected yet."""
    from validator.chain.bittensor import BittensorChain  # noqa: PLC0415 - the SDK takes a second
    from validator.chain.submission import LIMITS  # noqa: PLC0415 - see above

    return BittensorChain(
        endpoints=[endpoint.reveal() for endpoint in settings.chain.endpoints],
        netuid=settings.validator.netuid,
        signer=signer,
        clock=clock,
        limits=LIMITS._replace(submit_s=min(LIMITS.submit_s, settings.weights.timeout_s)),
    )


def reading_chain(settings: Settings, clock: Clock) -> Chain:
    """Return the settings' chain for somebody who only reads: it takes no wallet, and must sign nothing.

    Raises:
        ChainError: the simulated chain's file cannot be read.
        WorldError: no such file is named, or it was not made yet.
    """
    if settings.chain.kind == "bittensor":
        return real_chain(settings, Signer.from_uri("//Reader"), clock)
    if settings.chain.state is None or not settings.chain.state.exists():
        raise WorldError("chain.state must name the simulated chain's file; `validator run` makes it")
    return SimulatedChain(SimulatedSubnet(load_state(settings.chain.state), clock), "")


def _chain(settings: Settings, signer: Signer, clock: Clock) -> Chain:
    if settings.chain.kind == "bittensor":
        return real_chain(settings, signer, clock)
    if settings.chain.state is None:
        raise WorldError("chain.state must name the simulated chain's file")
    if not settings.chain.state.exists():
        _new_subnet(settings, settings.chain.state, signer, clock)
    subnet = SimulatedSubnet.open(settings.chain.state, clock)
    if subnet.rules.netuid != settings.validator.netuid:
        raise NoSubnetError(
            f"validator.netuid is {settings.validator.netuid}, but the simulated chain's file is of "
            f"{subnet.rules.netuid}; correct one of the two"
        )
    return SimulatedChain(subnet, signer.hotkey)


def _new_subnet(settings: Settings, file: Path, signer: Signer, clock: Clock) -> None:
    """Make a simulated subnet on which this validator alone is registered, with stake and permit: for dry runs."""
    rules = SubnetRules(seed=signer.hotkey, genesis=int(clock.now().timestamp()), netuid=settings.validator.netuid)
    SimulatedSubnet.create(rules, clock, file).register(signer.hotkey, stake_tao=_STAKE_TAO, validator_permit=True)


def _source(settings: Settings, signer: Signer, clock: Clock, workers: Workers) -> TaskSource:
    tasks = settings.tasks
    if tasks.server_url is not None and tasks.server_hotkey is not None:
        return HttpSource(tasks.server_url, tasks.server_hotkey, signer, clock, workers=workers)
    return DirectorySource(tasks.directory)
