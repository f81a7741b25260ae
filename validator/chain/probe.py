"""Probe of a chain endpoint: its chain, speed and height; or what answers instead of a node, with the fix.

It speaks JSON-RPC over one websocket, without the SDK. `endpoints.py` chooses by it.
"""

import asyncio
import itertools
import json
import os
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import aiohttp
from bittensor.settings import resolve_endpoint

from sssa.protocol.errors import ValidatorError
from sssa.protocol.strict_json import JsonError, decode_plain
from sssa.protocol.text import printable
from validator.chain.interface import MOST_BEHIND, SLOW_S
from validator.chain.limits import LIMITS

_LONGEST: Final = 256 * 1024  # bytes of an answer
_SKIPPED: Final = 8  # messages that are not the answer
_REFUSALS: Final = (429, -32004, -32005, -32029)  # providers' codes for a limit
_TLS_NEEDED: Final = 400  # what a web server says to plain HTTP on its port for TLS
_TOO_MANY: Final = 429
_SHOWN: Final = 200
_POLICY: Final = 1008  # a close code
_HEADS: Final = "chain_subscribeNewHeads"


class NoNodeError(ValidatorError):
    """The endpoint is not a usable chain node."""

    def __init__(self, seen: str, advice: str) -> None:
        self.seen = seen
        self.advice = advice
        super().__init__(seen)


