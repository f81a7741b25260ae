"""`POST /api/v1/skills`: queues a submitted skill for a later round. It is the only write of `validator serve`."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web
from msgspec import UNSET, Meta, Struct, UnsetType

from publisher.submission import NotTakenError, QueueFullError, submit
from publisher.web.admission import RateLimit
from publisher.web.refusals import RefusedError
from sssa.protocol import typed
from sssa.protocol.limits import MAX_BUNDLE_COMPRESSED
from sssa.protocol.skill_types import SkillType
from sssa.sources import Clock
from validator.incoming.server import bears
from validator.settings.model import Settings
from validator.store import open_store

PATH: Final = "/skills"
_PER_S: Final = 1 / 60
_CHUNK: Final = 64 * 1024
_EVERYBODY: Final = "submitters"


class SkillParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The skill's type; detected from the files if omitted."""

    skill_type: SkillType | UnsetType = UNSET


class SubmittedDocument(Struct, frozen=True):
    """A queued skill. `attestation` is the path of its attestation, which exists after the round that assesses it."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    attestation: str


class Submissions:
    """Endpoint for skills. It needs the submit token, reads one body at a time, and takes 1 a minute, 10 at once."""

    def __init__(self, settings: Settings, clock: Clock, prefix: str) -> None:
        self._settings, self._clock, self._prefix = settings, clock, prefix
        self._limit = RateLimit(_PER_S, clock)
        self._turn = asyncio.Lock()

    async def take(self, request: web.Request) -> web.Response:
        """Queue the bundle in the body; return 202 with the path of its future attestation."""
        token = self._settings.web.submit_token
        if token is None or not bears(request, token):
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "this needs web.submit_token", {"WWW-Authenticate": "Bearer"})
        try:
            wanted = typed.convert(dict(request.query), SkillParameters, strict=False)
        except msgspec.ValidationError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
        if (wait_s := self._limit.wait_s(_EVERYBODY)) > 0:
            after = {"Retry-After": str(int(wait_s) + 1)}
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "too many skills are submitted", after)
        async with self._turn:
            data = await _body(request)
            sha256 = await self._submit(data, None if wanted.skill_type is UNSET else wanted.skill_type)
        document = SubmittedDocument(sha256, f"{self._prefix}/attestations/{sha256}")
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return web.Response(status=HTTPStatus.ACCEPTED, body=msgspec.json.encode(document), headers=headers)

    async def _submit(self, data: bytes, skill_type: SkillType | None) -> str:
        most = self._settings.attestations.submissions
        try:
            async with open_store(self._settings.store.url.reveal()) as store:  # all other endpoints open it read-only
                return await submit(store, data, skill_type, self._clock.now(), most)
        except QueueFullError as error:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, error.detail, {"Retry-After": "600"}) from None
        except NotTakenError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, error.detail) from None


async def _body(request: web.Request) -> bytes:
    data = bytearray()
    while chunk := await request.content.read(_CHUNK):
        data += chunk
        if len(data) > MAX_BUNDLE_COMPRESSED:
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a bundle has {MAX_BUNDLE_COMPRESSED} bytes at most"
            )
    return bytes(data)


def operation(problems: dict[str, Any], document: dict[str, Any], parameters: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI operation of this endpoint."""
    what = "Submit a skill, a gzipped tar: a later round has it."
    return {
        "summary": what,
        "operationId": "submit",
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}},
        "responses": {"202": {"description": what, "content": {"application/json": {"schema": document}}}, **problems},
        "security": [{"submitter": []}],
    }
