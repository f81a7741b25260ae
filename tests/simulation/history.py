"""One history: lives of the real daemon in one universe and one store, with faults, kills and checks."""

import asyncio
import hashlib
import sqlite3
from collections import Counter
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog

from simulation import invariants
from simulation.faults import CUTS, KILLS, Fault, Faults, span_of
from simulation.loop import SimulationError, Steps, Time, VirtualLoop
from simulation.sqlite import handles
from simulation.universe import VALIDATOR, Universe
from validator.daemon.assembly import assembled
from validator.daemon.signals import Stop
from validator.daemon.watches import LoopWatch
from validator.store import open_store
from validator.store.connections import Handles
from validator.store.errors import StoreError
from validator.store.pruning import prune

_STOP_S: Final = 150.0  # the longest grace, an outage of the store and what its writers wait between tries
_HAND_BACK_S: Final = 10.0  # longer than a stop waits for the store before it leaves work as running
_LONG_GRACE_S: Final = 40.0  # more than a round takes: workflow answers have 30 s
_MOST_LIVES: Final = 20
_RESTART_S: Final = 10.0  # after which a supervisor starts a program again whose start failed
_SOON_S: Final = 20.0


@dataclass(slots=True)
class Played:
    """Result of a history.

    Attributes:
        seed, faults: which.
        error: what broke, None if nothing.
        rounds: that ended, by state.
        counts: how often each fault acted.
        digest: of all steps and all tables.
        steps, last: how many steps there were, and the last ones.
    """

    seed: int
    faults: Sequence[Fault]
    error: str | None = None
    rounds: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    digest: str = ""
    steps: int = 0
    last: Sequence[str] = ()


