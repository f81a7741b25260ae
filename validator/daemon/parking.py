"""Waiting of a container whose program ended and would end the same way again: unhealthy, with the reason."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from sssa.sources import Clock, SystemClock
from validator import __version__
from validator.cancellation import ended
from validator.daemon.exits import Exit
from validator.health.board import Board
from validator.health.endpoint import HealthEndpointError, HealthService
from validator.health.report import HealthState
from validator.settings.load import SettingsError, load_settings
from validator.settings.model import Settings
from validator.telemetry import Event, configure_logging
from validator.telemetry.metrics import Metrics

LINE_EVERY_S: Final = 3600.0
_LOOK_S: Final = 60.0
_THEN: Final = "Then start the container again."
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parked:
    """Logs once an hour why the container waits, and shows it in the health report.

    Args:
        code: what the program ended with.
        reason: its last line.
    """

    code: Exit
    reason: str
    clock: Clock
    health: HealthState

    async def run(self) -> None:
        """Wait until cancelled."""
        self.health.board.raise_("parked", f"exit code {int(self.code)}: {self.reason}")
        while True:
            _log.error(
                Event.DAEMON_PARKED,
                exit_code=int(self.code),
                reason=self.reason,
                advice=f"{self.code.advice} {_THEN}",
            )
            for _ in range(int(LINE_EVERY_S / _LOOK_S)):
                self.health.waits()
                await self.clock.sleep(_LOOK_S)


def park(code: Exit, reason: str, arguments: Sequence[str], stop_requested: Callable[[], bool]) -> int:
    """Wait for SIGTERM or SIGINT and return the code. The health endpoint answers, if the settings can be read.

    Args:
        code: what the program ended with.
        reason: its last line; what the code means, if there are none.
        arguments: of the program: its command, and maybe its settings' file.
        stop_requested: whether there was a signal before this could take any.
    """
    try:
        settings = load_settings(_config(arguments), os.environ)
    except SettingsError:
        settings = None
    return asyncio.run(_wait(code, reason or code.meaning, settings, arguments[0] == "run", stop_requested))


async def _wait(
    code: Exit, reason: str, settings: Settings | None, listens: bool, stop_requested: Callable[[], bool]
) -> int:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if stop_requested():
        return code
    clock = SystemClock()
    metrics = Metrics(clock, __version__)
    level, form = (settings.log.level, settings.log.format) if settings else ("info", "auto")
    configure_logging(level, form, observe=metrics.observe)
    interval_s = settings.rounds.interval_s if settings else 0.0
    health = HealthState(clock, interval_s, __version__, Board(clock, metrics.condition))
    work = [asyncio.create_task(Parked(code, reason, clock, health).run())]
    async with AsyncExitStack() as stack:
        if settings is not None and listens:
            service = HealthService(settings.health, health, metrics)
            try:
                await service.start()
            except HealthEndpointError:
                pass  # without an answer `validator health` is as red
            else:
                stack.push_async_callback(service.close)
                work.append(asyncio.create_task(service.run()))
        await stop.wait()
        await ended(work)
    return code


def _config(arguments: Sequence[str]) -> Path | None:
    """Return what `--config` names."""
    for number, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--config":
            return Path(value) if equals else Path(arguments[number + 1]) if number + 1 < len(arguments) else None
    return None
