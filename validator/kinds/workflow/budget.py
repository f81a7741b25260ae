"""What a run may spend: reserved before a step starts, settled with what it was charged (SPEC 12)."""

import asyncio
import math
from collections.abc import Callable, Iterable


class Budget:
    """Reservations and charges, whose sum never exceeds the ceiling.

    Args:
        ceiling: in TAO.
        total: how amounts are added up: exactly, or in whole rao. A part never has a larger one than the whole.
    """

    def __init__(self, ceiling: float, total: Callable[[Iterable[float]], float] = math.fsum) -> None:
        self.ceiling = ceiling
        self._total = total
        self._reserved: list[float] = []
        self._charged: list[float] = []
        self._settled = asyncio.Event()

    async def admit(self, most: float) -> bool:
        """Reserve `most` for one attempt; wait while it would fit once others have settled for less than reserved.

        Returns:
            Whether it was reserved; False when it does not fit beside what was charged already.
        """
        while self._total((*self._charged, *self._reserved, most)) > self.ceiling:
            if self._total((*self._charged, most)) > self.ceiling:
                return False
            await self._settled.wait()
        self._reserved.append(most)
        return True

    def settle(self, most: float, charge: float) -> None:
        """Turn a reservation into its charge, at most as large."""
        if charge > most:
            raise ValueError(f"a charge of {charge} on a reservation of {most}")
        self._reserved.remove(most)
        self._charged.append(charge)
        self._settled.set()
        self._settled = asyncio.Event()
