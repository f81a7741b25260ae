"""The pages: each screen shows documents of the API, with the same rights, and holds no script."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final, NamedTuple

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from publisher.web.admission import NONCE_S, Admission, Viewer
from publisher.web.api import ROUTES, Route
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import is_hotkey
from sssa.protocol.text import printable, short
from sssa.protocol.times import format_time
from validator.audit.documents import DispatchDocument, RoundDocument, TaskDocument
from validator.health.status import OnChain
from validator.weights.preview import PlanView

Ask = Callable[..., Awaitable[Any]]
"""Returns the document of a path of the API for the reader; takes its parameters."""
_TEXT: Final = 2_000
_NO_STORE: Final = {"Cache-Control": "no-store"}
_BY_PATH: Final[Mapping[str, Route]] = {route.path: route for route in ROUTES}
_MARKS: Final = {"good": "✓", "early": "E", "void": "∅", "nothing": "–"}


def _shown(value: Any) -> Any:
    """Return a value as a page shows it; text of strangers without control characters and marks of direction."""
    if value is None:
        return "–"
    if isinstance(value, tuple | list):
        value = ", ".join(map(str, value)) or "–"
    if isinstance(value, str):
        return value if isinstance(value, Markup) else printable(value, _TEXT)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    return format_time(value) if isinstance(value, datetime) else value


PAGES: Final = Environment(
    loader=PackageLoader("publisher.web"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
PAGES.filters["short"] = short
STYLE: Final = files("publisher.web").joinpath("style.css").read_bytes()


class Screen(NamedTuple):
    """A page: its path, its template, and the function that makes the template's values."""

    path: str
    template: str
    values: Callable[[Ask, Mapping[str, str]], Awaitable[Mapping[str, Any]]]


async def _now(ask: Ask, _: Mapping[str, str]) -> Mapping[str, Any]:
    status = await ask("/status")
    in_hand = status.store.in_hand if status.store is not None else None
    open_round = None if in_hand is None else await ask("/rounds/{round_id}", round_id=in_hand.round_id)
    states = [] if open_round is None else [one.state for task in open_round.tasks for one in task.dispatches]
    report = status.running.report or {}
    return {
        "status": status,
        "conditions": report.get("conditions", ()),
        "epoch": _passed(status.chain),
        "states": {state: states.count(state) for state in dict.fromkeys(states)},
    }


def _passed(chain: OnChain | None) -> float | None:
    """Return the part of the epoch that is over; None where the chain does not tell."""
    if chain is None or chain.head.epoch_start is None or chain.head.epoch_end is None:
        return None
    start, end = chain.head.epoch_start, chain.head.epoch_end
    return min(1.0, max(0.0, (chain.head.number - start + 1) / max(1, end - start + 1)))


async def _rounds(ask: Ask, query: Mapping[str, str]) -> Mapping[str, Any]:
    return {"page": await ask("/rounds", **_only(query, "before"))}


async def _round(ask: Ask, query: Mapping[str, str]) -> Mapping[str, Any]:
    document: RoundDocument = await ask("/rounds/{round_id}", **_only(query, "round_id"))
    uids = {one.hotkey: one.uid for task in document.tasks for one in task.dispatches}
    columns = sorted(uids.items(), key=lambda each: (each[1] is None, each[1], each[0]))
    chosen = next((task for task in document.tasks if task.task_id == query.get("task")), None)
    answers = () if chosen is None else chosen.dispatches
    return {
        "document": document,
        "columns": columns,
        "rows": [(task, _cells(task, columns)) for task in document.tasks],
        "task": chosen,
        "chosen": next((one for one in answers if one.hotkey == query.get("member")), None),
    }


class Cell(NamedTuple):
    """A member of a task's group: its dispatch, the class of its color, and the sign in the grid."""

    one: DispatchDocument
    kind: str
    mark: str


def _cells(task: TaskDocument, columns: list[tuple[str, int | None]]) -> list[Cell | None]:
    """Return each member's cell, None for a miner that is no member."""
    members = {one.hotkey: _cell(one) for one in task.dispatches}
    return [members.get(hotkey) for hotkey, _ in columns]


def _cell(one: DispatchDocument) -> Cell:
    kind = _class_of(one)
    waits = "·" if one.state == "planned" else "…"
    return Cell(one, kind, str(one.gate) if kind == "failed" else _MARKS.get(kind, waits))


def _class_of(one: DispatchDocument) -> str:
    if one.gate:
        return "failed"
    if one.state in ("planned", "sent"):
        return "waits"
    if one.state == "void":
        return "void"
    return "early" if one.reason == "accepted_early" else "good" if one.emission is not None else "nothing"


async def _miners(ask: Ask, _: Mapping[str, str]) -> Mapping[str, Any]:
    return {"miners": (await ask("/miners")).miners}


async def _miner(ask: Ask, query: Mapping[str, str]) -> Mapping[str, Any]:
    document = await ask("/miners/{hotkey}", **_only(query, "hotkey", "last"))
    of_type: dict[str, list[float]] = {}
    for one in document.reputation:
        of_type.setdefault(one.skill_type, []).append(one.after)
    return {"miner": document.miner, "reputation": of_type}


