"""A whole network on one machine, as `validator devnet` runs it: real daemons and stores, simulated chain, miners."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from localnet.analysis_cost import Marked, effort_of
from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from localnet.executions.local_engine import Executions, PatientSource, all_run_again, local_executions
from localnet.library import LONG_WINDOWS, WINDOWS, build_library
from localnet.network_tasks import LibraryStock, OwnStock, Stock
from localnet.own.ledger import Ledger
from localnet.own.miners_file import MinersFile
from localnet.own.own_tasks import OwnTasks, analysed
from localnet.own.remote_miners import Guest, meet
from localnet.own.task_separation import own_story
from localnet.population import Population
from localnet.result import NetworkResult, read_result
from localnet.roster import (
    Resident,
    collusion_roster,
    demo_roster,
    fair_collusion_roster,
    inventing_roster,
    own_tasks_roster,
)
from localnet.validators import Director, Seat, Watcher, clear, run_to_the_end, seated, seats
from localnet.vector_comparison import payout
from miner.analysis_pool import AnalysisPool
from miner.services.catalogue import Service, ServiceAddress
from miner.services.service_server import LocalServices
from miner.tracing import Tracer
from sssa.protocol.errors import ValidatorError
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.sources import SystemClock
from taskmaker.canary import is_harmless, make_canary
from validator.daemon.daemon import Daemon
from validator.daemon.signals import Stop
from validator.daemon.world import World, http_clients, judging_workers
from validator.settings.model import Settings
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import SourcedTask, TaskSource
from validator.tasks.task_maker import CanaryMaker, canaries_of

Scenario = Literal["demo", "collusion", "collusion-fair", "invented"]
TEMPO: Final = 20
_RATE_LIMIT_BLOCKS: Final = 5
_STAKE_TAO: Final = 10_000.0
_RESIDENTS: Final[Mapping[Scenario, Callable[[], tuple[Resident, ...]]]] = {
    "demo": demo_roster,
    "collusion": collusion_roster,
    "collusion-fair": fair_collusion_roster,
    "invented": inventing_roster,
}


class NotLocalError(ValidatorError):
    """These settings are not those of a local network."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    Attributes:
        scenario: who lives in the network.
        rounds: of each validator.
        seed: decides keys, nonces, draws and who is who.
        executions: run answers again; without it no engine is looked for.
        validators: how many.
        tasks: an owner's; None: the bundles that the local network brings.
        miners: who lives in the network; None: who the scenario says.
        chain: a file that keeps the chain, for who looks at it from outside; none as a rule.
    """

    scenario: Scenario = "demo"
    rounds: int = 18
    seed: str = "devnet"
    executions: bool = True
    chain: Path | None = None
    validators: int = 1
    tasks: OwnTasks | None = None
    miners: MinersFile | None = None


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Values that all validators of the network share.

    Attributes:
        canaries: digests of bundles that they made without a fault: miners run only what the network made itself.
        contained: miners run everything else in containers.
    """

    clock: SystemClock
    subnet: SimulatedSubnet
    stock: Stock
    population: Population
    analyses: AnalysisPool
    addresses: Mapping[Service, ServiceAddress]
    executions: Executions
    canaries: set[str]
    contained: bool


async def run_network(settings: Settings, options: Options, watcher: Watcher, stop: Stop) -> NetworkResult:
    """Run the network for so many rounds, then until their weights are on chain; return the result of it.

    Raises:
        ValidatorError: a part cannot start.
    """
    _refuse_production(settings)
    validators = seats(settings, options.seed, options.validators)
    elsewhere = options.miners.elsewhere if options.miners else ()
    guests = await meet(elsewhere, [seat.signer for seat in validators], SystemClock())
    ledger = Ledger(options.tasks.known if options.tasks else ())
    async with AsyncExitStack() as stack:
        for seat in validators:
            await clear(seat, watcher)
        around = await _surroundings(settings, options, validators, guests, watcher, stack)
        marked = Marked(dict(around.stock.names))
        daemons: list[Daemon] = []
        directors: list[Director] = []
        for seat in (_naming(seat, around.executions.image) for seat in validators):
            source = PatientSource(around.stock.source(around.analyses, watcher.doing))
            world = _world(seat, around, source)
            director = Director(seat, watcher, around.population, options.rounds)
            listeners = (marked,) if daemons else (marked, ledger)
            daemon = await stack.enter_async_context(seated(seat, world, director, listeners))
            if options.scenario == "invented" and world.sandbox is not None:
                source.ready = partial(all_run_again, daemon.store, around.clock)
            daemons.append(daemon)
            directors.append(director)
        watcher.stage("running rounds")
        async with asyncio.TaskGroup() as group:
            for daemon in daemons:
                group.create_task(run_to_the_end(daemon, stop, 2 * (TEMPO + 1) + 1))
        paid = payout(around.subnet, [seat.signer.hotkey for seat in validators])
        hotkeys, why_not = around.population.hotkeys, around.executions.why_not
        effort = effort_of(around.analyses.spent, marked.names)
        result = await read_result(daemons[0].store, paid, hotkeys, directors[0].ends, why_not, effort)
        return (
            result if options.tasks is None else replace(result, own=own_story(options.tasks, ledger, effort, hotkeys))
        )


