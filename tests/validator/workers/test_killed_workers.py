"""Workers that the machine kills over honest answers, and answers that crash their worker (SPEC 16, D-26, D-27).

`pytest tests/acceptance/test_hostile_answers.py` makes 20 trials of each and prints them; `make attack` makes one.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from audit_file import export
from replays import replayed
from state_kit import windows_of
from structlog.testing import capture_logs
from worker_jobs import die_times
from world import VALIDATOR, World, miner_signer, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.protocol.dispatch_record import Dispatch
from sssa.protocol.reasons import Reason
from validator.rounds.resume import resume_rounds
from validator.store import Store
from validator.tasks.source import MemorySource
from validator.workers.interface import Here, Whose, WorkerKilledError
from validator.workers.pool import WorkerPool

T = TypeVar("T")
TRIALS = 20 if os.environ.get("HOSTILE_ROUNDS") else 1
HUNTED = miner_signer(0, "sr25519").hotkey
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL)


class Hunted(WorkerPool):
    """A pool whose workers end by a signal over the first answer that comes, the first times that one has it."""

    def __init__(self, deaths: Path, number: int, times: int) -> None:
        super().__init__(2, preload=("sssa.kinds.assessment.judge",))
        self._deaths, self._number, self._times = deaths, number, times
        self.hunted = ""

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        self.hunted = self.hunted or whose.hotkey
        if whose.hotkey == self.hunted:
            return await super().run(
                whose, lambda: partial(die_times, self._deaths, self._number, self._times, make()), urgent=urgent
            )
        return await super().run(whose, make, urgent=urgent)


class Killed(Here):
    """Workers that the machine kills whenever they have one miner's answer."""

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        if whose.hotkey == HUNTED:
            raise WorkerKilledError("the machine killed each worker")
        return await super().run(whose, make, urgent=urgent)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.workers.pool._KILLED_PAUSES_S", (0.0, 0.0))


@pytest.fixture
def world(store: Store) -> World:
    return World(store, miners=5, source=MemorySource(tasks_of_all_types()[2:3]))


async def dispatches(world: World) -> dict[str, Dispatch]:
    async with world.store.read() as tx:
        last = max(await tx.rounds.ids())
        return {one.key.hotkey: one for one in await tx.dispatches.of_round(last)}


async def over_one_answer(store: Store, tmp_path: Path, number: int, times: int) -> Counter[str]:
    """Play rounds in each of which workers end over one answer; return the result of them.

    There are many miners: one that was charged a few times is not asked any more.
    """
    world = World(store, miners=40, source=MemorySource(tasks_of_all_types()[2:3]))
    ends: Counter[str] = Counter()
    for trial in range(TRIALS):
        pool = Hunted(tmp_path / f"{number}-{times}-{trial}", number, times)
        world.gates._workers = pool
        try:
            with capture_logs():
                await on_virtual_time(world, world.service.one_round())
        finally:
            await pool.close()
        found = await dispatches(world)
        ends[str(found.pop(pool.hunted).reason)] += 1
        assert {one.reason for one in found.values()} == {Reason.ACCEPTED}
    return ends


@pytest.mark.attack
@pytest.mark.parametrize(("times", "reason"), [(2, Reason.ACCEPTED), (5, Reason.LOCAL_RESOURCES)])
@pytest.mark.usefixtures("no_pauses")
async def test_workers_killed_over_an_honest_answer_cost_its_miner_nothing(
    store: Store, tmp_path: Path, times: int, reason: Reason
) -> None:
    ends = await over_one_answer(store, tmp_path, signal.SIGKILL, times)
    sys.stdout.write(f"workers killed {times} times over an honest answer: {dict(ends)} of {TRIALS}\n")
    assert ends == {str(reason): TRIALS}
    async with store.read() as tx:
        windows = await windows_of(tx)
    assert all(value > 0 for types in windows.values() for values in types.values() for value in values)
    assert (await replayed(store)).verdict == "equal"


@pytest.mark.attack
@pytest.mark.parametrize("number", CRASHES, ids=lambda number: number.name)
async def test_an_answer_that_crashes_its_workers_is_charged(store: Store, tmp_path: Path, number: int) -> None:
    ends = await over_one_answer(store, tmp_path, number, 1000)
    sys.stdout.write(f"an answer that crashes its workers, {signal.Signals(number).name}: {dict(ends)} of {TRIALS}\n")
    assert ends == {str(Reason.PARSE_TOO_COSTLY): TRIALS}


async def test_an_answer_whose_workers_the_machine_ended_is_void_alone(world: World, tmp_path: Path) -> None:
    world.gates._workers = Killed()
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    assert HUNTED not in {member.hotkey for member in end.outcome.members}
    assert HUNTED not in {event.hotkey for event in end.outcome.reputation}
    found = (await dispatches(world))[HUNTED]
    assert (found.state, found.reason, found.void_alone) == ("void", Reason.LOCAL_RESOURCES, True)
    assert (await replayed(world.store)).verdict == "equal"
    assert verify_file(await export(world.store, tmp_path / "log.jsonl")).answers == 4


async def test_after_a_crash_an_answer_whose_workers_the_machine_ends_is_void_alone(world: World) -> None:
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    world.gates._workers = Killed()
    assert await resume_rounds(world.store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    found = await dispatches(world)
    assert (found[HUNTED].reason, found[HUNTED].void_alone) == (Reason.LOCAL_RESOURCES, True)
    async with world.store.read() as tx:
        assert HUNTED not in await windows_of(tx)
    assert (await replayed(world.store)).verdict == "equal"
