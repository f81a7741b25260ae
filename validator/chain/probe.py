"""Probe of a chain endpoint for the doctor: which chain, how fast, how high; or what answers instead, and the fix.

It speaks JSON-RPC over one websocket, without the SDK. `bittensor.py` calls it too, for its error messages.
"""

import asyncio
import itertools
import json
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import aiohttp
from bittensor.settings import resolve_endpoint

from validator.protocol.errors import ValidatorError
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.text import printable
from validator.settings.urls import shown_url

_LONGEST: Final = 256 * 1024  # bytes of an answer
_SKIPPED: Final = 8  # messages that are not the answer
_TLS_NEEDED: Final = 400  # what a web server says to plain HTTP on its port for TLS
_SHOWN: Final = 200


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
        limit_s: how long connecting, and each call, may take before they raise TimeoutError; None: no limit.
    """

    def __init__(self, url: str, limit_s: float | None = None) -> None:
        self._url = url
        self._limit_s = limit_s
        self._ids = itertools.count(1)
        self._session: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse

    async def __aenter__(self) -> Self:
        """Connect (NoNodeError: no websocket exists; it says what is)."""
        self._session = aiohttp.ClientSession(trust_env=False)
        try:
            async with asyncio.timeout(self._limit_s):
                self._socket = await self._session.ws_connect(self._url, max_msg_size=_LONGEST, autoclose=True)
        except TimeoutError:
            await self._session.close()
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            await self._session.close()
            raise NoNodeError(*_words(error, secure=self._url.startswith("wss:"))) from None
        except BaseException:
            await self._session.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection without waiting for the node's consent."""
        await self._session.close()

    async def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a call, plain JSON data.

        Raises:
            NoNodeError: something else answers, or the node refuses the call.
        """
        async with asyncio.timeout(self._limit_s):
            return await self._asked(method, params)

    async def _asked(self, method: str, params: Sequence[Any]) -> Any:
        number = next(self._ids)
        try:
            await self._socket.send_str(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)})
            )
            for _ in range(_SKIPPED):
                message = await self._socket.receive()
                if message.type not in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}:
                    raise NoNodeError(f"a websocket that closes when it is asked `{method}`", _OTHER)
                answer = _decoded(message.data)
                if isinstance(answer, dict) and answer.get("id") == number:
                    return _result(answer, method)
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise NoNodeError(f"the connection broke: {type(error).__name__}", _OTHER) from None
        raise NoNodeError(f"a websocket that does not answer `{method}`", _OTHER)


_OTHER: Final = "name the RPC port of a subtensor node (9944 by default) in chain.endpoints"
_NAME: Final = "correct the host's name in chain.endpoints, or look at this machine's name service (/etc/resolv.conf)"
_LISTEN: Final = (
    "start the node, or correct host and port in chain.endpoints; from a container, localhost is the container"
)
_TLS: Final = "the port speaks no TLS: write ws:// instead of wss:// in chain.endpoints, or name the port that does"


class _Answer(NamedTuple):
    seen: str
    advice: str


def _decoded(data: str | bytes) -> Any:
    try:
        return decode_plain(data.encode() if isinstance(data, str) else data, limit=_LONGEST)
    except JsonError:
        raise NoNodeError("a websocket that does not speak JSON", _OTHER) from None


def _result(answer: dict[str, Any], method: str) -> Any:
    if "error" not in answer:
        return answer.get("result")
    error = answer["error"]
    said = error.get("message") if isinstance(error, dict) else error
    raise NoNodeError(f"it refuses `{method}`: {printable(str(said), _SHOWN)}", _OTHER)


def _words(error: Exception, *, secure: bool) -> _Answer:  # noqa: PLR0911 - one for each thing that answers instead
    """Return what is wrong and what to do; the url, which may hold a key, is in neither."""
    if isinstance(error, aiohttp.WSServerHandshakeError):
        if error.status == _TLS_NEEDED and not secure:
            return _Answer("HTTP 400 instead of a websocket", "the port may speak TLS: try wss:// in chain.endpoints")
        refused = "look at the key in the url; " if error.status in {401, 403} else ""
        return _Answer(f"HTTP {error.status} instead of a websocket", refused + _OTHER)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _Answer("the host's name is not found", _NAME)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        said = printable(str(error.certificate_error), _SHOWN)
        return _Answer(f"its certificate is not accepted: {said}", "name the host that the certificate is for")
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return _Answer("no TLS is spoken there", _TLS)
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return _Answer(f"no connection: {os.strerror(number) if number else 'it was lost'}", _LISTEN)
    if isinstance(error, aiohttp.ClientResponseError):
        return _Answer(f"something that speaks no HTTP: {printable(error.message, _SHOWN)}", _OTHER)
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return _Answer("it closes the connection before it says a word", f"{_OTHER}; is it ws:// or wss://?")
    return _Answer(f"no connection: {type(error).__name__}", _OTHER)


# Where a runtime keeps the time of its newest block: twox_128("Timestamp") twox_128("Now").
_NOW: Final = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"
_HIGHEST: Final = 2**32 - 1
_NOW_BYTES: Final = 8  # a node may say anything
_SILENT: Final = "look at the node's load and at the network; a firewall that drops looks like this, too"
_CALL_S: Final = 8.0


class Node(NamedTuple):
    """A node that answered.

    Attributes:
        place: its number in `chain.endpoints`, from 1.
        url: whole; never to be shown.
        chain: its name for its chain.
        spec: name of its runtime; `version` is the runtime's.
        genesis: hash of block 0.
        height: its newest block.
        time: of that block, seconds since the Unix epoch; None where it has none.
        syncing: whether it says that it still catches up.
        latency_s: of one answer.
    """

    place: int
    url: str
    chain: str
    spec: str
    version: int
    genesis: str
    height: int
    time: float | None
    syncing: bool
    latency_s: float


class Silent(NamedTuple):
    """An endpoint that is no node that can be used."""

    place: int
    seen: str
    advice: str


Seen = Node | Silent


async def diagnosis(endpoints: Sequence[str]) -> str:
    """Return for each endpoint what exists now, without what may be secret in its url; for messages."""
    found = await asyncio.gather(*(look_at(place, one, _CALL_S) for place, one in enumerate(endpoints, start=1)))
    return "; ".join(f"{shown_url(endpoint)}: {_said(one)}" for endpoint, one in zip(endpoints, found, strict=True))


async def block_time(rpc: Rpc, block_hash: str | None = None) -> float | None:
    """Return a block's time in seconds since the Unix epoch, the newest one's without a hash; None if it has none."""
    raw = await rpc.ask("state_getStorage", _NOW, *([block_hash] if block_hash else []))
    try:
        data = b"" if raw is None else bytes.fromhex(raw.removeprefix("0x"))
    except (AttributeError, TypeError, ValueError):
        return None
    return int.from_bytes(data, "little") / 1000 if 0 < len(data) <= _NOW_BYTES else None


async def look_at(place: int, endpoint: str, limit_s: float) -> Seen:
    """Return what is at an endpoint; `limit_s` bounds connecting, and each call."""
    try:
        url = resolve_endpoint(endpoint)[1]
    except ValueError:
        return Silent(place, "no such network", "name `finney`, `test` or a ws:// or wss:// url in chain.endpoints")
    connected = False
    try:
        async with Rpc(url, limit_s) as rpc:
            connected = True
            return await _asked(place, url, rpc)
    except TimeoutError:
        what = "connected, but no answer" if connected else "no websocket"
        return Silent(place, f"{what} within {limit_s:g} s", _SILENT)
    except NoNodeError as error:
        return Silent(place, error.seen, error.advice)


async def _asked(place: int, url: str, rpc: Rpc) -> Node:
    chain = await rpc.ask("system_chain")
    loop = asyncio.get_running_loop()
    began = loop.time()
    header = await rpc.ask("chain_getHeader")
    latency = loop.time() - began
    runtime = await rpc.ask("state_getRuntimeVersion")
    genesis = await rpc.ask("chain_getBlockHash", 0)
    health = await rpc.ask("system_health")
    try:
        return Node(
            place=place,
            url=url,
            chain=printable(str(chain), 60),
            spec=printable(str(runtime["specName"]), 60),
            version=_u32(runtime["specVersion"]),
            genesis=printable(str(genesis), 80),
            height=_u32(int(header["number"], 16)),
            time=await block_time(rpc),
            syncing=isinstance(health, dict) and health.get("isSyncing") is True,
            latency_s=latency,
        )
    except (KeyError, TypeError, ValueError):
        raise NoNodeError(
            "a websocket whose answers are no node's", "name a subtensor node in chain.endpoints"
        ) from None


def _u32(number: object) -> int:
    """Return what may be a block's number or a runtime's version (ValueError: it is neither)."""
    if not isinstance(number, int) or not 0 <= number <= _HIGHEST:
        raise ValueError
    return number


def _said(one: Seen) -> str:
    return one.seen if isinstance(one, Silent) else f"a node that answers in {one.latency_s:.1f} s"
