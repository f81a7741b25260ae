"""Sources of time, random bytes and draws: real ones, and seeded or virtual ones for tests and local network."""

import asyncio
import hashlib
import heapq
import itertools
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Time as the program sees it."""

    def now(self) -> datetime:
        """Return the current UTC time."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""


class RandomBytes(Protocol):
    """A source of random bytes."""

    def token(self, count: int) -> bytes:
        """Return `count` bytes."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current UTC time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the event loop's kind of seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for real."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that moves only by `advance`, which wakes the sleepers whose time has come, in order."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """Return the virtual UTC time."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has moved the clock by `seconds`; nothing to wait for when that is 0."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), wake))
        await wake

    async def advance(self, seconds: float) -> None:
        """Move the clock, waking each sleeper at its own moment and letting it run."""
        target = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            moment, _, wake = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, moment)
            if not wake.done():
                wake.set_result(None)
            await asyncio.sleep(0)
        self._elapsed = target
        await asyncio.sleep(0)


def system_ns() -> int:
    """Return the machine's time in nanoseconds since the Unix epoch."""
    return time.time_ns()


def ns_of(clock: Clock) -> int:
    """Return a clock's time in nanoseconds since the Unix epoch, exact to the microsecond."""
    return (clock.now() - _EPOCH) // timedelta(microseconds=1) * 1_000


class SystemRandom:
    """The operating system's random bytes."""

    def token(self, count: int) -> bytes:
        """Return `count` bytes."""
        return secrets.token_bytes(count)


class SeededRandom:
    """Bytes that follow from a seed: sha256 in counter mode. For tests and the local network only.

    Args:
        seed: any text.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._counter = itertools.count()  # threads draw as well: no two of them get the same

    def token(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        out = b""
        while len(out) < count:
            out += hashlib.sha256(self._seed + next(self._counter).to_bytes(8, "big")).digest()
        return out[:count]


class Draws:
    """Draws numbers and elements; the same bytes give the same draws.

    Args:
        random: the bytes.
    """

    def __init__(self, random: RandomBytes) -> None:
        self._random = random

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + int.from_bytes(self._random.token(8), "big") % (high - low + 1)

    def pick(self, choices: Sequence[T]) -> T:
        """Return one element."""
        return choices[self.number(0, len(choices) - 1)]

    def some(self, choices: Sequence[T], low: int, high: int) -> list[T]:
        """Return `low` to `high` different elements in drawn order; all of them where there are fewer."""
        remaining = list(choices)
        count = min(self.number(low, high), len(remaining))
        return [remaining.pop(self.number(0, len(remaining) - 1)) for _ in range(count)]

    def bytes(self, count: int) -> bytes:
        """Return as many bytes."""
        return self._random.token(count)

    def version(self) -> str:
        """Return a version number such as `1.4.12`."""
        return f"{self.number(0, 4)}.{self.number(0, 19)}.{self.number(0, 29)}"

    def date(self) -> str:
        """Return a day of recent years, `YYYY-MM-DD`."""
        return f"{self.number(2021, 2026)}-{self.number(1, 12):02}-{self.number(1, 28):02}"
