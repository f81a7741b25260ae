"""`validator devnet`, which `make demo` runs: a whole network on this machine with new stores; prints the result."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from localnet.network import Options, Scenario, run_network
from localnet.own.miners_file import MinersFile, read_miners
from localnet.own.own_tasks import OwnTasks, Pace, read_own_tasks
from localnet.result import NetworkResult
from localnet.screen import Screen, print_next, print_result
from sssa.cli.options import Json
from sssa.cli.output import print_json
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.scoring import Schedule
from validator.cli.session import settings_of
from validator.daemon.exits import Exit
from validator.daemon.signals import Stop
from validator.settings.model import Settings
from validator.telemetry import configure_logging

DEMO = Path("config/demo.toml")
_ROUNDS: Final[dict[Scenario, int]] = {"demo": 18, "collusion": 30, "collusion-fair": 30, "invented": 20}
_PACE: Final = 10.0


class Own(NamedTuple):
    """Input of an owner: a folder of tasks with their pace, and a file of miners."""

    tasks: Path | None
    pace: float | None
    miners: Path | None


class OptionsError(ValidatorError):
    """These options do not go together."""


def devnet(  # noqa: PLR0913, PLR0917 - one for each option
    config: Annotated[Path, typer.Option("--config", metavar="FILE", help="Settings of the local network.")] = DEMO,
    scenario: Annotated[
        Scenario,
        typer.Option(
            help="collusion: three miners that begin on top, with reputation that they earned, turn; "
            "collusion-fair: three without a head start do; invented: one miner invents its traces."
        ),
    ] = "demo",
    rounds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Rounds; 18, or 30 and 20 in the scenarios.")
    ] = None,
    validators: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=8,
            help="How many validators meet the same miners; 2, or 1 in the scenarios. The table is the first one's.",
        ),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Over your own tasks: every task folder, archive and workflow.json below DIR. The end tells which of "
            "them separate miners. No bundle of yours is run.",
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=1_000,
            metavar="N",
            help="With --tasks: the network's time runs N times faster than on chain; the default is 10. "
            "Windows, and what an analysis takes of them, are an Nth. Analyses are made before a round, in real time; "
            "sending, tracing and your own miners take real time within it.",
        ),
    ] = None,
    miners: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who answers, as TOML: behaviours with counts, and urls of your own miners."),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="WORD", help="Decides keys, nonces and draws.")] = "devnet",
    executions: Annotated[
        bool,
        typer.Option("--executions/--no-executions", help="Execute bundles in the container engine, if there is one."),
    ] = True,
    scoring: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The scoring version of all rounds; else that of the settings."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run simulated chain, local miners and the real validator together; then print the result of it."""
    settings = settings_of(config)
    if scoring is not None:
        starts = {scoring: 0}
        Schedule(starts)
        settings = settings.model_copy(update={"scoring": settings.scoring.model_copy(update={"schedule": starts})})
    configure_logging(settings.log.level, settings.log.format, sys.stderr)
    console = Console(stderr=as_json, highlight=False)
    own_tasks, own_miners = _brought(Own(tasks, pace, miners), scenario, console)
    many = validators or (2 if scenario == "demo" and own_tasks is None else 1)
    settings = _with_free_port(settings)
    options = Options(
        scenario,
        rounds or _ROUNDS[scenario],
        seed,
        executions,
        settings.chain.state,
        validators=many,
        tasks=own_tasks,
        miners=own_miners,
    )

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
        if own_tasks is None:
            print_next(config, sys.argv[0], console)
    if stop.requested.is_set():
        typer.echo(f"interrupted after {result.rounds} of {options.rounds} rounds", err=True)
        raise typer.Exit(Exit.CUT_OFF)


def _with_free_port(settings: Settings) -> Settings:
    """Return the settings, with any free health port if theirs is taken, as by another run."""
    try:
        socket.create_server((settings.health.host, settings.health.port)).close()
    except OSError:
        return settings.model_copy(update={"health": settings.health.model_copy(update={"port": 0})})
    return settings


def _brought(own: Own, scenario: Scenario, console: Console) -> tuple[OwnTasks | None, MinersFile | None]:
    """Return the owner's tasks and miners, checked.

    Raises:
        OptionsError, OwnTasksError, MinersFileError: one that cannot be used.
    """
    if scenario != "demo" and (own.tasks or own.miners):
        raise OptionsError("--scenario brings its own tasks and miners: leave it out")
    if own.pace is not None and own.tasks is None:
        raise OptionsError("--pace goes with --tasks")
    miners = None if own.miners is None else read_miners(own.miners)
    if own.tasks is None:
        return None, miners
    console.print(Text(f"checking the tasks below {printable(str(own.tasks))} …", style="dim"), soft_wrap=True)
    return read_own_tasks(own.tasks, Pace(own.pace or _PACE)), miners