class Rpc:
    """One connection; use it as a context manager.

    Args:
        url: ws:// or wss://.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._ids = itertools.count(1)
        self._notified = False
        self._session: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse

    async def __aenter__(self) -> Self:
        """Connect (NoNodeError: no websocket answers; it names what does)."""
        self._session = aiohttp.ClientSession(trust_env=False)
        try:
            self._socket = await self._session.ws_connect(self._url, max_msg_size=_LONGEST, autoclose=True)
        except BaseException as error:
            await self._session.close()
            if not isinstance(error, TimeoutError) and isinstance(error, aiohttp.ClientError | OSError | ValueError):
                raise _no_websocket(error, secure=self._url.startswith("wss:")) from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection without waiting for the node."""
        await self._session.close()

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call, plain JSON data.

        Raises:
            NoNodeError: something else answers, or the node refuses the call.
        """
        return (await self.ask_all((method, *params)))[0]

    async def ask_all(self, *calls: tuple[Any, ...]) -> list[Any]:
        """Return the results of calls (method, parameters) that are made at the same time; errors as `ask`."""
        waiting = {next(self._ids): method for method, *_ in calls}
        results: dict[int, Any] = dict.fromkeys(waiting)
        for number, (method, *params) in zip(results, calls, strict=True):
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for _ in range(len(calls) + _SKIPPED):
            answer = await self._received(next(iter(waiting.values())))
            answered = answer.get("id")
            if isinstance(answered, int) and answered in waiting:
                results[answered] = _result(answer, waiting.pop(answered))
            if not waiting:
                return list(results.values())
        raise NoNodeError(f"a websocket that does not answer `{next(iter(waiting.values()))}`", _OTHER)

    async def notified(self, limit_s: float) -> bool:
        """Return whether a notice of a subscription has come, or comes within the limit."""
        try:
            async with asyncio.timeout(limit_s):
                while not self._notified:
                    await self._received(_HEADS)
        except TimeoutError:
            return False
        return True

    async def _send(self, request: dict[str, Any]) -> None:
        try:
            await self._socket.send_str(json.dumps(request))
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from None

    async def _received(self, method: str) -> dict[str, Any]:
        """Return the next message that is an object; `method` is the call that waits."""
        try:
            message = await self._socket.receive()
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from None
        if message.type is aiohttp.WSMsgType.CLOSE and message.data == _POLICY:
            why = printable(str(message.extra or ""), _SHOWN)
            raise NoNodeError(f"it closes the connection for its policy (1008) {why}".strip(), _LIMITED)
        if message.type not in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}:
            raise NoNodeError(f"a websocket that closes when it is asked `{method}`", _OTHER)
        answer = _decoded(message.data)
        self._notified |= isinstance(answer, dict) and "method" in answer
        return answer if isinstance(answer, dict) else {}


def _broken(error: Exception) -> NoNodeError:
    return NoNodeError(f"the connection broke: {type(error).__name__}", _OTHER)


_OTHER: Final = "name the RPC port of a subtensor node (9944 by default) in chain.endpoints"
_SUBTENSOR: Final = "name a subtensor node in chain.endpoints"
_NAME: Final = "correct the host's name in chain.endpoints, or look at this machine's name service (/etc/resolv.conf)"
_LISTEN: Final = (
    "start the node, or correct host and port in chain.endpoints; from a container, localhost is the container"
)
_LIMITED: Final = "it limits requests: give it a key in its url, ask its operator for more, or name your own node first"
_TLS: Final = "the port speaks no TLS: write ws:// instead of wss:// in chain.endpoints, or name the port that does"


def _decoded(data: str | bytes) -> Any:
    try:
        return decode_plain(data.encode() if isinstance(data, str) else data, limit=_LONGEST)
    except JsonError:
        raise NoNodeError("a websocket that does not speak JSON", _OTHER) from None


def _result(answer: dict[str, Any], method: str) -> Any:
    if "error" not in answer:
        return answer.get("result")
    limited = is_refusal(answer["error"])
    raise NoNodeError(f"it refuses `{method}`: {refusal_text(answer['error'])}", _LIMITED if limited else _OTHER)


def is_refusal(error: Any) -> bool:
    """Return whether a JSON-RPC error is a refusal of any call: a rate limit, a policy, or no object at all."""
    if not isinstance(error, dict):
        return True
    return error.get("code") in _REFUSALS or "too many requests" in str(error.get("message")).lower()


def refusal_text(error: Any) -> str:
    """Return the code and text of a JSON-RPC error, harmless to show."""
    code, text = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    return printable(f"{code} {text}" if isinstance(code, int) else str(text), _SHOWN)


def _no_websocket(error: Exception, *, secure: bool) -> NoNodeError:  # noqa: PLR0911 - one for each thing that answers instead
    """Return the fault of a failed connection with its fix, without the url, which may hold a key."""
    if isinstance(error, aiohttp.WSServerHandshakeError):
        if error.status == _TLS_NEEDED and not secure:
            return NoNodeError(
                "HTTP 400 instead of a websocket", "the port may speak TLS: try wss:// in chain.endpoints"
            )
        if error.status == _TOO_MANY:
            return NoNodeError("HTTP 429 (too many requests) instead of a websocket", _LIMITED)
        refused = "look at the key in the url; " if error.status in {401, 403} else ""
        return NoNodeError(f"HTTP {error.status} instead of a websocket", refused + _OTHER)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return NoNodeError("the host's name is not found", _NAME)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate_error = printable(str(error.certificate_error), _SHOWN)
        return NoNodeError(
            f"its certificate is not accepted: {certificate_error}", "name the host that the certificate is for"
        )
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return NoNodeError("no TLS is spoken there", _TLS)
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return NoNodeError(f"no connection: {os.strerror(number) if number else 'it was lost'}", _LISTEN)
    if isinstance(error, aiohttp.ClientResponseError):
        return NoNodeError(f"something that speaks no HTTP: {printable(error.message, _SHOWN)}", _OTHER)
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return NoNodeError("it closes the connection before it says a word", f"{_OTHER}; is it ws:// or wss://?")
    return NoNodeError(f"no connection: {type(error).__name__}", _OTHER)


# Where a runtime keeps the time of its newest block: twox_128("Timestamp") twox_128("Now").
_NOW: Final = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"
_HIGHEST: Final = 2**32 - 1
_NOW_BYTES: Final = 8  # a node may say anything
_SILENT: Final = "look at the node's load and at the network; a firewall that drops looks like this, too"


class Node(NamedTuple):
    """A node that answered.

    Attributes:
        url: whole; never to be shown.
        chain: its name for its chain.
        spec: name of its runtime; `version` is the runtime's.
        genesis: hash of block 0.
        height: its newest block.
        time: of that block, seconds since the Unix epoch; None where it has none.
        syncing: whether it says that it still catches up.
        latency_s: of one answer.
        notices: whether it sends notices to those who subscribe to new blocks.
    """

    url: str
    chain: str
    spec: str
    version: int
    genesis: str
    height: int
    time: float | None
    syncing: bool
    latency_s: float
    notices: bool = True

    @property
    def chain_id(self) -> str:
        """The genesis, lower-case hex without 0x."""
        return self.genesis.lower().removeprefix("0x")


ProbeResult = Node | NoNodeError
SPEC: Final = "node-subtensor"


def endpoint_problems(seen: Sequence[ProbeResult], genesis: str | None, highest: int = 0) -> list[str]:
    """Return the problem of each endpoint; empty for a healthy one.

    Args:
        seen: what each shows.
        genesis: of the chain, lower-case hex without 0x; None if it is not known: then all must have the same.
        highest: the highest block that is known.
    """
    nodes = [one for one in seen if isinstance(one, Node) and one.spec == SPEC]
    chains = {one.chain_id for one in nodes} if genesis is None else {genesis}
    good = [one for one in nodes if one.chain_id in chains]
    highest = max([highest, *(one.height for one in good)])
    newest = max((one.time or 0.0 for one in good), default=0.0)
    reasons = [_endpoint_problem(one, chains, highest, newest) for one in seen]
    late_s = [one.latency_s if isinstance(one, Node) and one.latency_s > SLOW_S else 0.0 for one in seen]
    quick = any(not reason and not late for reason, late in zip(reasons, late_s, strict=True))
    slow = [f"slow: {late:.1f} s a call" if quick and late else "" for late in late_s]
    return [reason or late for reason, late in zip(reasons, slow, strict=True)]


def _endpoint_problem(one: ProbeResult, chains: Collection[str], highest: int, newest: float) -> str:
    if isinstance(one, NoNodeError):
        return one.seen
    if one.spec != SPEC:
        return f"a node of another chain, `{one.chain}` ({one.spec}), no subtensor"
    if len(chains) > 1 or one.chain_id not in chains:
        expected = "of one of the other endpoints" if len(chains) > 1 else "of this validator's chain"
        return f"another chain: its genesis is {one.chain_id[:10]}…, not that {expected}"
    if one.syncing or one.height + MOST_BEHIND < highest or (one.time or newest) + LIMITS.still_s < newest:
        return f"{highest - one.height} blocks behind the others" if one.height < highest else "still catching up"
    return "" if one.notices else "it sends no notices of new blocks"


async def block_time(rpc: Rpc, block_hash: str | None = None) -> float | None:
    """Return a block's time in seconds since the Unix epoch, the newest one's without a hash; None if it has none."""
    return _time(await rpc.ask("state_getStorage", _NOW, *([block_hash] if block_hash else [])))


def _time(raw: Any) -> float | None:
    try:
        data = b"" if raw is None else bytes.fromhex(raw.removeprefix("0x"))
    except (AttributeError, TypeError, ValueError):
        return None
    return int.from_bytes(data, "little") / 1000 if 0 < len(data) <= _NOW_BYTES else None


async def look_at(endpoint: str, limit_s: float) -> ProbeResult:
    """Probe an endpoint, within `limit_s`."""
    try:
        url = resolve_endpoint(endpoint)[1]
    except ValueError:
        return NoNodeError("no such network", "name `finney`, `test` or a ws:// or wss:// url in chain.endpoints")
    connected = False
    try:
        async with asyncio.timeout(limit_s), Rpc(url) as rpc:
            connected = True
            return await _ask_node(url, rpc, limit_s)
    except TimeoutError:
        what = "connected, but no answer" if connected else "no websocket"
        return NoNodeError(f"{what} within {limit_s:g} s", _SILENT)
    except NoNodeError as error:
        return error


async def _ask_node(url: str, rpc: Rpc, limit_s: float) -> Node:
    loop = asyncio.get_running_loop()
    began = loop.time()
    chain, header, runtime, genesis, health, now, _ = await rpc.ask_all(
        ("system_chain",),
        ("chain_getHeader",),
        ("state_getRuntimeVersion",),
        ("chain_getBlockHash", 0),
        ("system_health",),
        ("state_getStorage", _NOW),
        (_HEADS,),
    )
    latency = loop.time() - began
    try:
        return Node(
            url=url,
            chain=printable(str(chain), 60),
            spec=printable(str(runtime["specName"]), 60),
            version=_u32(runtime["specVersion"]),
            genesis=printable(str(genesis), 80),
            height=_u32(int(header["number"], 16)),
            time=_time(now),
            syncing=isinstance(health, dict) and health.get("isSyncing") is True,
            latency_s=latency,
            notices=await rpc.notified(limit_s / 4),
        )
    except (KeyError, TypeError, ValueError):
        raise NoNodeError("a websocket whose answers are no node's", _SUBTENSOR) from None


def _u32(number: object) -> int:
    """Return a block's number or a runtime's version, checked (ValueError)."""
    if not isinstance(number, int) or not 0 <= number <= _HIGHEST:
        raise ValueError
    return number
