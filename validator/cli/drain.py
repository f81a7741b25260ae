"""`validator drain`: asks the running validator, through the store, to finish its round and end; waits for that."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from sssa.cli.errors import say_no
from sssa.cli.options import Config
from sssa.cli.output import print_line
from validator.cli.session import use_store
from validator.store import Store
from validator.store.errors import StoreLockedError
from validator.store.locks import take_lock
from validator.store.urls import parse_url

_EVERY_S: Final = 0.5


def drain(
    config: Config = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", min=1, help="Wait no longer; the request stays.")
    ] = None,
) -> None:
    """Let the running validator finish the round in hand, begin no other and end, and wait for that.

    Unlike SIGTERM it sets the round no limit. Exit 1: no validator runs, it ended otherwise, or the time was over.
    """
    fault = use_store(config, lambda store, settings: _drained(store, settings.store.url.reveal(), timeout))
    if fault is not None:
        say_no(fault)
    print_line("drained: the round in hand was finished, the validator has ended")


async def _drained(store: Store, url: str, timeout_s: float | None) -> str | None:
    """Ask, and wait; return why it was without success."""
    if not await _runs(url):
        return "no validator runs on this store"
    until = None if timeout_s is None else time.monotonic() + timeout_s
    async with store.begin() as tx:
        number = await tx.drains.ask(datetime.now(UTC))
    print_line("asked: the validator finishes the round in hand, which may take as long as its longest deadline")
    while True:
        runs = await _runs(url)
        async with store.read() as tx:
            request = await tx.drains.get(number)
        if request is not None and request.ended_at is not None:
            return None
        if not runs:
            return "the validator ended without finishing the round in hand; the next start resumes it"
        if until is not None and time.monotonic() >= until:
            return f"not drained within {timeout_s:g} s; the request stays"
        await asyncio.sleep(_EVERY_S)


async def _runs(url: str) -> bool:
    """Return whether a process holds the store's lock."""
    try:
        lock = await take_lock(parse_url(url))
    except StoreLockedError:
        return True
    await lock.release()
    return False
