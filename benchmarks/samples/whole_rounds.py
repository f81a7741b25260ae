"""Whole rounds of the daemon's own parts, in real time: twelve tasks for five miners each, from snapshot to receipt."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from world import VALIDATOR, tasks_of_all_types

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from samples import honest_miners
from samples.honest_miners import signers
from samples.lag import lags, p99
from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.round import Axon
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from sssa.scoring import CURRENT
from sssa.scoring import version as scoring_version
from sssa.sources import SeededRandom, SystemClock
from taskmaker.canary import make_canary
from validator.daemon.assembly import assembled
from validator.daemon.world import World, http_clients, judging_workers
from validator.rounds import service, settle
from validator.rounds.facts import EndedRound, round_line
from validator.settings.model import Settings
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource, SourcedTask

_MINERS: Final = 16
_WINDOWS: Final = Windows((0.0, 30.0), (0.0, 30.0))
_RANDOM: Final = SeededRandom("bench")
_BLOCKS: Final = 10_000  # an epoch that outlasts the benchmark


class WholeRounds(NamedTuple):
    """Timings of rounds: milliseconds beyond the slowest answer of each, and the loop's lag at the 99th percentile."""

    beyond_ms: list[float]
    lag_ms: float


async def whole_rounds(url: str, rounds: int, delay_s: float) -> WholeRounds:
    """Run so many rounds, after one that warms up, with miners that answer after `delay_s`."""
    clock = SystemClock()
    with _miners(_MINERS, delay_s) as axon:
        async with assembled(settings := _settings(url, CURRENT), _world(settings, clock, axon, _MINERS)) as daemon:
            await daemon.rounds.one_round()
            async with lags() as late:
                ends = [await daemon.rounds.one_round() for _ in range(rounds)]
    beyond_s = [_line_of(end)["beyond_s"] for end in ends]
    return WholeRounds([1e3 * one for one in beyond_s], 1e3 * p99(late))


async def computed_ms(url: str, version: str, miners: int, rounds: int, before: int) -> list[float]:
    """Return the CPU time of plan, score and settling of so many rounds with planted tasks, `before` others first."""
    clock, spent = SystemClock(), [0.0]

    def planned(plan: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            start = time.process_time()
            made = tuple(plan(*args))
            spent[-1] += time.process_time() - start
            return made

        return timed

    async def settled(*args: Any) -> Any:
        start = time.process_time()
        outcome = await settle.settle_round(*args)
        spent[-1] += time.process_time() - start
        return outcome

    with _miners(miners, 0.0) as axon, patch.object(service, "settle_round", settled):
        kind = type(scoring_version(version))
        with patch.object(kind, "plan_tasks", planned(kind.plan_tasks)):
            world = replace(_world(settings := _settings(url, version), clock, axon, miners), canary=_canary)
            async with assembled(settings, world) as daemon:
                for _ in range(before + rounds):
                    _line_of(await daemon.rounds.one_round())
                    spent.append(0.0)
    return [1e3 * one for one in spent[before:-1]]


def _line_of(end: EndedRound) -> dict[str, Any]:
    line = round_line(end, None, None, {})
    if line["dispatches"] != {"accepted": 12 * 5}:
        raise RuntimeError(f"not every answer was accepted: {line}")
    return line


async def _canary(skill_type: SkillType) -> SourcedTask:
    """Return one of a few planted tasks of a type in its turn, with a new nonce."""
    made = _canaries(skill_type)
    made.append(made.pop(0))
    return replace(made[-1], nonce=_RANDOM.token(NONCE_BYTES))


@cache
def _canaries(skill_type: SkillType) -> list[SourcedTask]:
    return [make_canary(skill_type, SeededRandom(f"{skill_type} {number}"), _WINDOWS) for number in range(4)]


def _world(settings: Settings, clock: SystemClock, axon: Axon, many: int) -> World:
    miners, steps = http_clients(settings, VALIDATOR, clock)
    rules = SubnetRules("bench", int(time.time()), block_time_s=1.0, tempo=_BLOCKS, weights_rate_limit=5)
    subnet = SimulatedSubnet.create(rules, clock)
    subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
    for hotkey in signers(many):
        subnet.register(hotkey, axon=axon)
    return World(
        chain=SimulatedChain(subnet, VALIDATOR.hotkey),
        source=MemorySource(tasks_of_all_types(_WINDOWS, each=2)),
        goals=MemoryGoals(),
        signer=VALIDATOR,
        clock=clock,
        random=_RANDOM,
        canary=None,
        workers=judging_workers(),
        miners=miners,
        steps=steps,
    )


def _settings(url: str, version: str) -> Settings:
    return Settings.model_validate(
        {
            "validator": {"netuid": 1},
            "chain": {"kind": "simulated"},
            "store": {"url": url},
            "miners": {"allow_private_axons": True},
            "health": {"port": 0},
            "scoring": {"schedule": {version: 0}},
        }
    )


@contextmanager
def _miners(many: int, delay_s: float) -> Iterator[Axon]:
    command = [sys.executable, honest_miners.__file__, str(many), str(delay_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            raise RuntimeError("the miners say nothing")
        try:
            yield Axon("127.0.0.1", int(process.stdout.readline()))
        finally:
            process.communicate()
