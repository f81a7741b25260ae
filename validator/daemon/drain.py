"""Requests to drain: the round in hand finishes, however long it takes, and no other begins."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError

_EVERY_S: Final = 5.0


@dataclass(slots=True)
class Drains:
    """Looks into the store for a request that was made while this validator runs.

    Args:
        store, clock: the world.
        before: the number of the newest request at the start: that one was for somebody else.
    """

    store: Store
    clock: Clock
    before: int
    _taken: int | None = field(init=False, default=None)

    async def asked(self) -> None:
        """Return once there is a request; it is noted as taken."""
        while self._taken is None:
            try:
                async with self.store.read() as tx:
                    newest = await tx.drains.newest()
                if newest > self.before:
                    async with self.store.begin() as tx:
                        await tx.drains.take(newest, self.clock.now())
                    self._taken = newest
                    return
            except StoreAwayError:  # the store's watch tells it
                pass
            await self.clock.sleep(_EVERY_S)

    async def over(self) -> None:
        """Note that the round was finished, for those who wait for the request they made."""
        if self._taken is not None:
            taken = self._taken
            with suppress(StoreAwayError):  # who waits finds the validator gone
                await self.store.lasting(lambda tx: tx.drains.end(taken, self.clock.now()), patience_s=_EVERY_S)
