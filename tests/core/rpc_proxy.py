"""A WebSocket proxy on loopback between a JSON-RPC client and a node, which holds, drops, cuts and delays by rules.

It looks at methods alone, so that it is before any node: requests by their own, answers by that of their request,
notifications by that of the subscription that they belong to.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Self

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web

SUBMIT: Final = "author_submitAndWatchExtrinsic"
HEADS: Final = "chain_subscribeNewHeads"
NONCE: Final = "account_nextIndex"  # the last question before a signature
ANY: Final = "*"

# Where the connection breaks under a submission; "lost": signed, and no pool ever has it.
Break = Literal["unsigned", "lost", "pooled", "included", "silent"]
# Ways in which an endpoint is not well, from its first connection on or from one moment on.
Trouble = Literal[
    "hangs", "2 s a call", "closes at once", "HTTP 429", "JSON-RPC 429", "-32005", "close 1008", "string error", "null",
    "no notices",
]  # fmt: skip
_ERRORS: Final[Mapping[str, Any]] = {
    "JSON-RPC 429": {"code": 429, "message": "Too many requests"},
    "-32005": {"code": -32005, "message": "daily request count exceeded"},
    "string error": "rate limited",
}

Kind = Literal["request", "answer", "notice"]
# cut: the connection breaks in place of the message; cut_after: once the message was passed on; hold: the message waits
# until the rule is taken away; drop: it never arrives; delay: it comes `seconds` later, in order.
Action = Literal["cut", "cut_after", "hold", "drop", "delay"]


class Message(NamedTuple):
    """One message.

    Attributes:
        kind: from the client, the answer to that, or a notification.
        method: of the request, or of the request that subscribed.
        status: what a watched extrinsic became: "ready", "inBlock", "finalized"; else empty.
    """

    kind: Kind
    method: str
    status: str = ""


@dataclass(slots=True)
class Rule:
    """Treatment of the next matching messages; `status` "" matches every one."""

    action: Action
    kind: Kind
    method: str = ANY
    status: str = ""
    seconds: float = 0.0
    times: int = 1_000_000
    hits: int = 0

    def fits(self, seen: Message) -> bool:
        method = self.method in (ANY, seen.method)
        return self.kind == seen.kind and method and self.status in ("", seen.status) and self.hits < self.times


class RpcProxy:
    """A proxy before `target`; `async with` gives it a port.

    Attributes:
        url: where it listens.
        seen: every message, in the order of their arrival here.
        refusing: new connections are refused.
        connections: those that are open.
        latency_s: what every message from the node takes longer; messages do not wait for each other.
        trouble: in what way the endpoint is not well, whatever the rules say; None: it is well.
        before: called with each message, before the rules are asked.
    """

    def __init__(self, target: str) -> None:
        self.url = ""
        self.latency_s = 0.0
        self.seen: list[Message] = []
        self.trouble: Trouble | None = None
        self.before: Callable[[Message], None] = lambda _: None
        self.refusing = False
        self.connections: set[_Link] = set()
        self._target = target
        self._rules: list[Rule] = []
        self._lifted = asyncio.Event()
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = ClientSession()
        app = web.Application()
        app.router.add_get("/", self._served)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        assert self._session is not None
        self.mend()
        self.cut()
        await self._runner.cleanup()
        await self._session.close()

    def rule(self, action: Action, kind: Kind, method: str = ANY, **more: Any) -> Rule:
        """Let something happen to the messages to come; of two rules that fit the older one counts."""
        made = Rule(action, kind, method, **more)
        self._rules.append(made)
        return made

    def mend(self) -> None:
        """Take every rule away; what was held continues."""
        self._rules.clear()
        self.refusing = False
        self._lifted.set()
        self._lifted = asyncio.Event()

    def cut(self) -> None:
        """Break every connection, without the word that ends one."""
        for link in list(self.connections):
            link.cut()

    def set_trouble(self, trouble: Trouble | None) -> None:
        """Be not well in some way from now on, or be well again."""
        self.trouble = trouble
        self.latency_s = 2.0 if trouble == "2 s a call" else 0.0
        if trouble in ("closes at once", "HTTP 429"):
            self.cut()

    def reachable(self, yes: bool) -> None:
        """Take the node away, or bring it back."""
        self.refusing = not yes
        if not yes:
            self.cut()

    def break_at(self, phase: Break | None) -> None:
        """Break the connection under the submissions to come, or no more."""
        self.mend()
        if phase == "unsigned":
            self.rule("cut", "request", NONCE)
        elif phase == "lost":
            self.rule("cut", "request", SUBMIT)
        elif phase == "pooled":
            self.rule("cut", "answer", SUBMIT)
        elif phase == "included":
            self.rule("cut", "notice", SUBMIT, status="inBlock")
        elif phase == "silent":
            self.rule("drop", "notice", SUBMIT)

    async def hit(self, rule: Rule, times: int = 1) -> None:
        """Return once so many messages have met the rule."""
        while rule.hits < times:
            self._changed.clear()
            await self._changed.wait()

    async def passes(self, seen: Message, link: "_Link") -> bool:
        """Do what the rules say; return whether the message continues."""
        self.seen.append(seen)
        self.before(seen)
        rule = next((rule for rule in self._rules if rule.fits(seen)), None)
        if rule is None:
            return True
        rule.hits += 1
        self._changed.set()
        if rule.action == "cut":
            link.cut()
        elif rule.action == "cut_after":
            link.last = True
            return True
        elif rule.action == "hold":
            await self._lifted.wait()
            return True
        elif rule.action == "delay":
            await asyncio.sleep(rule.seconds)
            return True
        return False

    async def _served(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        if self.trouble == "closes at once":
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError
        if self.trouble == "HTTP 429":
            return web.Response(status=429, text="too many requests")
        if self.refusing:
            return web.Response(status=503, text="no more connections")
        client = web.WebSocketResponse(max_msg_size=0)
        await client.prepare(request)
        assert request.transport is not None
        async with self._session.ws_connect(self._target, max_msg_size=0) as far:
            link = _Link(self, request.transport, client, far)
            self.connections.add(link)
            try:
                await link.run()
            finally:
                self.connections.discard(link)
        return client


class _Link:
    """One client's connection and its twin to the node."""

    def __init__(
        self, proxy: RpcProxy, transport: asyncio.Transport, client: web.WebSocketResponse, far: ClientWebSocketResponse
    ) -> None:
        self.last = False
        self._proxy = proxy
        self._transport = transport
        self._client = client
        self._far = far
        self._methods: dict[Any, str] = {}  # by the id of the request
        self._subscribed: dict[str, str] = {}  # by the subscription's

    def cut(self) -> None:
        self._transport.abort()

    async def run(self) -> None:
        """Pass messages on, each way in order, until one side is gone."""
        line: asyncio.Queue[tuple[float, str]] = asyncio.Queue()
        troubles = [
            asyncio.create_task(self._way(self._client, self._far)),
            asyncio.create_task(self._way(self._far, self._client, line)),
            asyncio.create_task(self._late(line)),
        ]
        await asyncio.wait(troubles, return_when=asyncio.FIRST_COMPLETED)
        for trouble in troubles:
            trouble.cancel()
        await asyncio.gather(*troubles, return_exceptions=True)
        with suppress(ConnectionError, RuntimeError):
            await self._far.close()
            await self._client.close()

    async def _late(self, line: asyncio.Queue[tuple[float, str]]) -> None:
        """Send what has a long way to the client, each when it is due."""
        while True:
            due, data = await line.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            with suppress(ConnectionError, RuntimeError):
                await self._client.send_str(data)

    async def _way(self, source: Any, sink: Any, line: asyncio.Queue[tuple[float, str]] | None = None) -> None:
        async for frame in source:
            if frame.type is not WSMsgType.TEXT:
                continue
            messages = json.loads(frame.data)
            seen = [self._named(message) for message in (messages if isinstance(messages, list) else [messages])]
            if not await self._all_pass(seen):
                continue
            data = frame.data
            if (trouble := self._proxy.trouble) is not None:
                if trouble == "close 1008":
                    await self._client.close(code=1008, message=b"rate limit")
                    return
                if (
                    trouble in _ERRORS and source is self._client
                ):  # a gateway refuses, and the node learns nothing of it
                    listed = messages if isinstance(messages, list) else [messages]
                    answers = [{"jsonrpc": "2.0", "id": one["id"], "error": _ERRORS[trouble]} for one in listed]
                    await self._client.send_str(json.dumps(answers if isinstance(messages, list) else answers[0]))
                    continue
                if (data := self._troubled(trouble, messages, seen)) is None:
                    continue
            if line is not None and self._proxy.latency_s:
                line.put_nowait((asyncio.get_running_loop().time() + self._proxy.latency_s, data))
                continue
            with suppress(ConnectionError, RuntimeError):
                await sink.send_str(data)
            if self.last:
                self.cut()
                return

    def _troubled(self, trouble: Trouble, messages: Any, seen: Sequence[Message]) -> str | None:
        """Return messages as the trouble leaves them; None where nothing arrives."""
        kinds = {one.kind for one in seen}
        if "request" not in kinds and (trouble == "hangs" or (trouble == "no notices" and "notice" in kinds)):
            return None
        if trouble == "null" and kinds == {"answer"}:
            listed = messages if isinstance(messages, list) else [messages]
            nulls = [{"jsonrpc": "2.0", "id": one["id"], "result": None} for one in listed]
            return json.dumps(nulls if isinstance(messages, list) else nulls[0])
        return json.dumps(messages)

    async def _all_pass(self, seen: Iterable[Message]) -> bool:
        return all([await self._proxy.passes(one, self) for one in seen])

    def _named(self, message: dict[str, Any]) -> Message:
        params = message.get("params")
        if "method" in message and "id" in message:
            self._methods[message["id"]] = message["method"]
            return Message("request", message["method"])
        if "method" in message:
            assert isinstance(params, dict)
            result = params["result"]
            watched = self._subscribed.get(str(params["subscription"]), message["method"])
            status = result if isinstance(result, str) else next(iter(result)) if watched == SUBMIT else ""
            return Message("notice", watched, status)
        method = self._methods.pop(message["id"], "")
        if "result" in message and isinstance(message["result"], str | int):
            self._subscribed[str(message["result"])] = method
        return Message("answer", method)