class History:
    """Plays one history.

    Args:
        seed: everything follows from it.
        faults: what goes wrong.
        folder: an empty folder for the store.
    """

    def __init__(self, seed: int, faults: Sequence[Fault], folder: Path) -> None:
        self.time, self.steps = Time(), Steps()
        self.faults = Faults(faults, self.time, span_of(seed))
        self.universe = Universe(seed, folder, self.faults, self.time)
        self.settings = self.universe.settings()
        self.log: list[MutableMapping[str, Any]] = []
        self.ended: set[Fault] = set()
        self.past = invariants.Past()
        self._calm = 0.0
        self._written = 0.0  # by a clock that was ahead: until then no weights are sent (`weights_clock_back`)
        self._random = self.universe.stream("durations")
        self._kept: list[object] = []  # of lives that were killed: nothing of them is collected, so no `finally` runs
        self._url = str(self.settings.store.url.get_secret_value())
        self._visitors: list[Handles] = []  # of the life in hand: they end with it
        self._begun = False

    def play(self) -> Counter[str]:
        """Play all of it; return how many rounds ended, by state.

        Raises:
            SimulationError: an invariant does not hold.
        """
        structlog.configure(processors=[self._logged], logger_factory=structlog.ReturnLoggerFactory())
        for _ in range(_MOST_LIVES):
            if self._life():
                break
        return self._look(whole=True)

    def _logged(self, _logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
        self.log.append({**event, "log_level": method, "at": self.time.now})
        return ""

    def _life(self) -> bool:
        """Let the daemon live until it ends or is killed; return whether it was the last life."""
        loop = VirtualLoop(self.time, self._random, self.steps)
        end = next((one for one in self.faults.ends if one not in self.ended and one.at >= self.time.now - 60), None)
        self._restore()
        world = self.universe.world(loop)
        self.faults.disarm()
        self._visitors, self._begun = [], False
        main = self._daemon(loop, world, end)
        task = loop.live(main)
        if end is not None and self._begun:
            self.ended.add(end)
        self._seen_from_outside()
        if loop.killed:
            for one in (world.handles, *self._visitors):
                one.drop()
            self._kept += [loop, task, world, main]
            self.past.killed = True
            if (self.universe.folder / "store.sqlite").exists():
                invariants.look_at_running(self.past, self.universe.folder, allowed=True)
            self._look(whole=False)
            self.time.now += self._random.choice((0.0, 3.0, 40.0))
            return False
        if loop.errors:
            raise SimulationError(loop.errors[0])
        if tasks := loop.unended_tasks():
            raise SimulationError(f"tasks outlive the stop: {tasks}")
        if not task.cancelled() and (error := task.exception()) is not None:
            if self._begun or not (isinstance(error, StoreError) and self._lately_no_writes(0.0)):
                raise SimulationError(f"the daemon ended by {type(error).__name__}: {error}") from error
            self.time.now += _RESTART_S
            return False
        no_writes = self._lately_no_writes(_HAND_BACK_S)
        invariants.look_at_running(self.past, self.universe.folder, allowed=no_writes)
        waits = end is None or end.kind in {"stop", "drain"}
        if waits and not no_writes and (self.settings.rounds.grace_s > _LONG_GRACE_S or (end and end.kind == "drain")):
            invariants.require_no_open_round(self.universe.folder)
        self._look(whole=False)
        self.time.now += self._random.choice((0.0, 3.0))
        return end is None

    def _lately_no_writes(self, seconds: float) -> bool:
        return any(self.faults.lately(kind, seconds) for kind in ("disk_full", "busy"))

    def _visitor(self, loop: VirtualLoop) -> Handles:
        """Return the handles of another process, which a kill of the daemon's takes along."""
        self._visitors.append(handles(loop))
        return self._visitors[-1]

    def _seen_from_outside(self) -> None:
        """Raise the first violation that chain and miners noted."""
        if self.universe.violations:
            raise SimulationError(self.universe.violations[0])

    async def _daemon(self, loop: VirtualLoop, world: Any, end: Fault | None) -> None:
        begun, main = self.time.now, asyncio.current_task()
        assert main is not None
        stop = Stop()
        handles_at: list[asyncio.TimerHandle] = []

        def later(at: float, call: Any, *args: Any) -> None:
            if at >= begun:
                handles_at.append(loop.call_at(at, call, *args))

        async with assembled(self.settings, world) as whole:
            self._begun = True
            # What measures how late a timer comes wakes fifty times in a second, and here none is late.
            daemon = replace(whole, services=[one for one in whole.services if not isinstance(one, LoopWatch)])
            visits: list[asyncio.Task[None]] = []
            for event in self.faults.events:
                later(event.at, self._happen, loop, event, visits)
            for window in (*self.faults.windows("chain_lags"), *self.faults.windows("chain_behind")):
                # A node that lags shows what was when it began; one that is behind takes another's place later.
                late = window.value / 2 if window.kind == "chain_behind" else 0.0
                later(window.at, self.universe.capture, window.kind)
                later(window.at + late, self.universe.freeze, window.kind)
                later(window.at + window.value, self.universe.freeze, None)
            for window in self.faults.windows("no_permit"):
                later(window.at, self._permit, False)
                later(window.at + window.value, self._permit, True)
            if end is None:
                self._calm = max(begun, self.faults.calm_from)
                over = self._calm + self.universe.shape.calm_s
                loop.call_at(over, stop.request)
                loop.call_at(over + _STOP_S, loop.overdue, f"the stop takes longer than {_STOP_S} s")
            else:
                # A kill that finds no moment of its kind comes at the next step.
                loop.call_at(max(begun, end.at), self._begin_end, loop, end, stop, main, visits)
            try:
                await daemon.run(stop)
            finally:
                for handle in handles_at:
                    handle.cancel()
                for visit in visits:
                    visit.cancel()
                await asyncio.gather(*visits, return_exceptions=True)

    def _begin_end(
        self, loop: VirtualLoop, end: Fault, stop: Stop, main: asyncio.Task[Any], visits: list[asyncio.Task[None]]
    ) -> None:
        """Let the life in hand end as its fault says."""
        if end.kind in CUTS:
            self.faults.cancel = main.cancel
            self.faults.arm(end)
            loop.call_later(60.0, main.cancel)
            loop.call_later(60.0 + _STOP_S, loop.overdue, f"{end.kind} takes longer than {_STOP_S} s")
            return
        if end.kind in KILLS:
            self.faults.arm(end)
            if end.kind == "any_step":
                self.faults.count("any_step")
                loop.kill_at = loop.life_steps + int(end.value)
            else:
                loop.call_later(60.0, loop.kill)
            return
        self.faults.count(end.kind)
        loop.call_later(_STOP_S, loop.overdue, f"{end.kind} takes longer than {_STOP_S} s")
        match end.kind:
            case "stop":
                stop.request()
            case "stop_twice":
                stop.request()
                loop.call_later(0.7 * end.value, stop.request)
            case "cancel":
                main.cancel()
            case "drain":
                visits.append(loop.create_task(self._drain(loop)))

    async def _round_begun(self) -> None:
        """Wait until a round asks miners, if one begins soon."""
        begun = asyncio.Event()
        self.universe.on_dispatch.append(begun.set)
        with suppress(TimeoutError):
            await asyncio.wait_for(begun.wait(), _SOON_S)

    async def _drain(self, loop: VirtualLoop) -> None:
        """Ask for a drain from another process, as `validator drain` does; within a round, if one begins soon."""
        await self._round_begun()
        while True:
            try:
                async with open_store(self._url, handles=self._visitor(loop)) as store, store.begin() as tx:
                    await tx.drains.ask(self.universe.own.now())
            except StoreError:
                await asyncio.sleep(0.5)
            else:
                return

    async def _prune(self, loop: VirtualLoop) -> None:
        """Remove raw answers and bundles as `validator db prune` does, from another process and within a round."""
        await self._round_begun()
        await asyncio.sleep(0.5)
        with suppress(StoreError):
            async with open_store(self._url, handles=self._visitor(loop)) as store:
                now = self.universe.own.now()
                pruned = await prune(store, answers_before=now, bundles_before=now)
                self.faults.counts["retention"] += any(pruned)

    async def _intrude(self, loop: VirtualLoop) -> None:
        """Start a second validator on the same store."""
        try:
            async with open_store(self._url, writer=True, handles=self._visitor(loop)):
                self.universe.violations.append("two validators write to one store")
        except StoreError:
            self.faults.count("intruder")

    def _restore(self) -> None:
        """Put right what ended while no daemon ran: its end was on a loop that is gone."""
        self.universe.subnet.set_permit(VALIDATOR.hotkey, not self.faults.active("no_permit"))
        if not (self.faults.active("chain_lags") or self.faults.active("chain_behind")):
            self.universe.freeze(None)
        self.time.off = 0.0

    def _permit(self, permit: bool) -> None:
        self.faults.count("no_permit")
        self.universe.subnet.set_permit(VALIDATOR.hotkey, permit)

    def _happen(self, loop: VirtualLoop, event: Fault, visits: list[asyncio.Task[None]]) -> None:
        """Let an event happen."""
        subnet = self.universe.subnet
        miners = [one.hotkey for one in subnet.snapshot().neurons if one.hotkey != VALIDATOR.hotkey]
        visit = {"retention": self._prune, "intruder": self._intrude}.get(event.kind)
        if visit is not None:
            visits.append(loop.create_task(visit(loop)))
            return
        if event.kind == "stall":  # while an answer is on its way
            self.universe.on_dispatch.append(partial(loop.call_later, 0.15, self._stall, loop, event.value))
            return
        self.faults.count(event.kind)
        self.universe.moved_at = self.time.now
        match event.kind:
            case "clock_step":
                self.time.off += event.value
                self._written = max(self._written, self.time.now + 20.0 + event.value)
                loop.call_later(20.0, self._clock_back, event.value)
            case "uid_changes_hands":
                for hotkey in miners[: int(event.value)]:
                    subnet.deregister(hotkey)
                    self.universe.newcomer()
            case "subnet_shrinks":
                for hotkey in miners[: int(event.value)][: len(miners) - 3]:
                    subnet.deregister(hotkey)

    def _stall(self, loop: VirtualLoop, value: float) -> None:
        """Stand still; one process in three is killed soon after it continues."""
        self.faults.count("stall")
        self.time.now += value
        if int(value) % 3 == 0:
            loop.kill_at = loop.life_steps + self._random.randint(10, 400)

    def _clock_back(self, value: float) -> None:
        self.time.off = 0.0 if self.time.off == value else self.time.off - value

    def _look(self, *, whole: bool) -> Counter[str]:
        """Check the store from outside, as another process would; return how many rounds ended."""
        if not (self.universe.folder / "store.sqlite").exists():
            return Counter()
        rounds = invariants.check(self, whole=whole)
        if not whole:
            return rounds
        loop = VirtualLoop(self.time, self._random, Steps())

        async def check() -> None:
            async with open_store(self._url, handles=self._visitor(loop)) as store:
                await invariants.check_whole(self, store)

        before, state = self.time.now, self._random.getstate()
        task = loop.live(check())
        self.time.now = before
        self._random.setstate(state)
        task.result()
        return rounds

    @property
    def calm_rounds(self) -> set[int]:
        """Rounds that began when no fault acted any more, in the last life."""
        return {number for number, at in self.universe.listener.started_at.items() if at >= self._calm}

    def calm_epochs(self) -> range:
        """Return the epochs that lie whole in the calm time, but for its first blocks."""
        shape = self.universe.shape
        begin = max(self._calm, self._written) + 4.0
        first, last = (round(time / shape.block_s) for time in (begin, self._calm + shape.calm_s))
        epoch = self.universe.subnet.blocks.epoch
        return range(epoch(first - 1) + 1, epoch(last))

    def digest(self) -> str:
        """Return sha256 over all steps and every row of every table."""
        digest = hashlib.sha256(self.steps.digest.encode())
        with sqlite3.connect(self.universe.folder / "store.sqlite") as database:
            names = [
                row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
            ]
            for name in names:
                for row in database.execute(f"SELECT * FROM {name}"):
                    digest.update(repr((name, row)).encode())
        return digest.hexdigest()
