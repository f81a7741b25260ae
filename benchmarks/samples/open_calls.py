"""Its own process that has many calls open at once: what comes out is its peak of memory and its loop's lag.

It keeps its memory as the daemon does.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final

from samples.calls import Turn, axons, bare
from samples.dispatched_rounds import dispatched
from samples.judging_process import peak
from samples.lag import lags, p99
from samples.stand_in import many_descriptors
from sssa.protocol.limits import MIB
from validator.daemon.allocator import settle_allocator, settle_collector

_RUNS: Final[Mapping[str, Callable[[int], Coroutine[Any, Any, Turn]]]] = {"dispatched": dispatched, "bare": bare}


async def _watched(turn: Awaitable[Turn]) -> list[float]:
    async with lags() as lags_s:
        await turn
    return lags_s


def main(run: str, many: int) -> None:
    """Do it and print MB and milliseconds."""
    settle_allocator()
    many_descriptors()
    axons()
    settle_collector()
    lags_s = asyncio.run(_watched(_RUNS[run](many)))
    print(peak() * MIB / 1e6, 1e3 * p99(lags_s))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
