"""A local miner's HTTP server: `GET /v1/capabilities` and `POST /v1/assessments` (SPEC 13)."""

import asyncio
from collections.abc import Collection, Container
from typing import Final

import structlog
from aiohttp import web

from miner.assessment import Assessment, Kit, Response
from miner.behaviours import Behaviour
from miner.declaration import declare
from miner.requests import MAX_DISPATCH, DispatchRefusedError, open_dispatch
from miner.serving import HOST, HOTKEY_HEADER, JSON, LocalServer, answer, refusal
from miner.tracing import TracingError
from validator.protocol.capabilities import DEFAULT_MAX_CONCURRENT
from validator.protocol.round import Axon
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.sources import Clock

_READ_S: Final = 30.0

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
            read_s=_READ_S,
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
            response = await self._behaviour.respond(Assessment.of(opened, self._kit, self._clock, received))
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
