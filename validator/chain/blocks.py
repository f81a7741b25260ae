"""Blocks that follow from a clock."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

from validator.chain.base import Head
from validator.sources import Clock

_MICROSECOND: Final = timedelta(microseconds=1)


class Blocks:
    """The blocks of a simulated subnet.

    Args:
        clock: time.
        seed: hashes follow from it.
        genesis: time of block 0, seconds since the Unix epoch.
        block_time_s: seconds between blocks.
        tempo: blocks in an epoch, less one.

    Attributes:
        identity: hex; another one for blocks that began at another time, whatever their seed.
    """

    def __init__(self, clock: Clock, *, seed: str, genesis: int, block_time_s: float, tempo: int) -> None:
        self._clock = clock
        self._seed = seed
        self._genesis = genesis
        self._block_us = round(block_time_s * 1_000_000)
        self._epoch_length = tempo + 1
        self._newest = 0
        self.identity = hashlib.sha256(f"{seed}|{genesis}|genesis".encode()).hexdigest()

    def number(self) -> int:
        """Return the newest block's number; it never falls, even when the clock is set back."""
        self._newest = max(self._newest, self._elapsed_us() // self._block_us)
        return self._newest

    def head(self) -> Head:
        """Return the newest block; epochs are counted from block 0 (D-22)."""
        number = self.number()
        epoch = number // self._epoch_length
        time = self._genesis + number * self._block_us // 1_000_000
        start = epoch * self._epoch_length
        return Head(number, self.hash(number), time, epoch, start + self._epoch_length - 1, start)

    def hash(self, number: int) -> str:
        """Return the hash of any block, hex: sha256 of `seed|number`."""
        return hashlib.sha256(f"{self._seed}|{number}".encode()).hexdigest()

    async def wait_for(self, number: int) -> None:
        """Return once block `number` is there."""
        while self.number() < number:
            # Whole microseconds, at least one: a rest that rounds to nothing would never let the clock move.
            await self._clock.sleep(max(1, number * self._block_us - self._elapsed_us()) / 1_000_000)

    def _elapsed_us(self) -> int:
        return (self._clock.now() - datetime.fromtimestamp(self._genesis, UTC)) // _MICROSECOND
