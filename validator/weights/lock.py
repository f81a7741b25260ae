"""The lock that ends sending: a stop-file and a row in the store, so that no restart just tries again."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.protocol.times import format_time
from validator.settings import Settings
from validator.sources import Clock
from validator.store import Store, Transaction
from validator.store.urls import parse_url

CLEAR: Final = "validator weights unlock --reason TEXT"
_MAX_FILE: Final = 4_096
_NAME: Final = "weights-locked"


class WeightsLockedError(ValidatorError):
    """Weights are locked, because another program uses this hotkey."""


def stop_file_of(settings: Settings) -> Path:
    """Return where the stop-file is: as set, else beside the SQLite file, else in the working folder."""
    if settings.weights.stop_file is not None:
        return settings.weights.stop_file
    database = parse_url(settings.store.url.get_secret_value()).path
    return Path(f"validator.{_NAME}") if database is None else database.with_name(f"{database.name}.{_NAME}")


@dataclass(frozen=True, slots=True)
class WeightsLock:
    """Locks for good, until the operator clears it."""

    store: Store
    clock: Clock
    file: Path

    async def check(self) -> None:
        """Return if nothing is locked.

        Raises:
            WeightsLockedError: naming the file, what was seen and the command that clears it.
        """
        seen = read_stop_file(self.file)
        if seen is None:
            async with self.store.read() as tx:
                lock = await tx.weight_guard.locked() if await tx.weight_guard.present() else None
            seen = None if lock is None else lock.seen
        if seen is not None:
            raise self._error(seen)

    async def lock(self, seen: str) -> NoReturn:
        """Lock, because of what was seen.

        Raises:
            WeightsLockedError: always.
        """
        now = self.clock.now()
        note = _write(self.file, f"{format_time(now)} {seen}\nclear with: {CLEAR}\n")
        async with self.store.begin() as tx:
            await tx.weight_guard.lock(seen, now)
        raise self._error(seen + note)

    def _error(self, seen: str) -> WeightsLockedError:
        file = printable(str(self.file.absolute()))
        return WeightsLockedError(
            f"{seen}; stop-file {file}. Stop the other program, wait for its last weights, then: {CLEAR}"
        )


async def clear(tx: Transaction, file: Path, reason: str, now: datetime) -> str | None:
    """Clear the lock in the store and return what had been seen; None if nothing was locked.

    The stop-file is the caller's to remove once this is committed.

    Raises:
        EmptyReasonError: `reason` says nothing.
    """
    lock = await tx.weight_guard.locked()
    seen = read_stop_file(file) if lock is None else lock.seen
    if seen is None:
        return None
    await tx.weight_guard.lock(seen, now)
    await tx.weight_guard.unlock(reason, now)
    return seen


def read_stop_file(file: Path) -> str | None:
    """Return the first line of the stop-file, None if there is none. One that cannot be read locks as well."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"the stop-file cannot be read: {error.strerror}"
    return printable(text.strip().partition("\n")[0], 1_000) or "the stop-file is there"


def _write(file: Path, text: str) -> str:
    """Write the file through to the disk; return what went wrong, to be said with the error."""
    try:
        with file.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        return f"; the stop-file could not be written ({error.strerror}), the store holds the lock"
    return ""
