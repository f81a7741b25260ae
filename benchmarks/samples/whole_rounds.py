"""Whole rounds of the daemon's own parts, in real time: twelve tasks for five miners each, from snapshot to receipt."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from world import VALIDATOR, tasks_of_all_types

from samples import honest_miners
from samples.honest_miners import signers
from samples.lag import lags, p99
from validator.chain.simulated import SimulatedChain
from validator.chain.subnet import SimulatedSubnet, SubnetRules
from validator.daemon.assembly import assembled
from validator.daemon.world import World, http_clients, judging_workers
from validator.protocol.round import Axon
from validator.protocol.task import Windows
from validator.rounds.facts import round_line
from validator.settings import Settings
from validator.sources import SeededRandom, SystemClock
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

MINERS: Final = 16
_WINDOWS: Final = Windows((0.0, 30.0), (0.0, 30.0))
_BLOCKS: Final = 10_000  # an epoch that outlasts the benchmark


class WholeRounds(NamedTuple):
    """What rounds showed: milliseconds beyond the slowest answer of each, and of the loop's lag 99 of 100."""

    beyond_ms: list[float]
    lag_ms: float


async def whole_rounds(url: str, rounds: int, delay_s: float) -> WholeRounds:
    """Run so many rounds, after one that warms up, with miners that answer after `delay_s`."""
    with _miners(delay_s) as axon:
        clock = SystemClock()
        async with assembled(settings := _settings(url), _world(settings, clock, axon)) as daemon:
            await daemon.rounds.one_round()
            async with lags() as late:
                ends = [await daemon.rounds.one_round() for _ in range(rounds)]
    lines = [round_line(end, None, None, ()) for end in ends]
    for line in lines:
        if line["dispatches"] != {"accepted": 12 * 5}:
            raise RuntimeError(f"not every answer was accepted: {line}")
    return WholeRounds([1e3 * line["beyond_s"] for line in lines], 1e3 * p99(late))


def _world(settings: Settings, clock: SystemClock, axon: Axon) -> World:
    miners, steps = http_clients(settings, VALIDATOR, clock)
    rules = SubnetRules("bench", int(time.time()), block_time_s=1.0, tempo=_BLOCKS, weights_rate_limit=5)
    subnet = SimulatedSubnet.create(rules, clock)
    subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
    for hotkey in signers(MINERS):
        subnet.register(hotkey, axon=axon)
    return World(
        chain=SimulatedChain(subnet, VALIDATOR.hotkey),
        source=MemorySource(tasks_of_all_types(_WINDOWS, each=2)),
        goals=MemoryGoals(),
        signer=VALIDATOR,
        clock=clock,
        random=SeededRandom("bench"),
        canary=None,
        workers=judging_workers(),
        miners=miners,
        steps=steps,
    )


def _settings(url: str) -> Settings:
    return Settings.model_validate(
        {
            "validator": {"netuid": 1},
            "chain": {"kind": "simulated"},
            "store": {"url": url},
            "miners": {"allow_private_axons": True},
            "health": {"port": 0},
        }
    )


@contextmanager
def _miners(delay_s: float) -> Iterator[Axon]:
    command = [sys.executable, honest_miners.__file__, str(MINERS), str(delay_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            raise RuntimeError("the miners say nothing")
        try:
            yield Axon("127.0.0.1", int(process.stdout.readline()))
        finally:
            process.communicate()
