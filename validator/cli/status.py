"""`validator status`: one validator on one screen."""

import asyncio
from contextlib import suppress
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from validator.cli.configured import settings_of
from validator.cli.options import Config, Json
from validator.cli.output import print_json, print_line
from validator.cli.status_text import screen
from validator.daemon.exits import Exit
from validator.protocol.errors import ValidatorError
from validator.status import Observer, OnChain, Overview, Stored


class NoTerminalError(ValidatorError):
    """Only a terminal can be watched."""


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=1, max=3_600, help="Pause between two looks.")] = 5.0,
    with_chain: Annotated[bool, typer.Option("--chain/--no-chain", help="Whether the chain is asked.")] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show one validator on one screen: store, health report and chain, whichever are there; --watch keeps on.

    A validator may be running or not. With --watch and --json it prints a document per look. Exit 3: the store cannot
    be read.
    """
    observer = Observer(settings_of(config), with_chain=with_chain)
    console = Console(markup=False, highlight=False, emoji=False)
    if watch and not as_json and not console.is_terminal:
        raise NoTerminalError("standard output is none; leave --watch out, or add --json for a document per look")
    if watch:
        with suppress(KeyboardInterrupt):
            asyncio.run(_watch(observer, every, None if as_json else console))
        return
    seen = asyncio.run(_once(observer))
    if as_json:
        print_json(document(seen))
    else:
        for line in screen(seen):
            print_line(line)
    if seen.stored is None:
        raise typer.Exit(Exit.NOT_READY)


def document(seen: Overview) -> dict[str, Any]:
    """Return what was seen as `--json` shows it."""
    return {
        "at": seen.at,
        "netuid": seen.netuid,
        "hotkey": seen.hotkey,
        "running": seen.running,
        "store": None if seen.stored is None else _store(seen.stored),
        "disk": seen.disk,
        "chain": None if seen.chain is None else _chain(seen.chain),
        "problems": {"wallet": seen.hotkey_problem, "store": seen.stored_problem, "chain": seen.chain_problem},
    }


def _store(stored: Stored) -> dict[str, Any]:
    log = None if stored.log is None else stored.log._asdict()
    return {**_fields(stored), "in_hand": stored.in_hand, "log": log}


def _chain(chain: OnChain) -> dict[str, Any]:
    return {**_fields(chain), "head": chain.head._asdict(), "epoch_passed": chain.epoch_passed}


def _fields(value: OnChain | Stored) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


async def _once(observer: Observer) -> Overview:
    try:
        return await observer.look()
    finally:
        await observer.close()


async def _watch(observer: Observer, every_s: float, console: Console | None) -> None:
    try:
        if console is None:
            while True:
                print_json(document(await observer.look()))
                await asyncio.sleep(every_s)
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(Text("\n".join(screen(await observer.look()))), refresh=True)
                await asyncio.sleep(every_s)
    finally:
        await observer.close()
