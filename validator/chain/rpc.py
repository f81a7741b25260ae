"""A node's JSON-RPC over one websocket, without the SDK: to see what answers, and what does so instead of a node."""

import asyncio
import itertools
import json
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import aiohttp

from validator.protocol.errors import ValidatorError
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.text import printable

_MOST: Final = 256 * 1024  # bytes of an answer
_SKIPPED: Final = 8  # messages that are not the answer
_TLS_NEEDED: Final = 400  # what a web server says to plain HTTP on its port for TLS
_SHOWN: Final = 200


class NoNodeError(ValidatorError):
    """What answers is no node that can be used.

    Args:
        seen: what did instead, or what failed.
        advice: what to do.
    """

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
        """Connect.

        Raises:
            NoNodeError: no websocket is there; it says what is.
        """
        self._session = aiohttp.ClientSession(trust_env=False)
        try:
            async with asyncio.timeout(self._limit_s):
                self._socket = await self._session.ws_connect(self._url, max_msg_size=_MOST, autoclose=True)
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
        return decode_plain(data.encode() if isinstance(data, str) else data, limit=_MOST)
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
