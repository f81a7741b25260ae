"""A local miner's HTTP server: `GET /v1/capabilities` and `POST /v1/assessments` (SPEC 13)."""

import asyncio
from collections.abc import Awaitable, Callable, Container
from typing import Final

import msgspec
import structlog
from aiohttp import web

from validator.devnet.miner.assessment import Assessment, Response
from validator.devnet.miner.behaviours import Behaviour
from validator.devnet.miner.declaration import declare
from validator.devnet.miner.guard import AuthRefusedError, CallerRefusedError, RequestGuard
from validator.devnet.miner.kit import Kit
from validator.devnet.miner.requests import MAX_DISPATCH, DispatchRefusedError, open_dispatch
from validator.devnet.tracing.records import TracingError
from validator.protocol.round import Axon
from validator.protocol.scoring_version import ASSESSED_TYPES, DEFAULT_MAX_CONCURRENT, SkillType
from validator.protocol.text import printable
from validator.sources import Clock

HOST: Final = "127.0.0.1"
_READ_S: Final = 30.0
_SHUTDOWN_S: Final = 0.5
_JSON: Final = "application/json"

_log = structlog.get_logger()


class LocalMiner:
    """Serves one miner on a port of its own.

    Args:
        kit: its key and tools.
        behaviour: what it makes of dispatches.
        validators: the hotkeys it answers.
        clock: for its declarations, and for behaviours that wait.
        max_concurrent: open dispatches per type that it declares.
        skill_types: what it declares.
        mortal: stop listening once it has declared itself, so that dispatches find nobody.
    """

    def __init__(  # noqa: PLR0913 - each of them is one thing a miner is made of
        self,
        kit: Kit,
        behaviour: Behaviour,
        validators: Container[str],
        clock: Clock,
        *,
        max_concurrent: int = DEFAULT_MAX_CONCURRENT,
        skill_types: tuple[SkillType, ...] = ASSESSED_TYPES,
        mortal: bool = False,
    ) -> None:
        self.hotkey = kit.signer.hotkey
        self._kit = kit
        self._behaviour = behaviour
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._skill_types = skill_types
        self._mortal = mortal
        self._site: web.TCPSite | None = None
        self._guard = RequestGuard(self.hotkey, validators, clock)
        app = web.Application(client_max_size=MAX_DISPATCH, middlewares=[say_why])
        app.add_routes(
            [web.get("/v1/capabilities", self._capabilities), web.post("/v1/assessments", self._assessments)]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S, auto_decompress=False)

    async def start(self, host: str = HOST, port: int = 0) -> Axon:
        """Listen, on a free loopback port unless told otherwise, and return where (OSError: it cannot be had)."""
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, host, port)
        await self._site.start()
        host, port = self._runner.addresses[0][:2]
        return Axon(host, port)

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._runner.cleanup()

    async def _capabilities(self, request: web.Request) -> web.Response:
        await self._authenticated_body(request)
        if self._mortal and self._site is not None:
            await self._site.stop()  # the open connection, and so this answer, outlives the socket
            self._site = None
        document = declare(self._kit.signer, self._clock.now(), self._max_concurrent, self._skill_types)
        return web.Response(body=msgspec.json.encode(document), content_type=_JSON)

    async def _assessments(self, request: web.Request) -> web.StreamResponse:
        body = await self._authenticated_body(request)
        received = self._clock.monotonic()
        opened = await asyncio.to_thread(open_dispatch, body)
        response = await self._behaviour.respond(Assessment.of(opened, self._kit, self._clock, received))
        return await _send(request, response)

    async def _authenticated_body(self, request: web.Request) -> bytes:
        self._guard.admit(request.headers)
        async with asyncio.timeout(_READ_S):
            body = await request.read()
        await asyncio.to_thread(self._guard.verify, request.headers, body, request.method, request.raw_path)
        return body


async def _send(request: web.Request, response: Response) -> web.StreamResponse:
    if isinstance(response, bytes):
        return web.Response(body=response, content_type=_JSON)
    stream = web.StreamResponse(headers={"Content-Type": _JSON})
    try:
        await stream.prepare(request)
        async for chunk in response:
            await stream.write(chunk)
        await stream.write_eof()
    except ConnectionError:
        stream.force_close()  # the validator stopped reading at its limit
    return stream


@web.middleware
async def say_why(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn refusals into statuses with a reason in JSON."""
    try:
        return await handler(request)
    except AuthRefusedError as error:
        return _refusal(401, str(error))
    except CallerRefusedError as error:
        return _refusal(403, str(error))
    except DispatchRefusedError as error:
        return _refusal(400, str(error))
    except TimeoutError:
        return _refusal(408, "The request's body did not arrive.")
    except TracingError as error:
        _log.warning("local_run_failed", detail=str(error))
        return _refusal(500, "The bundle could not be run.")


def _refusal(status: int, reason: str) -> web.Response:
    return web.Response(body=msgspec.json.encode({"error": printable(reason)}), status=status, content_type=_JSON)
