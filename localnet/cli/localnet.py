"""`validator localnet up`: a local network on a chain node; writes wallets, settings, tasks, store, log to a folder."""

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from localnet.onchain.bring_up import NothingLandedError, bring_up
from localnet.onchain.files import LOG, known_netuid
from localnet.onchain.miners import require_announceable
from localnet.onchain.options import HOST, UpOptions
from localnet.onchain.outcome import Outcome, UpScreen, print_next
from localnet.onchain.safety import Look, look_at
from localnet.onchain.subnet import explained
from sssa.cli.errors import say_no
from sssa.cli.options import Json, group
from sssa.cli.output import print_json, print_line
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import SystemClock
from validator.daemon.exits import Exit
from validator.daemon.signals import Stop
from validator.settings.urls import shown_url
from validator.telemetry import configure_logging

_FOLDER: Final = Path("localnet-run")
app = group()


@app.command()
def up(  # noqa: PLR0913, PLR0917 - one for each option
    url: Annotated[str, typer.Option(metavar="URL", help="Where the node answers: ws://…, or local.")] = "local",
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For wallets, settings, tasks, store and log; used again.")
    ] = _FOLDER,
    netuid: Annotated[int | None, typer.Option(min=1, max=65_535, help="An existing subnet; else one is made.")] = None,
    miners: Annotated[int, typer.Option(min=1, max=16, help="Reference miners.")] = 5,
    tempo: Annotated[
        int | None, typer.Option(min=10, max=65_535, help="Blocks in an epoch; else what makes about 90 s.")
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the miners listen.")] = HOST,
    skill_type: Annotated[
        list[SkillType] | None, typer.Option("--type", help="Tasks of these types; else all.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, max=1_000, help="Give up after so many without weights.")] = 5,
    stay: Annotated[bool, typer.Option("--stay", help="Continue once weights have landed, until Ctrl-C.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at the chain, say what would be done, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring a subnet, miners and the validator up on a development chain, and wait until weights have landed.

    Exit 1: none landed, or the chain's row is not the plan. Any other chain than a development one is refused.
    """
    types = tuple(kind for kind in ASSESSED_TYPES if kind in (skill_type or ASSESSED_TYPES))
    options = UpOptions(folder, netuid, miners, tempo, host, types, epochs, stay)
    require_announceable(host)
    look = asyncio.run(look_at(url, SystemClock()))
    if dry_run:
        _explain(options, look)
        return
    console = Console(stderr=as_json, highlight=False)
    try:
        outcome = asyncio.run(_run(options, look, console, tell=not as_json))
    except NothingLandedError as error:
        say_no(str(error))
    if as_json and outcome is not None:
        print_json(outcome)
    print_next(options, console)
    if outcome is None:
        typer.echo("stopped before weights landed; the same command continues from here", err=True)
        raise typer.Exit(Exit.CUT_OFF)
    if not outcome.equal:
        say_no("the chain's row is not the plan")


async def _run(options: UpOptions, look: Look, console: Console, *, tell: bool) -> Outcome | None:
    """Return what landed; None: it was stopped before."""
    stop = Stop()
    stop.listen()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (options.folder / LOG).open("a", encoding="utf-8") as log, UpScreen(console, tell=tell) as screen:
        configure_logging("info", "json", stream=log)
        return await bring_up(options, look, screen, stop)


def _explain(options: UpOptions, look: Look) -> None:
    known = known_netuid(options, look.url)
    place = "a new one" if known is None else str(known)
    print_line(f"{shown_url(look.url)}: a development chain, genesis {look.genesis[:16]}, blocks of {look.block_s:g} s")
    print_line(f"in {options.folder}: wallets, settings, tasks, store, log; subnet: {place}")
    for line in explained(known, options.tempo_at(look.block_s), options.miners):
        print_line(line)
