"""Errors at the command line: clear lines on stderr and an exit code that means something, never a stack trace."""

from collections.abc import Mapping
from typing import Final, NoReturn

import typer

from validator.daemon.exits import Exit
from validator.files import advice
from validator.protocol.text import printable
from validator.redaction import redact

EXIT_NO: Final = Exit.NO

# Named, not imported: the store and the chain take longer to import than most commands to run.
_CODES: Final[Mapping[str, Exit]] = {
    "builtins.OSError": Exit.NOT_READY,
    "validator.chain.base.ChainError": Exit.NOT_READY,
    "validator.chain.base.ChainUnreachableError": Exit.ENDPOINT,
    "validator.chain.base.NoSubnetError": Exit.NO_SUBNET,
    "validator.chain.base.NotRegisteredError": Exit.NOT_REGISTERED,
    "validator.chain.base.OtherChainError": Exit.OTHER_CHAIN,
    "validator.chain.wallet.HotkeyEncryptedError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.HotkeyMissingError": Exit.HOTKEY_MISSING,
    "validator.chain.wallet.HotkeyPasswordError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.WalletError": Exit.NOT_READY,
    "validator.daemon.signals.StoppedAtStartError": Exit.NOT_STARTED,
    "validator.waiting.life_cycle.QueueError": Exit.NOT_READY,
    "validator.waiting.life_cycle.QueueSettingsError": Exit.INPUT,
    "validator.scoring.versions.UnknownScoringVersionError": Exit.NOT_READY,
    "validator.store.errors.EmptyReasonError": Exit.INPUT,
    "validator.store.errors.OtherChainError": Exit.OTHER_CHAIN,
    "validator.store.errors.StoreDamagedError": Exit.STORE_DAMAGED,
    "validator.store.errors.StoreError": Exit.NOT_READY,
    "validator.store.errors.StoreLockLostError": Exit.STORE_IN_USE,
    "validator.store.errors.StoreLockedError": Exit.STORE_IN_USE,
    "validator.store.errors.StoreUrlError": Exit.INPUT,
    "validator.store.errors.UnstorableError": Exit.INPUT,
    "validator.tasks.source.TaskSourceError": Exit.NOT_READY,
    "validator.weights.watch.WeightsLockedError": Exit.WEIGHTS_LOCKED,
}
_LINE: Final = 2_000


def exit_code(error: Exception) -> Exit:
    """Return the exit code for an error that a command ends with: that of its nearest class in the table."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_CODES[name] for name in names if name in _CODES), Exit.INPUT)


def complain(error: Exception) -> int:
    """Write the error's lines to stderr and return its exit code."""
    for line in _text(error).splitlines():
        typer.echo(printable(redact(line), _LINE), err=True)
    return exit_code(error)


def _text(error: Exception) -> str:
    todo = advice(error) if isinstance(error, OSError) else None
    said = str(error) or type(error).__name__
    return said if todo is None else f"{said}; {todo}"


def say_no(text: str) -> NoReturn:
    """Write one line to stderr and end with exit code 1 (typer.Exit: always)."""
    typer.echo(printable(redact(text), _LINE), err=True)
    raise typer.Exit(EXIT_NO)
