"""`GET /healthz` and `GET /metrics` of a running validator."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from aiohttp import web

from validator.protocol.errors import ValidatorError
from validator.settings import HealthSettings
from validator.telemetry import CONTENT_TYPE, Metrics
from validator.web.state import HealthState

_BEAT_S: Final = 1.0
MOST_CONNECTIONS: Final = 16
_BACKLOG: Final = 8
RESERVED: Final = MOST_CONNECTIONS + 2 * _BACKLOG  # descriptors that the port takes at most
_UNHEALTHY: Final = 503
_HEADERS: Final = {"Cache-Control": "no-store"}


class HealthEndpointError(ValidatorError):
    """The health endpoint cannot listen."""


def health_app(state: HealthState, metrics: Metrics | None = None) -> web.Application:
    """Return the endpoint as an aiohttp application: 200 or 503 with the report, and metrics where there are any."""

    async def healthz(_: web.Request) -> web.Response:
        report = state.report()
        return web.json_response(report.document(), status=200 if report.healthy else _UNHEALTHY, headers=_HEADERS)

    async def render(_: web.Request) -> web.Response:
        if metrics is None:
            raise web.HTTPNotFound
        return web.Response(body=metrics.render(), headers={**_HEADERS, "Content-Type": CONTENT_TYPE})

    app = web.Application(client_max_size=1024)
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/metrics", render)
    return app


@dataclass(slots=True)
class HealthService:
    """Listens, and notes that the loop runs; a service of the daemon.

    Args:
        settings: where to listen.
        state: what is told.
        metrics: what /metrics shows; None for none.
    """

    settings: HealthSettings
    state: HealthState
    metrics: Metrics | None = None
    _runner: web.AppRunner | None = field(init=False, default=None)
    _listening: asyncio.Server | None = field(init=False, default=None)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on; the port is the real one where the settings say 0.

        Raises:
            HealthEndpointError: it does not listen.
        """
        if self._listening is None:
            raise HealthEndpointError("it was not started")
        host, port = self._listening.sockets[0].getsockname()[:2]
        return str(host), int(port)

    async def start(self) -> None:
        """Listen.

        Raises:
            HealthEndpointError: the address cannot be had.
        """
        runner = web.AppRunner(health_app(self.state, self.metrics), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                partial(_accept, runner), self.settings.host, self.settings.port, backlog=_BACKLOG
            )
        except OSError as error:
            await runner.cleanup()
            raise HealthEndpointError(
                f"{self.settings.host} port {self.settings.port}: {error.strerror or error}; set [health] host and port"
            ) from None
        self._runner = runner

    async def close(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def run(self) -> None:
        """Listen until cancelled.

        Raises:
            HealthEndpointError: the address cannot be had.
        """
        if self._runner is None:
            await self.start()
        try:
            await self._beat()
        finally:
            await self.close()

    async def _beat(self) -> None:
        while True:
            self.state.look()  # before the beat: it sees how long the loop stood still
            self.state.beat()
            await self.state.clock.sleep(_BEAT_S)


def _accept(runner: web.AppRunner) -> asyncio.BaseProtocol:
    """Return what serves one more connection; the oldest makes room for it, so that idle ones keep nobody out."""
    server = runner.server
    if server is None:
        raise HealthEndpointError("it was not started")
    for connection in server.connections[: 1 - MOST_CONNECTIONS]:
        connection.force_close()
        if connection.transport is not None:
            connection.transport.abort()  # what waits to be written to a peer that does not read is lost
    return server()
