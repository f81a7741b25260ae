"""Errors at the command line: clear lines on stderr and an exit code that means something, never a stack trace.

Under `--json` standard output has a document of them. Every command runs inside it.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn

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
    "validator.chain.base.OtherChainError": Exit.OTHER_STORE,
    "validator.chain.wallet.HotkeyEncryptedError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.HotkeyMissingError": Exit.HOTKEY_MISSING,
    "validator.chain.wallet.HotkeyPasswordError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.WalletError": Exit.NOT_READY,
    "validator.daemon.signals.StoppedAtStartError": Exit.NOT_STARTED,
    "validator.waiting.life_cycle.QueueError": Exit.NOT_READY,
    "validator.waiting.life_cycle.QueueSettingsError": Exit.INPUT,
    "validator.scoring.versions.UnknownScoringVersionError": Exit.NOT_READY,
    "validator.store.errors.EmptyReasonError": Exit.INPUT,
    "validator.store.errors.OtherStoreError": Exit.OTHER_STORE,
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
    """Write the error to stderr, under `--json` a document of it to stdout, and return its exit code."""
    if isinstance(error, typer.TyperException):
        usage: Any = error  # each that Typer raises shows itself, with the usage of its command
        usage.show()
        text, code = error.format_message(), error.exit_code
    else:
        text, code = _text(error), exit_code(error)
        _tell(text)
    _document(text, code)
    return code


def say_no(text: str) -> NoReturn:
    """Write one line to stderr, under `--json` a document, and end with exit code 1 (typer.Exit: always)."""
    _tell(text)
    _document(text, EXIT_NO)
    raise typer.Exit(EXIT_NO)


def _text(error: Exception) -> str:
    todo = advice(error) if isinstance(error, OSError) else None
    said = str(error) or type(error).__name__
    return said if todo is None else f"{said}; {todo}"


def _tell(text: str) -> None:
    for line in _lines(text):
        typer.echo(line, err=True)


def _document(text: str, code: int) -> None:
    """Print the document of an error where one was asked for and anybody reads it."""
    if "--json" in sys.argv:
        with suppress(OSError):
            typer.echo(json.dumps({"error": {"exit_code": int(code), "message": "\n".join(_lines(text))}}))


def _lines(text: str) -> list[str]:
    return [printable(redact(line), _LINE) for line in text.splitlines()]
