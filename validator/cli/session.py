"""One transaction, for commands that ask the store something."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from validator.cli.configured import settings_of
from validator.settings import Settings
from validator.store import Transaction, open_store
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


def _in_store(config: Path | None, work: Callable[[Transaction, Settings], Awaitable[T]], *, write: bool) -> T:
    settings = settings_of(config)
    url = settings.store.url.get_secret_value()

    async def run() -> T:
        opening = open_store(url, archive=settings.store.archive)
        async with opening as store, store.begin() if write else store.read() as tx:
            await require_known_version(tx)
            return await work(tx, settings)

    try:
        return run_whole(run())
    except DBAPIError as error:
        raise unreachable(parse_url(url), error) from None
