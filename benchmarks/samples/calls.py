"""So many calls at once to miners in their own process: ours, and bare aiohttp's, which neither signs nor bounds.

Every call has the same 50 KB; every answer comes after 50 ms and has 9.6 KB.
"""

import asyncio
import atexit
import itertools
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import ClientSession, TCPConnector

from sssa.protocol.limits import MAX_BODY
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call

DELAY_S: Final = 0.05
BODY: Final = bytes(itertools.islice(itertools.cycle(b"0123456789abcdef"), 50_000))
PATH: Final = "/v1/assessments"
SIGNER: Final = Signer.from_uri("//Validator")
_STAND_IN: Final = Path(__file__).with_name("stand_in.py")
PATIENCE_S: Final = 60.0


class Turn(NamedTuple):
    """Result of a run: calls per second, microseconds of CPU per call, milliseconds beyond the slowest answer."""

    rate: float
    cpu_us: float
    beyond_ms: float


@cache
def axons() -> list[Axon]:
    """Return where the miners listen; they are started once and end with this process."""
    miners = subprocess.Popen(
        [sys.executable, _STAND_IN, str(DELAY_S)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(miners.communicate)
    if miners.stdout is None:
        raise RuntimeError("the miners say nothing")
    return [Axon("127.0.0.1", int(port)) for port in miners.stdout.readline().split()]


async def ours(many: int) -> Turn:
    """Call with the client that rounds are dispatched with."""
    client = HttpMinerClient(SIGNER, max_open=many, connect_timeout_s=PATIENCE_S, allow_private=True)

    async def one(axon: Axon) -> float:
        reply = await client.post(Call(SIGNER.hotkey, axon, PATH, BODY, PATIENCE_S, MAX_BODY))
        if reply.body is None or reply.seconds is None:
            raise RuntimeError(f"{reply.reason}: {reply.detail}")
        with reply.body as body:
            body.read()
        return reply.seconds

    try:
        return await timed([one(axon) for axon in _every(many)])
    finally:
        await client.close()


async def bare(many: int, *, keep: bool = False) -> Turn:
    """Call with aiohttp as it comes: fresh connections, or kept ones that were opened before."""
    async with ClientSession(connector=TCPConnector(limit=0, force_close=not keep)) as session:

        async def one(axon: Axon) -> float:
            began = time.perf_counter()
            async with session.post(f"http://{axon.ip}:{axon.port}{PATH}", data=BODY) as response:
                await response.read()
            return time.perf_counter() - began

        if keep:
            await timed([one(axon) for axon in _every(many)])
        return await timed([one(axon) for axon in _every(many)])


async def timed(calls: Sequence[Awaitable[float]], of: int | None = None) -> Turn:
    """Await all of them at once, which are as many calls or `of`; each returns the seconds of its slowest answer."""
    began, cpu, many = time.perf_counter(), time.process_time(), of or len(calls)
    slowest = max(await asyncio.gather(*calls))
    wall = time.perf_counter() - began
    return Turn(many / wall, 1e6 * (time.process_time() - cpu) / many, 1e3 * (wall - slowest))


def _every(many: int) -> list[Axon]:
    return list(itertools.islice(itertools.cycle(axons()), many))
