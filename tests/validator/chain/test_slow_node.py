"""A node that takes its time, over real sockets: how many round trips things take, and that weights are set."""

import asyncio
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

import pytest
from chain_worlds import ME, ServedWorld
from json_codec import speak_json

from validator.chain.limits import LIMITS
from validator.weights.chain_view import ChainReader

pytestmark = pytest.mark.faults
BLOCK_S: Final = 5.0  # a signature has eight blocks of time
HEAD_S: Final = {0.2: 1.0, 1.0: 4.0, 2.0: 8.0}  # by latency: less than this


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    speak_json(monkeypatch)  # beneath all worlds of a test: the first that closes takes its own away


async def took(call: Coroutine[Any, Any, Any]) -> float:
    began = time.monotonic()
    await call
    return time.monotonic() - began


def trips(world: ServedWorld) -> int:
    """Return the number of sequential round trips: calls that the client made after the answer to the previous one."""
    kinds = [seen.kind for seen in world.proxy.seen if seen.kind != "notice"]
    return sum(
        kind == "request" and before != "request" for before, kind in zip(["answer", *kinds], kinds, strict=False)
    )


async def test_a_head_takes_two_round_trips_and_a_snapshot_three_or_four() -> None:
    world = await ServedWorld.open("", {"block_time_s": BLOCK_S}, LIMITS)
    try:
        await world.chain.head()
        world.proxy.latency_s = 0.1  # all that is asked at the same time comes before the first answer goes
        world.node.certificates.add(min(world.miners.values()))
        reader = ChainReader(world.chain, world.clock, ME.hotkey, 0)
        for call, most in ((world.chain.head(), 2), (world.chain.snapshot(), 4), (reader.look(), 6)):
            world.proxy.seen.clear()
            await call
            assert trips(world) <= most
    finally:
        await world.close()


async def test_heads_come_in_time_and_weights_are_set_whatever_an_answer_takes() -> None:
    async def measured(latency_s: float) -> str:
        world = await ServedWorld.open("", {"block_time_s": BLOCK_S, "weights_rate_limit": 0}, LIMITS)
        try:
            await world.chain.head()
            world.proxy.latency_s = latency_s
            head, snapshot = await took(world.chain.head()), await took(world.chain.snapshot())
            assert head < HEAD_S[latency_s]
            began = time.monotonic()
            result = await world.chain.set_weights(0, {min(world.miners): 1.0}, valid_blocks=8)
            assert result.accepted
            assert world.chain.latency_s is not None
            assert latency_s <= world.chain.latency_s < 2 * latency_s + 0.5
            sent = time.monotonic() - began
            return f"{latency_s} s a call: head {head:.1f} s, snapshot {snapshot:.1f} s, weights final in {sent:.0f} s"
        finally:
            await world.close()

    lines = await asyncio.gather(*map(measured, HEAD_S))
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
