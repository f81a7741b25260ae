"""How large the store is, how fast it grows, how long there is room."""

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from validator.settings import Settings
from validator.store import Store
from validator.store.urls import parse_url

_LEAST: Final = timedelta(hours=6)  # below that, what there is says nothing of a day
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Disk:
    """The store's size.

    Attributes:
        bytes: of it, with what is not yet checkpointed.
        free: bytes where it lies; None for Postgres, which does not tell.
        per_day: bytes it grew a day, as a mean since its first round; None where that is too recent. Retention takes
            raw answers and bundles away again, so that it grows less later on.
    """

    bytes: int
    free: int | None
    per_day: float | None

    @property
    def days_left(self) -> float | None:
        """In how many days there is no room any more; None where that cannot be told."""
        return self.free / self.per_day if self.free is not None and self.per_day else None


async def disk_of(store: Store, settings: Settings, now: datetime) -> Disk:
    """Return the store's size and what follows from it.

    Raises:
        StoreError: it cannot be read.
    """
    path = parse_url(settings.store.url.reveal()).path
    free = None if path is None else shutil.disk_usage(path.parent).free
    size = await store.size()
    async with store.read() as tx:
        first = await tx.rounds.first_started()
    age = timedelta(0) if first is None else now - first
    return Disk(size, free, size / (age / _DAY) if age >= _LEAST else None)
