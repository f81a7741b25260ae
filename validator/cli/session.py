"""The store of the settings, for commands that ask it something."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from validator.cli.configured import settings_of
from validator.settings import Settings
from validator.store import Store, Transaction, open_store
from validator.store.known import require_known_version
from validator.store.schema import unreachable
from validator.store.urls import parse_url
from validator.unless import run_whole

T = TypeVar("T")


def ask_store(config: Path | None, question: Callable[[Transaction, Settings], Awaitable[T]]) -> T:
    """Return what `question` finds in one read transaction.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
        UnknownScoringVersionError: the store belongs to a newer program.
    """
    return _in_store(config, question, write=False)


def change_store(config: Path | None, change: Callable[[Transaction, Settings], Awaitable[T]]) -> T:
    """Return what `change` returns; what it does is committed together or not at all. A validator may be running.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
        UnknownScoringVersionError: the store belongs to a newer program.
    """
    return _in_store(config, change, write=True)


def use_store(config: Path | None, work: Callable[[Store, Settings], Awaitable[T]]) -> T:
    """Return what `work` does with the store, in transactions of its own.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
        UnknownScoringVersionError: the store belongs to a newer program.
    """
    settings = settings_of(config)
    url = settings.store.url.get_secret_value()

    async def run() -> T:
        async with open_store(url, archive=settings.store.archive) as store:
            async with store.read() as tx:
                await require_known_version(tx)
            return await work(store, settings)

    try:
        return run_whole(run())
    except DBAPIError as error:
        raise unreachable(parse_url(url), error) from None


def _in_store(config: Path | None, work: Callable[[Transaction, Settings], Awaitable[T]], *, write: bool) -> T:
    async def run(store: Store, settings: Settings) -> T:
        async with store.begin() if write else store.read() as tx:
            return await work(tx, settings)

    return use_store(config, run)
