"""Settings and one transaction, for commands that ask the store something."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from validator.settings import Settings
    from validator.store import Transaction

T = TypeVar("T")


def settings_of(config: Path | None) -> "Settings":
    """Return the settings that `--config` or the environment name.

    Raises:
        SettingsError: with one line for every fault.
    """
    from validator.settings import load_settings

    return load_settings(config, os.environ)


def ask_store(config: Path | None, question: "Callable[[Transaction, Settings], Awaitable[T]]") -> T:
    """Return what `question` finds in one read transaction.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
    """
    return _in_store(config, question, write=False)


def change_store(config: Path | None, change: "Callable[[Transaction, Settings], Awaitable[T]]") -> T:
    """Return what `change` returns; what it does is committed together or not at all. A validator may be running.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
    """
    return _in_store(config, change, write=True)


def _in_store(config: Path | None, work: "Callable[[Transaction, Settings], Awaitable[T]]", *, write: bool) -> T:
    settings = settings_of(config)

    from sqlalchemy.exc import DBAPIError

    from validator.store import open_store
    from validator.store.schema import unreachable
    from validator.store.urls import parse_url

    url = settings.store.url.get_secret_value()

    async def run() -> T:
        async with open_store(url) as store, store.begin() if write else store.read() as tx:
            return await work(tx, settings)

    try:
        return asyncio.run(run())
    except DBAPIError as error:
        raise unreachable(parse_url(url), error) from None