async def _why(ask: Ask, query: Mapping[str, str]) -> Mapping[str, Any]:
    document = await ask("/rounds/{round_id}/miners/{hotkey}", **_only(query, "round_id", "hotkey"))
    return {"document": document, "falls": {task["task_id"]: waterfall(task) for task in document.tasks}}


class Fall(NamedTuple):
    """One step of a score with the value before and after it."""

    name: str
    step: str
    before: float
    after: float
    why: str


def waterfall(task: Mapping[str, Any]) -> list[Fall]:
    """Return the steps from 0 to the window entry: a product of factors, or a sum of parts."""
    falls: list[Fall] = []
    value = 0.0
    if emission := task.get("emission"):
        for number, factor in enumerate(emission["factors"]):
            after = value * factor["value"] if number else factor["value"]
            falls.append(Fall(factor["name"], f"× {factor['value']:.4g}", value, after, factor["why"]))
            value = after
        if emission["early"]:
            falls.append(Fall("early", "× 0", value, 0.0, "it came before t_min"))
    for part in (task.get("worth") or {}).get("parts", ()):
        after = value + part["weight"] * part["value"]
        falls.append(Fall(part["name"], f"+ {part['weight']:.2f} × {part['value']:.4f}", value, after, part["why"]))
        value = after
    return falls


async def _weights(ask: Ask, _: Mapping[str, str]) -> Mapping[str, Any]:
    plan: tuple[PlanView, ...] = ()
    problem = ""
    try:
        plan = (await ask("/weights/plan")).mechanisms
    except (ValidatorError, OSError) as error:  # the history can be shown while the chain cannot be asked
        problem = str(error)
    unpaid = tuple(one for view in plan for one in view.unpaid)
    history = (await ask("/weights/history")).submissions
    return {"plan": plan, "problem": problem, "unpaid": unpaid, "history": history}


SCREENS: Final = (
    Screen("/", "now.html", _now),
    Screen("/rounds", "rounds.html", _rounds),
    Screen("/rounds/{round_id}", "round.html", _round),
    Screen("/rounds/{round_id}/miners/{hotkey}", "why.html", _why),
    Screen("/miners", "miners.html", _miners),
    Screen("/miners/{hotkey}", "miner.html", _miner),
    Screen("/weights", "weights.html", _weights),
)


def _only(query: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: query[name] for name in names if name in query}


def route_of(path: str) -> Route:
    """Return the API's route with this path."""
    return _BY_PATH[path]


def page(template: str, viewer: Viewer, **values: Any) -> bytes:
    """Return a page as bytes."""
    return PAGES.get_template(template).render(viewer=viewer, **values).encode(errors="replace")


def html(body: bytes, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a page that must not be cached."""
    kind = {"Content-Type": "text/html; charset=utf-8"}
    return web.Response(body=body, status=status, headers={**_NO_STORE, **kind, **(headers or {})})


class SignIn:
    """The ways in: the operator types the token, a miner opens a link that its hotkey signed."""

    def __init__(self, admission: Admission, viewer: web.RequestKey[Viewer], host: web.RequestKey[str]) -> None:
        self._admission, self._viewer, self._host = admission, viewer, host

    def routes(self) -> list[web.RouteDef]:
        """Return the paths."""
        return [
            web.get("/sign-in", self.form),
            web.post("/sign-in", self.operator),
            web.get("/sign-in/nonce", self.nonce),
            web.get("/enter", self.miner),
            web.post("/sign-out", self.leave),
        ]

    async def form(self, request: web.Request) -> web.Response:
        """Show the form for the operator's token, and how a miner signs in."""
        return html(page("sign-in.html", request[self._viewer], host=self._host_of(request), wrong=False))

    async def operator(self, request: web.Request) -> web.Response:
        """Open a session for anyone who knows the token."""
        sent = (await request.post()).get("token", "")
        if not isinstance(sent, str) or not self._admission.is_token(sent.strip()):
            body = page("sign-in.html", request[self._viewer], host=self._host_of(request), wrong=True)
            return html(body, HTTPStatus.UNAUTHORIZED)
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/", **_NO_STORE})
        self._admission.open_session(request, response, Viewer(is_operator=True))
        return response

    async def nonce(self, _: web.Request) -> web.Response:
        """Give a nonce to sign."""
        return web.Response(text=self._admission.new_nonce(), headers=_NO_STORE)

    async def miner(self, request: web.Request) -> web.Response:
        """Open a session for the hotkey that signed a nonce for this host."""
        hotkey, nonce, signature, crypto = (
            request.query.get(name, "")[:200] for name in ("hotkey", "nonce", "signature", "crypto")
        )
        host = self._host_of(request)
        if not is_hotkey(hotkey) or not self._admission.use_nonce(nonce, host, hotkey, signature, crypto or "sr25519"):
            why = f"the link is older than {NONCE_S:.0f} s, was used, or was not signed by this hotkey for {host}"
            return html(page("refused.html", request[self._viewer], status=403, message=why), HTTPStatus.FORBIDDEN)
        viewer = Viewer(hotkey=hotkey)
        response = html(page("entered.html", viewer))
        self._admission.open_session(request, response, viewer)
        return response

    async def leave(self, request: web.Request) -> web.Response:
        """End the session."""
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/sign-in", **_NO_STORE})
        self._admission.close_session(request, response)
        return response

    def _host_of(self, request: web.Request) -> str:
        return request[self._host]
