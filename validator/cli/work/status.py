"""What `validator status` does: looking, once or again and again."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from validator.cli.configured import settings_of
from validator.cli.output import print_json, print_line
from validator.cli.status_text import screen
from validator.daemon.exits import Exit
from validator.health.status import Observer, OnChain, Overview, Stored
from validator.protocol.errors import ValidatorError
from validator.unless import run_whole


class NoTerminalError(ValidatorError):
    """Only a terminal can be watched."""


def show(config: Path | None, *, watch: bool, every_s: float, with_chain: bool, as_json: bool) -> Exit:
    """Print what is seen, and return the exit code; with `watch` until Ctrl-C.

    Raises:
        NoTerminalError: there is nothing to watch on.
        SettingsError: the settings cannot be used.
    """
    observer = Observer(settings_of(config), with_chain=with_chain)
    console = Console(markup=False, highlight=False, emoji=False)
    if watch and not as_json and not console.is_terminal:
        raise NoTerminalError("standard output is none; leave --watch out, or add --json for a document per look")
    if watch:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts it behind it has it ignored
        with suppress(KeyboardInterrupt):
            run_whole(_watch(observer, every_s, None if as_json else console))
        return Exit.FINE
    seen = run_whole(_once(observer))
    if as_json:
        print_json(document(seen))
    else:
        for line in screen(seen):
            print_line(line)
    return Exit.NOT_READY if seen.stored is None else Exit.FINE


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
