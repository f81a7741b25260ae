"""The reference miner's HTTP server: verifies signatures, opens dispatches, has them answered by a behaviour.

`LocalServer` also serves the local network's planner, image registry and step services.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog
from aiohttp import web

from miner.assessment import Assessment, Kit, Response
from miner.behaviours import Behaviour
from miner.requests import MAX_DISPATCH, DispatchRefusedError, open_dispatch
from miner.tracing import TracingError
from sssa.protocol.capabilities import DEFAULT_MAX_CONCURRENT, Capabilities
from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from sssa.sources import Clock
from validator.incoming.auth import AuthRefusedError, RequestVerifier

HOTKEY_HEADER: Final = "X-Bittensor-Hotkey"
SOFTWARE: Final = "sssa-local-miner/1"
VALIDITY: Final = timedelta(hours=12)


class CallerRefusedError(ValidatorError):
    """The caller is not a validator that this miner answers to."""


HOST: Final = "127.0.0.1"
JSON: Final = "application/json"
_READ_S: Final = 30.0  # for a body to arrive
_SHUTDOWN_S: Final = 0.5


class LocalServer:
    """Listens on its own port and answers signed requests.

    Args:
        routes: what it serves; a handler begins with `body`.
    """

    def __init__(
        self, hotkey: str, callers: Container[str], clock: Clock, routes: Iterable[web.RouteDef], *, max_body: int
    ) -> None:
        self._verifier = RequestVerifier(hotkey, clock)
        self._callers = callers
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
        if request.headers.get(HOTKEY_HEADER, "") not in self._callers:  # before the body is read
            raise CallerRefusedError
        async with asyncio.timeout(_READ_S):
            body = await request.read()
        headers, method, target = request.headers, request.method, request.raw_path
        caller = await asyncio.to_thread(self._verifier.verify, headers, method, target, body)
        if caller.hotkey not in self._callers:
            raise CallerRefusedError
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


def declare(
    signer: Signer,
    now: datetime,
    max_concurrent: int,
    skill_types: tuple[SkillType, ...] = ASSESSED_TYPES,
) -> Capabilities:
    """Return a signed declaration of these types, valid for 12 hours from `now` (UTC)."""
    document = Capabilities(
        document_version="1.0",
        hotkey=signer.hotkey,
        skill_types=skill_types,
        software=SOFTWARE,
        issued_at=format_time(now),
        expires_at=format_time(now + VALIDITY),
        signature=Signature(signer.hotkey, "sr25519", ""),
        max_concurrent=max_concurrent,
    )
    return signer.sign_document(document)


_log = structlog.get_logger()


class LocalMiner:
    """Serves one miner on its own port.

    Args:
        dies_after: stop listening once it has declared itself to all of these hotkeys, so that dispatches find nobody;
            none: it lives.
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
        dies_after: Collection[str] = (),
    ) -> None:
        self.hotkey = kit.signer.hotkey
        self._kit = kit
        self._behaviour = behaviour
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._skill_types = skill_types
        self._dies_after = set(dies_after)
        self._mortal = bool(dies_after)
        self._server = LocalServer(
            self.hotkey,
            validators,
            clock,
            [web.get("/v1/capabilities", self._capabilities), web.post("/v1/assessments", self._assessments)],
            max_body=MAX_DISPATCH,
        )

    async def start(self, host: str = HOST, port: int = 0) -> Axon:
        """Listen, on a free loopback port unless told otherwise, and return where (OSError: it cannot be had)."""
        return Axon(*await self._server.start(host, port))

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._server.close()

    async def _capabilities(self, request: web.Request) -> web.Response:
        await self._server.body(request)
        self._dies_after.discard(request.headers.get(HOTKEY_HEADER, ""))
        if self._mortal and not self._dies_after:
            await self._server.stop_listening()
        return answer(declare(self._kit.signer, self._clock.now(), self._max_concurrent, self._skill_types))

    async def _assessments(self, request: web.Request) -> web.StreamResponse:
        body = await self._server.body(request)
        received = self._clock.monotonic()
        try:
            opened = await asyncio.to_thread(open_dispatch, body)
            response = await self._behaviour(Assessment(*opened, self._kit, self._clock, received))
            return await _send(request, response)
        except DispatchRefusedError as error:
            return refusal(400, str(error))
        except TracingError as error:
            _log.warning("local_run_failed", detail=str(error))
            return refusal(500, "The bundle could not be run.")


async def _send(request: web.Request, response: Response) -> web.StreamResponse:
    if isinstance(response, bytes):
        return web.Response(body=response, content_type=JSON)
    stream = web.StreamResponse(headers={"Content-Type": JSON})
    try:
        await stream.prepare(request)
        async for chunk in response:
            await stream.write(chunk)
        await stream.write_eof()
    except ConnectionError:
        stream.force_close()  # the validator stopped reading at its limit
    return stream
