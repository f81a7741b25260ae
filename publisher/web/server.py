"""The application of `validator serve`: requests are admitted, answered from the views, and bounded."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from sqlalchemy.exc import DBAPIError

from publisher.web.admission import ANYBODY, Admission, Viewer
from publisher.web.api import PREFIX, ROUTES, Query, Route
from publisher.web.openapi import openapi
from publisher.web.refusals import RefusedError, problem, refusal
from publisher.web.screens import SCREENS, STYLE, Screen, SignIn, html, page, route_of
from publisher.web.submissions import PATH, Submissions
from publisher.web.views import Views
from sssa.protocol import typed
from sssa.protocol.errors import ValidatorError
from validator.incoming.server import Bounds, trusted

BOUNDS: Final = Bounds(connections=512, header_s=60.0, request_s=30.0)
VIEWER: Final = web.RequestKey("viewer", Viewer)
HOST: Final = web.RequestKey("host", str)
_MAX_BODY: Final = 4_096
_WAYS_IN: Final = frozenset(
    {
        *(("POST", "/sign-in"), ("GET", "/sign-in/nonce"), ("GET", "/enter"), ("GET", "/style.css")),
        ("POST", PREFIX + PATH),  # it asks for web.submit_token
    }
)
_ATTESTATIONS: Final = frozenset(
    (method, PREFIX + path)
    for path in ("/openapi.json", *(route.path for route in ROUTES if route.access == "public"))
    for method in ("GET", "HEAD")
)
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Server": "validator",
    "X-Content-Type-Options": "nosniff",
}


def web_app(views: Views, admission: Admission) -> web.Application:
    """Return the API and the pages as an application. Only ways to sign in and the parts in `web.public` are public."""
    public = _WAYS_IN | (_ATTESTATIONS if "attestations" in views.settings.web.public else frozenset())

    @web.middleware
    async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await _admitted(request, handler, admission, public)
        except (web.HTTPException, ValidatorError, DBAPIError, OSError) as error:
            viewer = request.get(VIEWER, ANYBODY)
            refused = refusal(error, is_operator=viewer.is_operator)
            is_api = request.path.startswith(PREFIX)
            response = problem(refused) if is_api else _error_page(refused, viewer, request.get(HOST, ""))
        response.headers.update(_HEADERS)
        return response

    app = web.Application(client_max_size=_MAX_BODY, middlewares=[admit])
    for route in ROUTES:
        app.router.add_get(PREFIX + route.path, _answering(route, views))
    for screen in SCREENS:
        app.router.add_get(screen.path, _showing(screen, views))
    for path, body, kind in (
        (f"{PREFIX}/openapi.json", msgspec.json.encode(openapi(ROUTES)), "application/json"),
        ("/style.css", STYLE, "text/css; charset=utf-8"),
    ):
        app.router.add_get(path, _giving(body, kind))
    app.router.add_post(PREFIX + PATH, Submissions(views.settings, views.clock, PREFIX).take)
    app.router.add_routes(SignIn(admission, VIEWER, HOST).routes())
    return app


async def _admitted(
    request: web.Request, handler: Handler, admission: Admission, public: frozenset[tuple[str, str]]
) -> web.StreamResponse:
    host = admission.host_of(request)
    if host is None:
        raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name: set web.name")
    request[HOST], request[VIEWER] = host, (viewer := admission.viewer_of(request))
    if (wait_s := admission.wait_s(request, viewer)) > 0:
        after = {"Retry-After": str(int(wait_s) + 1)}
        raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "too many requests from this address", after)
    resource = request.match_info.route.resource
    if viewer == ANYBODY and (request.method, resource.canonical if resource else "") not in public:
        raise _not_for(viewer)
    if viewer.is_operator:
        trusted(request)
    return await handler(request)


def _giving(body: bytes, kind: str) -> Handler:
    async def give(request: web.Request) -> web.Response:
        return reply(request, body, kind)

    return give


def _answering(route: Route, views: Views) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        sent = [*request.match_info.items(), *request.query.items()]
        document = await answer_of(route, views, request[VIEWER], sent)
        return reply(request, msgspec.json.encode(document, enc_hook=_plain), "application/json", lasts=route.lasts)

    return answer


def _showing(screen: Screen, views: Views) -> Handler:
    async def show(request: web.Request) -> web.Response:
        viewer = request[VIEWER]
        if viewer.hotkey is not None and screen.path == "/":
            raise web.HTTPSeeOther(f"/miners/{viewer.hotkey}")

        async def ask(path: str, **parameters: Any) -> Any:
            return await answer_of(route_of(path), views, viewer, parameters.items())

        values = await screen.values(ask, {**request.query, **request.match_info})
        return reply(request, page(screen.template, viewer, **values), "text/html; charset=utf-8")

    return show


async def answer_of(route: Route, views: Views, viewer: Viewer, sent: Iterable[tuple[str, Any]]) -> Any:
    """Return the route's document for a reader who sent these parameters.

    Raises:
        RefusedError: a parameter has another form, or this reader may not see it.
    """
    is_public = route.access == "public" and "attestations" in views.settings.web.public
    if route.access != "miner" and not is_public and not viewer.is_operator:
        raise _not_for(viewer)
    named = list(sent)
    if len(dict(named)) < len(named):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "a parameter is given twice")
    try:
        parameters = typed.convert(dict(named), route.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
    if route.access == "miner" and not viewer.may_see(parameters.hotkey):  # type: ignore[attr-defined]
        raise _not_for(viewer)
    return await route.answer(Query(views, viewer, parameters))


def _not_for(viewer: Viewer) -> RefusedError:
    if viewer.hotkey is not None:
        return RefusedError(HTTPStatus.FORBIDDEN, "this is another's: a miner sees its own pages")
    what = "this needs the operator's token: `validator serve --show-token`"
    return RefusedError(HTTPStatus.UNAUTHORIZED, what, {"WWW-Authenticate": "Bearer"})


def reply(request: web.Request, body: bytes, content_type: str, *, lasts: bool = False) -> web.Response:
    """Return the body with its ETag; 304 without it where the reader has it. `lasts`: it will never change."""
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, max-age=31536000, immutable" if lasts else "private, no-cache"}
    has = request.headers.get("If-None-Match", "")
    if etag in (one.strip().removeprefix("W/") for one in has.split(",", 16)) or has.strip() == "*":
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=body, headers={**headers, "Content-Type": content_type})


def _error_page(error: RefusedError, viewer: Viewer, host: str) -> web.Response:
    """Return a refusal for people: strangers are asked to sign in."""
    if error.status == HTTPStatus.UNAUTHORIZED:
        return html(page("sign-in.html", viewer, host=host, wrong=False), error.status, error.headers)
    return html(page("refused.html", viewer, status=error.status, message=error.detail), error.status, error.headers)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(type(value).__name__)
