"""Everything around the validator in its own process: chain file, tasks, miners, planners, step services.

`python -m soak.soak_network FOLDER` writes what the validator needs, prints `ready` and serves until its standard input
ends.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from localnet.chain.subnet import SimulatedSubnet
from localnet.library import WINDOWS, analyse_plain, build_library
from localnet.population import Population
from localnet.roster import demo_roster
from miner.analysis_pool import AnalysisPool
from miner.goals.goal_files import local_goals
from miner.services.service_server import LocalServices
from miner.tracing import Tracer
from soak.site import SEED, Site, rules
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from taskmaker.packing import write_task
from validator.telemetry import configure_logging

_STAKE_TAO = 10_000.0


async def serve(site: Site) -> None:
    """Write the site, serve until standard input ends."""
    async with AsyncExitStack() as stack:
        clock, validator = SystemClock(), Signer.from_uri("//Validator").hotkey
        library = await asyncio.to_thread(build_library, WINDOWS)
        subnet = SimulatedSubnet.create(rules(int(clock.now().timestamp())), clock, site.chain)
        subnet.register(validator, stake_tao=_STAKE_TAO, validator_permit=True)
        analyses = AnalysisPool()
        stack.push_async_callback(analyses.close)
        tracer = Tracer(lambda sha256: sha256 in library.own or sha256 in site.canaries.read_text().split())
        population = Population(demo_roster(), subnet, clock, SEED, frozenset({validator}), analyses, tracer)
        stack.push_async_callback(population.close)
        await population.start()
        services = LocalServices(SEED, {validator}, clock)
        stack.push_async_callback(services.close)
        goals = [*local_goals(await services.start(), WINDOWS).values()]
        population.register(0)
        await analyse_plain(library, analyses)
        site.canaries.touch()
        for number, sourced in enumerate(library.tasks):
            write_task(sourced, site.tasks / f"{number:02}")
        for number, goal in enumerate(goals):
            folder = site.tasks / f"goal-{number}"
            folder.mkdir()
            (folder / "workflow.json").write_bytes(msgspec.json.encode(goal))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    configure_logging("error", "json")
    asyncio.run(serve(Site(Path(sys.argv[1]))))
