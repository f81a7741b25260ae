"""What `validator devnet` does: a whole network on this machine."""

import asyncio
import sys
from pathlib import Path
from typing import Final

import typer
from rich.console import Console

from localnet.network import Options, Scenario, run_network
from localnet.result import NetworkResult
from localnet.screen import NEXT, Screen, print_result
from validator.cli.configured import settings_of
from validator.cli.output import print_json
from validator.daemon.exits import Exit
from validator.daemon.stop import Stop
from validator.telemetry import configure_logging

_ROUNDS: Final[dict[Scenario, int]] = {"demo": 18, "collusion": 30, "collusion-fair": 30, "invented": 20}


def devnet(  # noqa: PLR0913 - each is an option
    config: Path,
    scenario: Scenario,
    rounds: int | None,
    validators: int | None,
    seed: str,
    *,
    reruns: bool,
    as_json: bool,
) -> None:
    """Run simulated chain, local miners and the real validator together; then print what came of it."""
    settings = settings_of(config)
    configure_logging(settings.log.level, settings.log.format)
    many = validators or (2 if scenario == "demo" else 1)
    options = Options(scenario, rounds or _ROUNDS[scenario], seed, reruns, validators=many)
    console = Console(stderr=as_json, highlight=False)

    async def run(stop: Stop) -> NetworkResult:
        stop.listen()
        with Screen(options.rounds * many, console) as screen:
            return await run_network(settings, options, screen, stop)

    stop = Stop()
    result = asyncio.run(run(stop))
    if as_json:
        print_json(result)
    else:
        print_result(result, console, cohort=scenario.startswith("collusion"))
        console.print(NEXT.format(config=config, validator=sys.argv[0]), soft_wrap=True)
    if stop.asked.is_set():
        typer.echo(f"interrupted after {result.rounds} of {options.rounds} rounds", err=True)
        raise typer.Exit(Exit.CUT_OFF)
