"""The heartbeat tells when the validator stood still, also before it has beaten again (SPEC 16, D-26)."""

import asyncio

from validator.outgoing.stalls import Stall
from validator.rounds.heartbeat import Heartbeat


class StoppedClock:
    """A clock on which everything stops now and then, as under SIGSTOP: sleepers all wake after it."""

    def __init__(self) -> None:
        self.time = 100.0
        self.wake = asyncio.Event()

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, _seconds: float) -> None:
        self.wake.clear()
        await self.wake.wait()

    async def beats(self, seconds: float) -> None:
        self.time += seconds
        self.wake.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_late_beat_is_a_stall_from_the_beat_before_it() -> None:
    clock = StoppedClock()
    heart = Heartbeat(clock)  # type: ignore[arg-type]
    beating = asyncio.create_task(heart.run())
    await asyncio.sleep(0)
    await clock.beats(0.1)
    await clock.beats(1.0)  # late, and no stall
    assert heart.since(0.0) == ()
    await clock.beats(30.0)
    await clock.beats(0.1)
    found = heart.since(0.0)
    assert [(round(s.start, 6), round(s.seconds, 6)) for s in found] == [(101.1, 30.0)]
    assert heart.since(131.2) == ()
    assert heart.since(131.0) == found
    beating.cancel()


async def test_a_stop_shows_before_the_next_beat() -> None:
    clock = StoppedClock()
    heart = Heartbeat(clock)  # type: ignore[arg-type]
    beating = asyncio.create_task(heart.run())
    await asyncio.sleep(0)
    clock.time += 30.0  # deadlines are run before the beat is
    assert heart.since(100.0) == (Stall(100.0, 30.0),)
    await clock.beats(0.0)
    assert heart.since(100.0) == (Stall(100.0, 30.0),)
    beating.cancel()


async def test_nothing_is_a_stall_where_nothing_beats() -> None:
    clock = StoppedClock()
    heart = Heartbeat(clock)  # type: ignore[arg-type]
    clock.time += 30.0
    assert heart.since(0.0) == ()
