"""`GET /healthz`, `/readyz` and `/metrics` of a running validator, served by the daemon."""

from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from sssa.protocol.errors import ValidatorError
from validator.health.report import HealthState
from validator.incoming.server import BoundedServer, Listen, bears, listening_sockets, trusted
from validator.rounds.readiness import ENDPOINT_BOUNDS
from validator.settings.model import HealthSettings
from validator.telemetry.metrics import CONTENT_TYPE, Metrics

_BEAT_S: Final = 1.0
_UNREADY: Final = 503
_HEADERS: Final = {"Cache-Control": "no-store"}


class HealthEndpointError(ValidatorError):
    """The health endpoint cannot listen."""


def health_app(state: HealthState, metrics: Metrics | None = None, token: str | None = None) -> web.Application:
    """Return the endpoint as an aiohttp application.

    `/healthz` is 200 while nothing stops that only a restart ends, else 503; it needs no token. `/readyz` is the
    report: 200 where no check fails but those that others can make fail, else 503. `/metrics` are Prometheus', 404
    without any. Readers of the last two without `token` get 401.
    """

    async def healthz(_: web.Request) -> web.Response:
        stuck = state.stuck()
        body = {"status": "alive"} if stuck is None else {"status": "stuck", "condition": stuck.condition.name}
        return web.json_response(body, status=200 if stuck is None else _UNREADY, headers=_HEADERS)

    async def readyz(request: web.Request) -> web.Response:
        _admit(request, token)
        report = state.report()
        return web.json_response(report.document(), status=200 if report.ready else _UNREADY, headers=_HEADERS)

    async def render(request: web.Request) -> web.Response:
        _admit(request, token)
        if metrics is None:
            raise web.HTTPNotFound
        return web.Response(body=metrics.render(), headers={**_HEADERS, "Content-Type": CONTENT_TYPE})

    app = web.Application(client_max_size=1024)
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", render)
    return app


def _admit(request: web.Request, token: str | None) -> None:
    """Admit readers with the token, and keep their connection while others connect; without a token, admit all."""
    if token is not None and not bears(request, token):
        raise web.HTTPUnauthorized(headers={**_HEADERS, "WWW-Authenticate": "Bearer"})
    trusted(request)


@dataclass(slots=True)
class HealthService:
    """The service of the health endpoint, which also records that the loop runs."""

    settings: HealthSettings
    state: HealthState
    metrics: Metrics | None = None
    listen: Listen = listening_sockets
    _server: BoundedServer | None = field(init=False, default=None)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on; the real port if the settings have 0 (HealthEndpointError)."""
        if self._server is None:
            raise HealthEndpointError("it was not started")
        return self._server.addresses[0]

    async def start(self) -> None:
        """Listen (HealthEndpointError: the address cannot be bound)."""
        server = BoundedServer(
            "health",
            health_app(self.state, self.metrics, self.settings.token),
            ENDPOINT_BOUNDS,
            self.state.clock,
            self.listen,
        )
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
        """Listen until cancelled (HealthEndpointError: the address cannot be bound)."""
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
