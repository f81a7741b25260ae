"""HTTP servers of miners and step services: a port, btauth/1 on every request, refusals with a reason (SPEC 13)."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from typing import Final

import msgspec
from aiohttp import web

from validator.incoming.auth import AuthRefusedError, RequestVerifier
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.sources import Clock

__all__ = ["AuthRefusedError", "CallerRefusedError", "RequestGuard"]

HOTKEY_HEADER: Final = "X-Bittensor-Hotkey"


class CallerRefusedError(ValidatorError):
    """The caller is not a validator that this miner answers to."""


class RequestGuard:
    """Checks requests to one hotkey from callers that it answers.

    Args:
        hotkey: the receiver that requests must be bound to.
        callers: the hotkeys that are answered.
        clock: for freshness (10 s back, 2 s ahead).
    """

    def __init__(self, hotkey: str, callers: Container[str], clock: Clock) -> None:
        self._verifier = RequestVerifier(hotkey, clock)
        self._callers = callers

    def admit(self, headers: Mapping[str, str]) -> None:
        """Refuse, before the body is read, who does not even claim to be one of the callers.

        Raises:
            CallerRefusedError: another hotkey, or none.
        """
        if headers.get(HOTKEY_HEADER, "") not in self._callers:
            raise CallerRefusedError

    def verify(self, headers: Mapping[str, str], body: bytes, method: str, target: str) -> str:
        """Return the caller's hotkey that signed this request.

        Args:
            headers: as received.
            body: the raw bytes.
            method: HTTP method.
            target: path and query as sent.

        Raises:
            AuthRefusedError: headers missing or malformed, another receiver, stale, replayed, or a wrong signature.
            CallerRefusedError: signed by somebody else than the callers.
        """
        caller = self._verifier.verify(headers, method, target, body)
        if caller.hotkey not in self._callers:
            raise CallerRefusedError
        return caller.hotkey


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
