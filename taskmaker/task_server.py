"""The task server, `validator tasks serve`: an aiohttp application with signed task lists and bundles (SPEC 13)."""

import asyncio
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from sssa.protocol import limits
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Signature
from sssa.protocol.task import Task
from sssa.protocol.times import format_time
from sssa.sources import Clock
from validator.incoming.auth import AuthRefusedError, RequestVerifier
from validator.incoming.server import Bounds, trusted
from validator.tasks.source import Rotation, TaskShelf, TaskSourceError
from validator.tasks.wire import BUNDLES_PATH, MAX_TARGET, TASKS_PATH, QueryError, TasksAnswer, is_sha256, parse_query

_NONCE: Final = web.RequestKey("nonce", int)
_UNSIGNED: Final = Signature("", "sr25519", "0x" + "0" * 128)
_ENVELOPE: Final = 4_096  # bytes of an answer next to its tasks
# A validator waits half a minute for a whole answer (`HttpSource`).
BOUNDS: Final = Bounds(connections=128, header_s=10.0, request_s=60.0)


def task_server(shelf: TaskShelf, signer: Signer, clock: Clock, validators: frozenset[str]) -> web.Application:
    """Return the task server as an aiohttp application.

    Every request must carry btauth/1 headers bound to the server's hotkey and have no body. Errors are unsigned JSON,
    `{"error": text}`: 400 for a query that is none, 401 for wrong btauth headers, 403 for a hotkey that is not served,
    404, 503 when the tasks cannot be read.
    """
    service = _Service(shelf, signer, clock)
    app = web.Application(
        middlewares=[_authentication(RequestVerifier(signer.hotkey, clock), validators)],
        handler_args={"max_line_size": MAX_TARGET, "auto_decompress": False},
    )
    app.router.add_get(TASKS_PATH, service.tasks, allow_head=False)
    app.router.add_get(BUNDLES_PATH + "{sha256}", service.bundle, allow_head=False)
    return app


class _Service:
    """The two routes."""

    def __init__(self, shelf: TaskShelf, signer: Signer, clock: Clock) -> None:
        self._shelf = shelf
        self._signer = signer
        self._clock = clock
        self._rotation = Rotation()

    async def tasks(self, request: web.Request) -> web.Response:
        """Answer `GET /v1/tasks`."""
        try:
            query = parse_query(request.raw_path.partition("?")[2])
            order = self._rotation.without(query.exclude)
            shown_tasks = await self._shelf.listed(query.skill_type, query.count, order)
        except QueryError as error:
            return _refusal(400, str(error))
        except TaskSourceError:
            return _refusal(503, "the tasks cannot be read")
        for task in shown_tasks:
            self._rotation.offered(query.skill_type, task.bundle_sha256)
        body = await asyncio.to_thread(self._signed, shown_tasks, request[_NONCE])
        return web.Response(body=body, content_type="application/json")

    async def bundle(self, request: web.Request) -> web.Response:
        """Answer `GET /v1/bundles/{sha256}`; the hash in the signed task list vouches for the bytes."""
        sha256 = request.match_info["sha256"]
        bundle = await self._shelf.bundle(sha256) if is_sha256(sha256) else None
        if bundle is None:
            return _refusal(404, "no such bundle")
        return web.Response(body=bundle, content_type="application/gzip")

    def _signed(self, shown_tasks: list[Task], nonce: int) -> bytes:
        tasks, room = [], limits.MAX_TASKS_BODY - _ENVELOPE
        for task in shown_tasks:
            room -= len(msgspec.json.encode(task)) + 1
            if room < 0:
                break
            tasks.append(task)
        answer = TasksAnswer(tuple(tasks), format_time(self._clock.now()), str(nonce), _UNSIGNED)
        return msgspec.json.encode(self._signer.sign_document(answer))


def _authentication(verifier: RequestVerifier, validators: frozenset[str]) -> Middleware:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.body_exists:
            return _refusal(400, "a request must have no body")
        try:
            caller = verifier.verify(request.headers, request.method, request.raw_path)
        except AuthRefusedError as error:
            return _refusal(401, str(error))
        if caller.hotkey not in validators:
            return _refusal(403, "this hotkey is not served")
        trusted(request)
        request[_NONCE] = caller.nonce_ns
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.reason)

    return authenticate


def _refusal(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
