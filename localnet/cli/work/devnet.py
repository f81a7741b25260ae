"""What `validator devnet` does: a whole network on this machine."""

import asyncio
import sys
from pathlib import Path
from typing import Final, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from localnet.network import Options, Scenario, run_network
from localnet.own.miners_file import MinersFile, read_miners
from localnet.own.tasks import OwnTasks, Pace, read_own_tasks
from localnet.result import NetworkResult
from localnet.screen import Screen, print_next, print_result
from validator.cli.output import print_json
from validator.cli.session import settings_of
from validator.daemon.exits import Exit
from validator.daemon.signals import Stop
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.telemetry import configure_logging

_ROUNDS: Final[dict[Scenario, int]] = {"demo": 18, "collusion": 30, "collusion-fair": 30, "invented": 20}
_PACE: Final = 10.0


class Own(NamedTuple):
    """What the owner brings: a folder of tasks with the pace over them, and a file of miners."""

    tasks: Path | None
    pace: float | None
    miners: Path | None


class OptionsError(ValidatorError):
    """These options do not go together."""


def devnet(  # noqa: PLR0913, PLR0917 - each is an option
    config: Path,
    scenario: Scenario,
    rounds: int | None,
    validators: int | None,
    seed: str,
    own: Own,
    *,
    executions: bool,
    as_json: bool,
) -> None:
    """Run simulated chain, local miners and the real validator together; then print what came of it."""
    settings = settings_of(config)
    configure_logging(settings.log.level, settings.log.format, sys.stderr)
    console = Console(stderr=as_json, highlight=False)
    tasks, miners = _brought(own, scenario, console)
    many = validators or (2 if scenario == "demo" and tasks is None else 1)
    options = Options(
        scenario, rounds or _ROUNDS[scenario], seed, executions, validators=many, tasks=tasks, miners=miners
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
        if tasks is None:
            print_next(config, sys.argv[0], console)
    if stop.asked.is_set():
        typer.echo(f"interrupted after {result.rounds} of {options.rounds} rounds", err=True)
        raise typer.Exit(Exit.CUT_OFF)


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