async def _surroundings(  # noqa: PLR0913, PLR0917 - all that there is before a validator
    settings: Settings,
    options: Options,
    validators: Sequence[Seat],
    guests: Sequence[Guest],
    watcher: Watcher,
    stack: AsyncExitStack,
) -> _Surroundings:
    """Start everything but the validators."""
    stock = await _stock(options, watcher)
    clock, callers = SystemClock(), frozenset(seat.signer.hotkey for seat in validators)
    subnet = _subnet(settings, options, validators, clock, stock.block_s)
    watcher.stage("looking for a container engine")
    executions = stock.executions(
        await stack.enter_async_context(local_executions(settings, wanted=options.executions))
    )
    if executions.why_not:
        watcher.stage(f"no answer will be run again ({executions.why_not})")
    canaries: set[str] = set()
    contained = options.scenario == "invented"  # whose windows are long enough for it
    analyses = AnalysisPool()
    stack.push_async_callback(analyses.close)
    population = Population(
        residents=_residents(options),
        subnet=subnet,
        clock=clock,
        seed=options.seed,
        validators=callers,
        analyses=stock.analyses(analyses, clock),
        tracer=Tracer(
            lambda sha256: sha256 in stock.own or sha256 in canaries,
            sandbox=executions.sandbox if contained else None,
        ),
        least_s=stock.least_s,
    )
    stack.push_async_callback(population.close)
    watcher.stage("starting miners")
    await population.start()
    for guest in guests:
        population.invite(*guest)
    services = LocalServices(options.seed, callers, clock)
    stack.push_async_callback(services.close)
    addresses = await services.start()
    population.register(0)
    await stock.prepare(analyses, watcher.stage)
    return _Surroundings(clock, subnet, stock, population, analyses, addresses, executions, canaries, contained)


async def _stock(options: Options, watcher: Watcher) -> Stock:
    if options.tasks is not None:
        return OwnStock(options.tasks)
    watcher.stage("packing bundles")
    windows = LONG_WINDOWS if options.scenario == "invented" else WINDOWS
    return LibraryStock(await asyncio.to_thread(build_library, windows), windows)


def _residents(options: Options) -> tuple[Resident, ...]:
    if options.miners is not None:
        return options.miners.residents
    if options.tasks is not None:
        return own_tasks_roster(goals=bool(options.tasks.goals))
    return _RESIDENTS[options.scenario]()


def _world(seat: Seat, around: _Surroundings, source: TaskSource) -> World:
    miners, steps = http_clients(seat.settings, seat.signer, around.clock)
    engine = around.executions if seat.number == 1 else Executions.none("the first validator has the engine")
    return World(
        chain=SimulatedChain(around.subnet, seat.signer.hotkey),
        source=source,
        goals=MemoryGoals(around.stock.goals(around.addresses)),
        signer=seat.signer,
        clock=around.clock,
        random=seat.random,
        canary=_canaries(seat, around),
        workers=judging_workers(),
        miners=miners,
        steps=steps,
        sandbox=engine.sandbox,
        code=engine.code,
    )


def _naming(seat: Seat, image: RuntimeImage) -> Seat:
    """Return the seat with settings that name the image that is here."""
    scoring = seat.settings.scoring.model_copy(update={"runtime_images": {image.pinned: 0}})
    return replace(seat, settings=seat.settings.model_copy(update={"scoring": scoring}))


def _refuse_production(settings: Settings) -> None:
    """Refuse settings that were not meant for a local network: it fills the store with made-up miners.

    Raises:
        NotLocalError: naming the key.
    """
    if settings.chain.kind != "simulated":
        raise NotLocalError('chain.kind must be "simulated"; config/demo.toml is meant for this')
    if not settings.miners.allow_private_axons:
        raise NotLocalError("miners.allow_private_axons must be true; config/demo.toml is meant for this")


def _subnet(
    settings: Settings, options: Options, validators: Sequence[Seat], clock: SystemClock, block_s: float
) -> SimulatedSubnet:
    owner = Signer.from_uri(f"//{options.seed}//owner").hotkey
    rules = SubnetRules(
        seed=options.seed,
        genesis=int(clock.now().timestamp()),
        netuid=settings.validator.netuid,
        block_time_s=block_s,
        tempo=TEMPO,
        weights_rate_limit=_RATE_LIMIT_BLOCKS,
        owner_hotkey=owner,
    )
    subnet = SimulatedSubnet.create(rules, clock, options.chain)
    subnet.register(owner)
    for seat in validators:
        subnet.register(seat.signer.hotkey, stake_tao=_STAKE_TAO, validator_permit=True)
    return subnet


def _canaries(seat: Seat, around: _Surroundings) -> CanaryMaker | None:
    """Return what makes a validator's canaries; it notes those that may be run.

    That are bundles which the network itself drew, and in which nothing was planted: no stranger's code, and no fault.
    Where answers are executed, a miner that has not run its bundle would be taken for one that invents: canaries of
    runtime types are such as miners run then, unless they run the others in containers.
    """
    windows, own = around.stock.canary_windows, seat.settings.tasks.bases is None
    maker = canaries_of(seat.settings.tasks, seat.random, windows)
    if maker is None:
        return None

    async def make(skill_type: SkillType) -> SourcedTask | None:
        if around.executions.sandbox is None or around.contained or not is_runtime(skill_type):
            made = await maker(skill_type)
        else:
            made = make_canary(skill_type, seat.random, windows, wanted=0) if own else None
        if made is None:
            return None
        if own and is_harmless(made):
            around.canaries.add(made.task.bundle_sha256)
        await analysed(made, around.analyses)  # its windows may leave no time for a first look
        return around.stock.canary(made)

    return make
