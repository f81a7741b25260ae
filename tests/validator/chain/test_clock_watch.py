"""Fresh blocks alone show that the clock is wrong: a lagging chain is not a wrong clock (D-26)."""

from datetime import UTC, datetime, timedelta

import pytest

from sssa.sources import VirtualClock
from validator.chain.clockwatch import ClockWatch

GENESIS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
BLOCK_S = 12


class Off(VirtualClock):
    """A clock that is wrong by `off` seconds; its monotonic side is right."""

    off = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.off)


class Trial:
    """A watch that is shown the newest block every ten seconds, as the daemon does."""

    def __init__(self, off: float = 0.0, *, behind: float = 0.0, speed: float = 1.0) -> None:
        self.clock = Off()
        self.clock.off = off
        self.behind = behind  # seconds by which the node is behind the chain
        self.speed = speed  # at which it follows: over 1 it catches up
        self.watch = ClockWatch(self.clock)

    def look(self) -> None:
        real = self.clock.monotonic()
        at = 10_000 + min(real, real * self.speed - self.behind)
        number = int(at // BLOCK_S)
        self.watch.record_block(number, GENESIS - 10_000 + number * BLOCK_S)

    async def run(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.look()
            await self.clock.advance(10.0)


@pytest.mark.parametrize("off", [-300.0, -45.0, 45.0, 300.0])
async def test_a_wrong_clock_is_found_within_a_minute_and_forgotten_when_it_is_set_right(off: float) -> None:
    trial = Trial(off)
    trial.look()
    assert trial.watch.wrong or trial.watch.unsure or abs(off) < 60
    await trial.run(60)
    assert trial.watch.wrong
    assert trial.watch.off == pytest.approx(off, abs=22)
    trial.clock.off = 0.0
    assert not trial.watch.wrong  # at once: a step shows against the monotonic clock
    await trial.run(30)
    assert not trial.watch.wrong
    assert not trial.watch.unsure


@pytest.mark.parametrize("off", [-15.0, 0.0, 15.0])
async def test_a_clock_that_is_right_enough_holds_nothing_up(off: float) -> None:
    trial = Trial(off)
    for _ in range(40):
        trial.look()
        assert not trial.watch.wrong
        assert not trial.watch.unsure
        await trial.clock.advance(10.0)


async def test_a_clock_that_jumps_while_it_runs_is_noticed_at_once() -> None:
    trial = Trial()
    await trial.run(60)
    trial.clock.off = 300.0
    assert trial.watch.wrong
    await trial.run(60)
    assert trial.watch.wrong


@pytest.mark.parametrize("speed", [2.0, 3.0, 20.0])
async def test_a_node_that_catches_up_is_no_wrong_clock(speed: float) -> None:
    trial = Trial(behind=600.0, speed=speed)
    for _ in range(120):
        trial.look()
        assert not trial.watch.wrong
        await trial.clock.advance(10.0)
    assert trial.watch.off == 0.0


async def test_a_chain_that_stands_still_is_no_wrong_clock() -> None:
    trial = Trial(behind=0.0)
    await trial.run(60)
    trial.speed, trial.behind = 0.0, -60.0  # no block any more
    for _ in range(60):
        trial.look()
        assert not trial.watch.wrong
        await trial.clock.advance(10.0)


async def test_old_blocks_at_the_start_are_waited_out_for_a_minute_and_a_half() -> None:
    trial = Trial(behind=0.0, speed=0.0)
    await trial.clock.advance(300.0)
    trial.watch = ClockWatch(trial.clock)
    await trial.run(80)
    assert trial.watch.unsure
    await trial.run(20)
    assert not trial.watch.unsure
    assert not trial.watch.wrong
