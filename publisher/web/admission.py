"""Admission to the API and the pages: which host a request names, how often an address may ask, and who asks."""

import hmac
import ipaddress
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from aiohttp import web

from sssa.protocol.signatures import sign_in_text, verify
from sssa.sources import Clock
from validator.incoming.server import bears
from validator.settings.model import WebSettings

NONCE_S: Final = 120.0
_OPERATOR_S: Final = 8 * 3_600.0
_MINER_S: Final = 3_600.0
_SESSIONS: Final = 1_000
_ADDRESSES: Final = 4_096
_BURST_S: Final = 5.0
_DEAR: Final = 10.0
_MAX_HEADER: Final = 300
_STAMP: Final = 8
_RANDOM: Final = 16
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Viewer(NamedTuple):
    """The reader of an answer: the operator, a miner, or anybody."""

    is_operator: bool = False
    hotkey: str | None = None

    def may_see(self, hotkey: str) -> bool:
        """Return whether the reader may see this miner's own pages."""
        return self.is_operator or self.hotkey == hotkey


ANYBODY: Final = Viewer()


class RateLimit:
    """A bucket of requests for each address; of IPv6, for each /64 network. The least recent addresses are forgotten.

    A bucket holds what `per_s` gives in 5 s, and 10 at least.
    """

    def __init__(self, per_s: float, clock: Clock) -> None:
        self._per_s = per_s
        self._most = max(10.0, per_s * _BURST_S)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, address: str, cost: float = 1.0) -> float:
        """Take a request of the address that costs as many; return 0, or after how many seconds it may ask again."""
        key, now = _network(address), self._clock.monotonic()
        tokens, since = self._buckets.pop(key, (self._most, now))
        tokens = min(self._most, tokens + (now - since) * self._per_s)
        may = tokens >= cost
        self._buckets[key] = tokens - cost * may, now
        if len(self._buckets) > _ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if may else (cost - tokens) / self._per_s


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address


class Admission:
    """Decisions about requests. Sessions and used nonces are kept in memory: a restart signs everybody out.

    Where a request comes from is no proof of anything: a proxy on this machine sends those of strangers.
    """

    def __init__(self, settings: WebSettings, token: str, clock: Clock) -> None:
        self._token, self._host, self._name = token, settings.host, settings.name
        self._clock = clock
        self._limit = RateLimit(settings.requests, clock)
        self._secret = secrets.token_bytes(32)
        self._sessions: OrderedDict[bytes, tuple[Viewer, float]] = OrderedDict()
        self._used: OrderedDict[bytes, float] = OrderedDict()

    def host_of(self, request: web.Request) -> str | None:
        """Return the name of this server for its reader, None where the request names another host.

        Else a stranger's page in a browser on this machine could read everything (DNS rebinding).
        """
        host = _host(request)
        if host not in {self._host, self._name, *_LOCAL}:
            return None
        return self._name or host  # what a miner signs must not follow from what a request names

    def wait_s(self, request: web.Request, viewer: Viewer) -> float:
        """Return after how many seconds the request may be made again, 0 if it may be now.

        An explanation scores again, and counts as ten.
        """
        cost = _DEAR if "/miners/" in request.path else 1.0
        return 0.0 if viewer.is_operator else self._limit.wait_s(request.remote or "", cost)

    def viewer_of(self, request: web.Request) -> Viewer:
        """Return who asks: by the token or by a session."""
        if bears(request, self._token):
            return Viewer(is_operator=True)
        cookie = request.cookies.get(_cookie(request))
        viewer, until = self._sessions.get(_digest(cookie), (ANYBODY, 0.0)) if cookie else (ANYBODY, 0.0)
        return viewer if until > self._clock.monotonic() else ANYBODY

    def is_token(self, text: str) -> bool:
        """Return whether the text is the operator's token."""
        sent = text[:_MAX_HEADER].encode(errors="surrogateescape")
        return hmac.compare_digest(sent, self._token.encode())

    def open_session(self, request: web.Request, response: web.StreamResponse, viewer: Viewer) -> None:
        """Give the reader a cookie: for 8 h to the operator, for 1 h to a miner."""
        value, lasts = secrets.token_urlsafe(32), _OPERATOR_S if viewer.is_operator else _MINER_S
        self._sessions[_digest(value)] = viewer, self._clock.monotonic() + lasts
        if len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        name = _cookie(request)
        response.set_cookie(
            name, value, max_age=int(lasts), path="/", secure=name != "session", httponly=True, samesite="Strict"
        )

    def close_session(self, request: web.Request, response: web.StreamResponse) -> None:
        """Forget the reader's session."""
        name = _cookie(request)
        self._sessions.pop(_digest(request.cookies.get(name, "")), None)
        response.del_cookie(name, path="/", secure=name != "session", httponly=True, samesite="Strict")

    def new_nonce(self) -> str:
        """Return a nonce for a miner to sign; nothing is kept of it until it is used."""
        body = int(self._clock.monotonic() * 1_000).to_bytes(_STAMP, "big") + secrets.token_bytes(_RANDOM)
        return urlsafe_b64encode(body + self._seal(body)).decode()

    def use_nonce(self, nonce: str, host: str, hotkey: str, signature: str, crypto: str) -> bool:
        """Return whether the hotkey signed the nonce for this host; each counts once, and for 120 s."""
        now = self._clock.monotonic()
        while self._used and next(iter(self._used.values())) <= now:
            self._used.popitem(last=False)
        try:
            raw = urlsafe_b64decode(nonce.encode())
        except ValueError:
            return False
        body = raw[: _STAMP + _RANDOM]
        age = now - int.from_bytes(body[:_STAMP], "big") / 1_000
        fresh = hmac.compare_digest(raw[len(body) :], self._seal(body)) and age < NONCE_S and body not in self._used
        if not fresh or not verify(sign_in_text(host, hotkey, nonce), signature, hotkey, crypto):
            return False
        self._used[body] = now + NONCE_S
        return True

    def _seal(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256")


def _host(request: web.Request) -> str:
    try:
        return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:
        return ""


def _cookie(request: web.Request) -> str:
    """Return the name of the cookie; only for this machine it is not a secure one, which needs TLS."""
    return "session" if _host(request) in _LOCAL else "__Host-session"


def _digest(value: str) -> bytes:
    return sha256(value.encode(errors="surrogateescape")).digest()
