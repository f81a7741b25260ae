"""Error documents of the API: not found, not allowed, too often, unavailable."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web
from msgspec import Struct

from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from validator.audit.explain.round_explanation import AmbiguousMinerError, NotAMinerError, NothingToExplainError

_MESSAGE: Final = 500


class Problem(Struct, frozen=True):
    """The document of a refused request: `status` is the HTTP status."""

    status: int
    message: str


class NotFoundError(ValidatorError):
    """There is no such thing."""


class GoneError(ValidatorError):
    """The attestation was revoked."""

    def __init__(self, line: bytes) -> None:
        super().__init__()
        self.line = line


class RefusedError(ValidatorError):
    """The request is refused."""

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.headers, self.body = status, headers or {}, body


def refusal(error: Exception, *, is_operator: bool) -> RefusedError:
    """Return the refusal of a request whose answer failed with this; only the operator gets details of a fault."""
    match error:
        case RefusedError():
            return error
        case web.HTTPException():
            kept = {name: error.headers[name] for name in ("Allow", "Location") if name in error.headers}
            return RefusedError(error.status, error.reason, kept)
        case GoneError():
            return RefusedError(HTTPStatus.GONE, error.detail, body=error.line)
        case NotFoundError() | NothingToExplainError() | NotAMinerError() | AmbiguousMinerError():
            return RefusedError(HTTPStatus.NOT_FOUND, error.detail)
        case _:
            message = str(error) if is_operator else "not available now"
            return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, message, {"Retry-After": "2"})


def problem(error: RefusedError) -> web.Response:
    """Return the document of a refusal."""
    body = error.body or msgspec.json.encode(Problem(error.status, printable(error.detail, _MESSAGE)))
    headers = {"Cache-Control": "no-store", "Content-Type": "application/json", **error.headers}
    return web.Response(status=error.status, body=body, headers=headers)
