"""Body of `validator serve`: serves API and pages until a stop is requested; writes only submitted skills."""

import asyncio
import os
from typing import Final

import structlog

from publisher.web.admission import Admission
from publisher.web.operator_token import operator_token, token_file_of
from publisher.web.server import BOUNDS, web_app
from publisher.web.views import Views
from sssa.protocol.errors import ValidatorError
from sssa.sources import SystemClock, SystemRandom
from validator import __version__
from validator.cancellation import run_whole
from validator.daemon.exits import Exit
from validator.daemon.signals import Signals, StoppedAtStartError
from validator.incoming.server import BoundedServer
from validator.settings.model import Settings
from validator.telemetry import Event, configure_logging

_NICE: Final = 10


class WebOffError(ValidatorError):
    """The API is turned off."""


class WebAddressError(ValidatorError):
    """The API cannot listen."""


def run_serve(settings: Settings, signals: Signals) -> int:
    """Answer requests until SIGTERM or SIGINT and return the exit code. No wallet is read.

    Raises:
        WebOffError: the settings have it turned off.
        WebAddressError: the address cannot be had.
        OperatorTokenError: the token cannot be read, or made.
        StoppedAtStartError: a signal came before the start was complete.
        StoreError: the store cannot be read.
    """
    configure_logging(settings.log.level, settings.log.format, rooms=settings.log.rooms)
    if not settings.web.api:
        raise WebOffError("set [web] api = true; docs/api.md says who can read what then")
    os.nice(_NICE)  # a round that needs the processor goes first
    return run_whole(_serve(settings, signals))


async def _serve(settings: Settings, signals: Signals) -> int:
    signals.starting()
    clock, web = SystemClock(), settings.web
    admission, file = Admission(web, operator_token(settings, SystemRandom()), clock), token_file_of(settings)
    try:
        async with Views.opened(settings, clock) as views:
            server = BoundedServer("web", web_app(views, admission), BOUNDS, clock)
            try:
                await server.start(web.host, web.port)
            except OSError as error:
                raise WebAddressError(
                    f"{web.host} port {web.port}: {error.strerror or error}; set [web] host and port"
                ) from None
            try:
                signals.started(0.0)
                addresses = [f"{host}:{port}" for host, port in server.addresses]
                token_file = "web.token" if file is None else str(file)
                structlog.get_logger().info(
                    Event.WEB_STARTED, version=__version__, addresses=addresses, token_file=token_file
                )
                await signals.stop.requested.wait()
            finally:
                await server.close()
    except asyncio.CancelledError:
        if signals.stopped_at_start:
            raise StoppedAtStartError from None
        raise
    structlog.get_logger().info(Event.WEB_STOPPED)
    return Exit.FINE
