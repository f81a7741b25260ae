"""A whole network on one machine: the real daemon code, a simulated chain, local miners over loopback HTTP."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, Protocol

from localnet.fresh import set_aside
from localnet.goals import local_goals
from localnet.library import WINDOWS, Library, build_library
from localnet.miner.analyses import AnalysisPool
from localnet.population import Population
from localnet.reruns.here import reruns_here
from localnet.reruns.patience import PatientSource, all_run_again
from localnet.result import NetworkResult, read_result
from localnet.roster import Resident, collusion_roster, demo_roster, fair_collusion_roster, inventing_roster
from localnet.services.local import LocalServices
from localnet.tracing.policy import RunPolicy, Tracer
from validator.chain.simulated import SimulatedChain
from validator.chain.state import SubnetRules
from validator.chain.subnet import SimulatedSubnet
from validator.daemon.assembly import assembled
from validator.daemon.daemon import Daemon
from validator.daemon.preconditions import settle_chain
from validator.daemon.stop import Stop
from validator.daemon.world import World, judging_workers
from validator.protocol.bundles import read_bundle
from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.rounds.listening import EndedRound
from validator.rounds.prepare import Prepared
from validator.rounds.receipts import close_epoch
from validator.settings import Settings
from validator.sources import SeededRandom, SystemClock
from validator.tasks.canary import make_canary
from validator.tasks.goals import MemoryGoals
from validator.tasks.memory import MemorySource
from validator.tasks.source import SourcedTask

Scenario = Literal["demo", "collusion", "collusion-fair", "invented"]
BLOCK_S: Final = 1.0
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
    """What to run. `seed` decides keys, nonces, draws and who is who; without `reruns` no engine is looked for.

    `chain` is a file that keeps the chain, for who looks at it from outside; none as a rule.
    """

    scenario: Scenario = "demo"
    rounds: int = 18
    seed: str = "devnet"
    reruns: bool = True
    chain: Path | None = None


class Watcher(Protocol):
    """Shows how the network gets on."""

    def stage(self, text: str) -> None:
        """Say what is being done now."""

    def started(self, prepared: Prepared) -> None:
        """Show a round that started."""

    def ended(self, end: EndedRound) -> None:
        """Show a round that ended."""


@dataclass(slots=True)
class _Director:
    """Ends the run after so many rounds and lets residents join when theirs comes."""

    population: Population
    rounds: int
    stop_rounds: Callable[[], None] = lambda: None
    ends: list[EndedRound] = field(default_factory=list)

    def started(self, _prepared: Prepared) -> None:
        """Do nothing."""

    def ended(self, end: EndedRound) -> None:
        """Register who joins next, or stop."""
        self.ends.append(end)
        self.population.register(int(end.round_id) + 1)
        if len(self.ends) >= self.rounds:
            self.stop_rounds()


async def run_network(settings: Settings, options: Options, watcher: Watcher, stop: Stop) -> NetworkResult:
    """Run the network for so many rounds, then until their weights are on chain; return what came of it.

    Raises:
        ValidatorError: a part cannot start.
    """
    async with AsyncExitStack() as stack:
        _refuse_production(settings)
        previous = await set_aside(settings.store.url.reveal())
        if previous is not None:
            watcher.stage(f"moved the last run's store to {previous.name}")
        watcher.stage("packing bundles")
        library = await asyncio.to_thread(build_library)
        clock, random = SystemClock(), SeededRandom(options.seed)
        signer = Signer.from_uri(settings.wallet.uri or "//Validator")
        subnet = _subnet(settings, options, signer, clock)
        watcher.stage("looking for a container engine")
        reruns = await stack.enter_async_context(reruns_here(settings, wanted=options.reruns))
        if reruns.why_not:
            watcher.stage(f"no answer will be run again ({reruns.why_not})")
        canaries: set[str] = set()
        analyses = AnalysisPool()
        stack.push_async_callback(analyses.close)
        population = Population(
            residents=_RESIDENTS[options.scenario](),
            subnet=subnet,
            clock=clock,
            seed=options.seed,
            validator=signer.hotkey,
            analyses=analyses,
            tracer=Tracer(RunPolicy(library.own, canaries.__contains__)),
            images=reruns.images,
        )
        stack.push_async_callback(population.close)
        watcher.stage("starting miners")
        await population.start()
        services = LocalServices(options.seed, signer.hotkey, clock)
        stack.push_async_callback(services.close)
        addresses = await services.start()
        population.register(0)
        watcher.stage("analysing the library")
        await _warm_up(library, analyses)
        source = PatientSource(MemorySource(library.tasks))
        world = World(
            chain=SimulatedChain(subnet, signer.hotkey),
            source=source,
            goals=MemoryGoals(local_goals(addresses, WINDOWS)),
            signer=signer,
            clock=clock,
            random=random,
            canary=_canary_maker(random, canaries) if settings.tasks.canaries else None,
            workers=judging_workers(),
            sandbox=reruns.sandbox,
            code=reruns.code,
        )
        director = _Director(population, options.rounds)
        daemon = await stack.enter_async_context(assembled(settings, world, listeners=(watcher, director)))
        await settle_chain(daemon.store, await world.chain.genesis(), settings.validator.netuid, clock)
        director.stop_rounds = daemon.rounds.stopping.set
        if options.scenario == "invented" and reruns.sandbox is not None:
            source.ready = partial(all_run_again, daemon.store, clock)
        watcher.stage("running rounds")
        await daemon.run(stop, lambda: _weights_of_the_last_round(daemon, watcher))
        # Nothing comes after this: an audit file of the run can be verified down to the last draw.
        await close_epoch(daemon.store, signer, clock)
        return await read_result(daemon.store, subnet, signer.hotkey, population.hotkeys, director.ends, reruns.why_not)


def _refuse_production(settings: Settings) -> None:
    """Refuse settings that were not meant for a local network: it fills the store with made-up miners.

    Raises:
        NotLocalError: naming the key.
    """
    if settings.chain.kind != "simulated":
        raise NotLocalError('chain.kind must be "simulated"; config/demo.toml is meant for this')
    if not settings.miners.allow_private_axons:
        raise NotLocalError("miners.allow_private_axons must be true; config/demo.toml is meant for this")


def _subnet(settings: Settings, options: Options, signer: Signer, clock: SystemClock) -> SimulatedSubnet:
    owner = Signer.from_uri(f"//{options.seed}//owner").hotkey
    rules = SubnetRules(
        seed=options.seed,
        genesis=int(clock.now().timestamp()),
        netuid=settings.validator.netuid,
        block_time_s=BLOCK_S,
        tempo=TEMPO,
        weights_rate_limit=_RATE_LIMIT_BLOCKS,
        owner_hotkey=owner,
    )
    subnet = SimulatedSubnet.create(rules, clock, options.chain)
    subnet.register(owner)
    subnet.register(signer.hotkey, stake_tao=_STAKE_TAO, validator_permit=True)
    return subnet


def _canary_maker(random: SeededRandom, made: set[str]) -> Callable[[SkillType], SourcedTask]:
    """Return a maker that notes what it made: the miners may run only what the network made itself."""

    def make(skill_type: SkillType) -> SourcedTask:
        task = make_canary(skill_type, random, WINDOWS)
        made.add(task.task.bundle_sha256)
        return task

    return make


async def _warm_up(library: Library, analyses: AnalysisPool) -> None:
    """Analyse what carries no marker beforehand: short windows leave no time for a first look at large bundles."""
    plain = [sourced for sourced in library.tasks if sourced.task.canary is None]
    await asyncio.gather(
        *(analyses.analyse(s.task.bundle_sha256, read_bundle(s.bundle), s.task.skill_type, None) for s in plain)
    )


async def _weights_of_the_last_round(daemon: Daemon, watcher: Watcher) -> None:
    """Wait until weights that know all rounds are on chain, two epochs at most."""
    watcher.stage("waiting for the epoch's weights")
    chain, done = daemon.rounds.chain, daemon.rounds.clock.now()
    first = (await chain.head()).number
    for number in range(first + 1, first + 2 * (TEMPO + 1) + 2):
        async with daemon.store.read() as tx:
            latest = await tx.weights.latest(daemon.settings.weights.assessment_mechid)
        if latest is not None and latest.created_at >= done and latest.state not in ("prepared", "submitted"):
            return
        await chain.wait_for_block(number)
