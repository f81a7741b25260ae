"""What every local HTTP server shares: a port, btauth/1 on every request, and refusals with a reason (SPEC 13)."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Final

import msgspec
from aiohttp import web

from miner.guard import AuthRefusedError, CallerRefusedError, RequestGuard
from validator.protocol.text import printable
from validator.sources import Clock

HOST: Final = "127.0.0.1"
JSON: Final = "application/json"
_SHUTDOWN_S: Final = 0.5


class LocalServer:
    """Listens on a port of its own and answers signed requests.

    Args:
        hotkey: the receiver that requests must be bound to.
        callers: the hotkeys it answers.
        clock: for the freshness of requests.
        routes: what it serves; a handler begins with `body`.
        max_body: most bytes of a request's body.
        read_s: how long a body may take to arrive.
    """

    def __init__(  # noqa: PLR0913 - whom it answers, what, and how much it takes
        self,
        hotkey: str,
        callers: Container[str],
        clock: Clock,
        routes: Iterable[web.RouteDef],
        *,
        max_body: int,
        read_s: float,
    ) -> None:
        self._guard = RequestGuard(hotkey, callers, clock)
        self._read_s = read_s
        self._site: web.TCPSite | None = None
        app = web.Application(client_max_size=max_body, middlewares=[_say_why])
        app.add_routes(routes)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S, auto_decompress=False)

    async def start(self, host: str = HOST, port: int = 0) -> tuple[str, int]:
        """Listen, on a free loopback port unless told otherwise, and return where (OSError: it cannot be had)."""
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, host, port)
        await self._site.start()
        host, port = self._runner.addresses[0][:2]
        return host, port

    async def stop_listening(self) -> None:
        """Take no new connections; those that are open, and so their answers, outlive the socket."""
        if self._site is not None:
            await self._site.stop()
            self._site = None

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._runner.cleanup()

    async def body(self, request: web.Request) -> bytes:
        """Return the request's body once it is known to be signed by one of the callers.

        Raises:
            CallerRefusedError, AuthRefusedError, TimeoutError: each becomes a refusal with its reason.
        """
        self._guard.admit(request.headers)
        async with asyncio.timeout(self._read_s):
            body = await request.read()
        await asyncio.to_thread(self._guard.verify, request.headers, body, request.method, request.raw_path)
        return body


def answer(document: object) -> web.Response:
    """Return a document as a response."""
    return web.Response(body=msgspec.json.encode(document), content_type=JSON)


def refusal(status: int, reason: str) -> web.Response:
    """Return a status with its reason in JSON."""
    return web.Response(body=msgspec.json.encode({"error": printable(reason)}), status=status, content_type=JSON)


@web.middleware
async def _say_why(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except AuthRefusedError as error:
        return refusal(401, str(error))
    except CallerRefusedError as error:
        return refusal(403, str(error))
    except TimeoutError:
        return refusal(408, "The request's body did not arrive.")
