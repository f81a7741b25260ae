"""`validator miner …`: one reference miner for local networks; for authors of miners a template and a check."""

import asyncio
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from miner.check.conduct import Options, Tools, check_miner
from miner.check.report import Report, Section, hotkey_hint, print_report
from miner.check.target import Target, target_of
from miner.standalone import MinerOptions, address_to_announce, chain_for, run_miner
from sssa.cli.options import Config, Json, group
from sssa.cli.output import print_json, print_line
from sssa.files import write_file
from sssa.protocol.runtime_image import PINNED_IMAGE, UNPUBLISHED, RuntimeImage
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock, SystemRandom
from validator.cancellation import run_whole
from validator.chain.wallet import load_signer
from validator.cli.session import settings_of, signer_of
from validator.daemon.exits import Exit
from validator.daemon.signals import Stop
from validator.daemon.world import judging_workers
from validator.telemetry import configure_logging

app = group()
OWN_URI: Final = "//miner-check"
"""The hotkey that asks where none is named. Everybody can have it: a miner that answers it answers everybody."""
_TEMPLATE: Final = "miner.template"
_FILES: Final = ("miner.py", "requirements.txt")


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one for each option
    config: Config = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = 8091,
    announce: Annotated[bool, typer.Option("--announce", help="Put --external-ip and the port on chain.")] = False,
    external_ip: Annotated[str | None, typer.Option(metavar="IP", help="Where validators reach it.")] = None,
    external_port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Where it is not --port.")] = None,
    validator: Annotated[
        list[str] | None,
        typer.Option(metavar="HOTKEY", help="Answer this one; else every hotkey with a permit on chain."),
    ] = None,
) -> None:
    """Serve one reference miner with the hotkey of [wallet] until SIGTERM. It analyses bundles and executes none."""
    settings = settings_of(config)
    configure_logging(settings.log.level, settings.log.format)
    announced = address_to_announce(external_ip, external_port) if announce else None
    options = MinerOptions(host, port, announced, tuple(validator or ()))
    signer, clock = load_signer(settings.wallet), SystemClock()
    chain = chain_for(settings, signer, clock, options)

    async def serve() -> None:
        stop = Stop()
        stop.listen()
        try:
            await run_miner(signer, clock, options, stop, chain)
        finally:
            if chain is not None:
                await chain.close()

    run_whole(serve())


@app.command()
def new(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made; nothing in it is overwritten.")]) -> None:
    """Write the template of a miner, a small one in Python that passes `validator miner check`."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise typer.BadParameter("is no folder: name another one", param_hint="FOLDER")
    taken = next((name for name in _FILES if os.path.lexists(folder / name)), None)
    if taken is not None:
        raise typer.BadParameter(f"has a {taken} already: name another folder", param_hint="FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        write_file((folder / name).absolute(), files(_TEMPLATE).joinpath(name).read_bytes(), mode=None, replace=False)
    print_line(f"{folder}: {', '.join(_FILES)}; docs/tutorial-miner.md has every line of it explained")


@app.command()
def check(  # noqa: PLR0913, PLR0917 - one for each option
    url: Annotated[str, typer.Argument(metavar="URL", help="http://ADDRESS:PORT or https://ADDRESS:PORT.")],
    hotkey: Annotated[str, typer.Option("--hotkey", metavar="SS58", help="The miner's, which signs its answers.")],
    hotkey_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Ask with the hotkey of this derivation uri, such as //Alice; else with the check's own, which "
            "everybody can have.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Ask with the hotkey of [wallet] there.")
    ] = None,
    skill_type: Annotated[
        list[SkillType] | None, typer.Option("--type", help="Of these types alone; else of all that are declared.")
    ] = None,
    only: Annotated[list[Section] | None, typer.Option("--only", help="Send these parts alone; else all.")] = None,
    runtime_image: Annotated[
        str | None,
        typer.Option(
            metavar="REPOSITORY@DIGEST",
            help="The image that dispatches of runtime types name; else one that nobody has.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Send a miner dispatches whose truth is known; say what a validator would make of each answer.

    Stores nothing and needs no chain. Exit 1: something would be rejected, or is not as the protocol asks.
    """
    target = target_of(url, hotkey)
    own = hotkey_uri is None and config is None
    signer = signer_of(OWN_URI if own else hotkey_uri, config)
    typer.echo(hotkey_hint(signer.hotkey), err=True)
    image = UNPUBLISHED if runtime_image is None else _image(runtime_image)
    options = Options(frozenset(skill_type or ()), tuple(only or Section), image=image)
    configure_logging("error", "auto", sys.stderr)
    report = asyncio.run(_checked(target, options, Tools(signer, judging_workers(), SystemClock(), SystemRandom())))
    if as_json:
        print_json({"passed": not report.found, **msgspec.structs.asdict(report)})
    else:
        print_report(report)
    if report.found:
        raise typer.Exit(Exit.NO)


def _image(pinned: str) -> RuntimeImage:
    if not re.fullmatch(PINNED_IMAGE, pinned):
        raise typer.BadParameter("must be REPOSITORY@sha256:DIGEST", param_hint="--runtime-image")
    return RuntimeImage.named(pinned)


async def _checked(target: Target, options: Options, tools: Tools) -> Report:
    try:
        with Console(stderr=True).status("checking") as status:  # on a terminal alone
            return await check_miner(target, options, tools, lambda what: status.update(f"checked: {escape(what)}"))
    finally:
        await tools.workers.close()
