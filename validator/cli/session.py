"""Common start of a command: reads the settings, opens the store for one transaction, finds the signing key."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from sssa.cli.options import development_signer
from sssa.protocol.signatures import Signer
from validator.cancellation import run_whole
from validator.settings.load import load_settings
from validator.settings.model import Settings
from validator.telemetry.log import configure_logging

if TYPE_CHECKING:
    from validator.store import Store, Transaction

T = TypeVar("T")


def settings_of(config: Path | None) -> Settings:
    """Return the settings that `--config` or the environment name, and log to standard error from now on."""
    log_to_standard_error()
    return load_settings(config, os.environ)


def log_to_standard_error() -> None:
    """Keep standard output for the answer of the command."""
    configure_logging("warning", "auto", sys.stderr)


def ask_store(config: Path | Settings | None, question: Callable[["Transaction", Settings], Awaitable[T]]) -> T:
    """Return the result of `question` in one read transaction; raises as `use_store`."""

    async def ask(store: "Store", settings: Settings) -> T:
        async with store.read() as tx:
            return await question(tx, settings)

    return use_store(config, ask)


def change_store(config: Path | None, change: Callable[["Transaction", Settings], Awaitable[T]]) -> T:
    """Run `change` in one transaction and return its result; raises as `use_store`."""

    async def commit(store: "Store", settings: Settings) -> T:
        async with store.begin() as tx:
            return await change(tx, settings)

    return use_store(config, commit)


def use_store(config: Path | Settings | None, work: Callable[["Store", Settings], Awaitable[T]]) -> T:
    """Open the store of the settings, run `work` with it and return its result. A validator may be running.

    Raises:
        SettingsError, StoreError: the settings or the store cannot be used.
        UnknownScoringVersionError: the store belongs to a newer program.
    """
    # Here and not above: commands that use no store load none of it.
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - see above

    from validator.store import open_store  # noqa: PLC0415 - see above
    from validator.store.identity import require_known_version  # noqa: PLC0415 - see above
    from validator.store.schema import unreachable  # noqa: PLC0415 - see above
    from validator.store.urls import parse_url  # noqa: PLC0415 - see above

    settings = config if isinstance(config, Settings) else settings_of(config)
    url = settings.store.url.get_secret_value()

    async def run() -> T:
        async with open_store(url) as store:
            async with store.read() as tx:
                await require_known_version(tx)
            return await work(store, settings)

    try:
        return run_whole(run())
    except DBAPIError as error:
        raise unreachable(parse_url(url), error) from None


def signer_of(uri: str | None, config: Path | None) -> Signer:
    """Return the development key `uri`, else the hotkey of the wallet that the settings name."""
    if uri is not None:
        return development_signer(uri)
    from validator.chain.wallet import load_signer  # noqa: PLC0415 - commands without a wallet load nothing of it

    return load_signer(settings_of(config).wallet)


def clean_at_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does: its tools are killed, and unfinished files are removed."""
    signal.signal(signal.SIGTERM, _ended)


def _ended(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
