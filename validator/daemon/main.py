"""Body of `validator run`: settings in, a daemon until a stop is requested, an exit code out."""

import asyncio
import importlib
import platform
import sys
from collections.abc import Callable

import structlog

from sssa.protocol.errors import ValidatorError
from sssa.sources import SystemClock
from validator import __version__
from validator.cancellation import run_whole
from validator.daemon.allocator import settle_allocator, settle_collector
from validator.daemon.assembly import assembled
from validator.daemon.exits import Exit
from validator.daemon.signals import Signals, StoppedAtStartError
from validator.daemon.start import check_start
from validator.daemon.world import World, build_world
from validator.rounds.prepare import schedule_of
from validator.settings.model import Settings
from validator.telemetry import Event, configure_logging
from validator.telemetry.metrics import Metrics

_log = structlog.get_logger()


def tell_failure(error: Exception, code: int) -> None:
    """Log why the process ends; on a terminal the line on standard error is enough.

    Args:
        error: a ValidatorError or OSError is written as its text, any other with its traceback.
        code: what the process ends with.
    """
    if sys.stdout.isatty():
        return
    if not structlog.is_configured():
        configure_logging("info", "auto")
    unforeseen = None if isinstance(error, ValidatorError | OSError) else error
    _log.error(Event.DAEMON_FAILED, reason=str(error) or type(error).__name__, exit_code=code, exc_info=unforeseen)


def run_daemon(settings: Settings, signals: Signals, build: Callable[[Settings], World] = build_world) -> int:
    """Run the validator until SIGTERM or SIGINT and return the exit code.

    Args:
        settings: the operator's.
        signals: listening already.
        build: makes the world of the settings; the soak has its canaries timed as its other tasks.

    Raises:
        StoppedAtStartError: a signal came before the start was complete.
        ValidatorError: a part cannot start; the text says which and why.
    """
    settle_allocator()
    # A second's worth of imports: now, not in the event loop at the first request.
    importlib.import_module("bittensor.http_auth")
    metrics = Metrics(SystemClock(), __version__)
    configure_logging(settings.log.level, settings.log.format, observe=metrics.observe, rooms=settings.log.rooms)
    world = build(settings)
    return run_whole(_run(settings, world, metrics, signals))


async def _run(settings: Settings, world: World, metrics: Metrics, signals: Signals) -> int:
    signals.starting()
    started = world.clock.monotonic()
    try:
        async with assembled(settings, world, metrics) as daemon:
            await check_start(world.chain, world.clock, settings, world.signer.hotkey, daemon.store)
            settle_collector()
            signals.started(settings.rounds.grace_s)
            _log.info(
                Event.DAEMON_STARTED,
                version=__version__,
                scoring_version=", ".join(schedule_of(settings).starts),
                hotkey=world.signer.hotkey,
                settings=settings.public(),
                python=platform.python_version(),
            )
            finished = await daemon.run(signals.stop)
    except asyncio.CancelledError:
        if signals.stopped_at_start:
            raise StoppedAtStartError from None
        raise
    seconds = round(world.clock.monotonic() - started, 3)
    _log.info(Event.DAEMON_STOPPED, finished=finished, seconds=seconds)
    return Exit.FINE if finished else Exit.CUT_OFF
