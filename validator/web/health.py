"""`GET /healthz` and `GET /metrics` of a running validator."""

from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from validator.incoming.server import BoundedServer, Bounds
from validator.protocol.errors import ValidatorError
from validator.settings import HealthSettings
from validator.telemetry import CONTENT_TYPE, Metrics
from validator.web.state import HealthState

_BEAT_S: Final = 1.0
BOUNDS: Final = Bounds(connections=16, header_s=10.0, request_s=30.0)
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
    _server: BoundedServer | None = field(init=False, default=None)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on; the port is the real one where the settings say 0.

        Raises:
            HealthEndpointError: it does not listen.
        """
        if self._server is None:
            raise HealthEndpointError("it was not started")
        return self._server.addresses[0]

    async def start(self) -> None:
        """Listen.

        Raises:
            HealthEndpointError: the address cannot be had.
        """
        server = BoundedServer("health", health_app(self.state, self.metrics), BOUNDS, self.state.clock)
        try:
            self._server = await server.start(self.settings.host, self.settings.port)
        except OSError as error:
            raise HealthEndpointError(
                f"{self.settings.host} port {self.settings.port}: {error.strerror or error}; set [health] host and port"
            ) from None

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            await self._server.close()
            self._server = None

    async def run(self) -> None:
        """Listen until cancelled.

        Raises:
            HealthEndpointError: the address cannot be had.
        """
        if self._server is None:
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
