"""Whether the store takes writes: asked all the time, told to the board; where it is lost the validator stops."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from validator.health.board import Board
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreBusyError, StoreDamagedError, StoreNoWriteError

_EVERY_S: Final = 5.0
_PATIENCE_S: Final = 10.0
_NAMES: Final = "store_no_write", "store_away"
_NO_WRITE: Final = (StoreNoWriteError, StoreBusyError)


@dataclass(frozen=True, slots=True)
class StoreWatch:
    """Writes a little now and then; a service of the daemon. `told` is what lasting writes tell of their trouble.

    `took` is called with the seconds of each write that succeeded.

    A probe that hangs is waited for, never cut off: a statement on its way to a server that stands still cannot be.
    """

    store: Store
    clock: Clock
    board: Board
    took: Callable[[float], None] = lambda _: None

    def told(self, error: StoreAwayError) -> None:
        """Note what keeps the store from its work."""
        stands, over = _NAMES if isinstance(error, _NO_WRITE) else reversed(_NAMES)
        self.board.raise_(stands, error.detail)
        self.board.clear(over)

    async def run(self) -> None:
        """Ask all the time.

        Raises:
            StoreLostError: the store must not be used any more.
        """
        while True:
            await self._ask()
            await self.clock.sleep(_EVERY_S)

    async def _ask(self) -> None:
        began = self.clock.monotonic()
        asking = asyncio.ensure_future(self.store.probe())
        try:
            while not asking.done():
                pause = asyncio.ensure_future(self.clock.sleep(_PATIENCE_S))
                await asyncio.wait({asking, pause}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
                if not asking.done():
                    self.board.raise_("store_away", f"no answer for {self.clock.monotonic() - began:.0f} s")
        except asyncio.CancelledError:
            asking.cancel()
            raise
        try:
            asking.result()
        except StoreDamagedError as error:
            self.board.raise_("store_damaged", error.detail)
            raise
        except StoreAwayError as error:
            self.told(error)
            return
        self.took(self.clock.monotonic() - began)
        if not self.store.waiting:  # a small write may find room where a large one does not
            for name in _NAMES:
                self.board.clear(name)
