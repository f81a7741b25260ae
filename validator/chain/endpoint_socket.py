"""Websocket to one endpoint, for the SDK's session; it breaks if the endpoint is unhealthy.

The session then dials again, `Endpoints` chooses another endpoint, and open requests are repeated. If no other endpoint
is healthy, the caller gets the fault as an error that names method and endpoint.
"""

import asyncio
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from sssa.protocol.text import printable
from validator.chain.endpoints import Endpoints
from validator.chain.limits import Limits
from validator.chain.probe import is_refusal, refusal_text
from validator.settings.urls import shown_url

_POLICY: Final = 1008
_NULL: Final = type(None)
# What a node answers to the calls that the SDK makes; null, where the parameters may name nothing.
_ANSWERS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("chain_getFinalizedHead", "chain_getHead", "state_call", "state_getMetadata"), (str,)),
    **dict.fromkeys(("author_submitAndWatchExtrinsic", "chain_subscribeNewHeads"), (str, int)),
    **dict.fromkeys(("chain_getBlockHash", "state_getStorageAt"), (str, _NULL)),
    **dict.fromkeys(("chain_getBlock", "chain_getHeader"), (dict, _NULL)),
    **dict.fromkeys(("state_getKeysPaged", "state_queryStorageAt"), (list,)),
    "account_nextIndex": (int,),
    "state_getRuntimeVersion": (dict,),
}
_NAMES: Final = {_NULL: "null", bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
_NUMBER: Final = "a number"
_ERROR: Final = -32_000


class EndpointSocket:
    """The connection; every answer is checked.

    Args:
        socket: connected.
        endpoint: of the connection.
    """

    def __init__(self, socket: ClientConnection, endpoint: str, endpoints: Endpoints, limits: Limits) -> None:
        self.endpoint = endpoint
        self._socket = socket
        self._endpoints = endpoints
        self._limits = limits
        self._pending: dict[Any, tuple[str, float]] = {}  # the oldest first, by id: its method, and when it was sent
        self._reason = ""

    async def send(self, message: str) -> None:
        """Send a request, or a list of them."""
        now = asyncio.get_running_loop().time()
        for request in _listed(json.loads(message)):
            self._pending[request["id"]] = request["method"], now
        await self._socket.send(message)

    async def recv(self) -> str | bytes:
        """Return the next message, checked (ConnectionError: the endpoint is not used any more)."""
        raw = await self._received()
        try:
            messages = _listed(json.loads(raw))
        except ValueError:
            messages = [None]
        passed = [one for one in map(self._checked, messages) if one is not None]
        if self._reason:
            raise ConnectionError(self._reason)
        return raw if passed == messages else json.dumps(passed)

    async def _received(self) -> str | bytes:
        while not self._reason:
            try:
                async with asyncio.timeout(self._limits.look_s / 5):
                    return await self._socket.recv()
            except TimeoutError:
                self._check_silence()
            except ConnectionClosed as error:
                if error.rcvd is not None and error.rcvd.code == _POLICY:  # at its own error the SDK would give up
                    reason = f"it closes the connection for its policy: {error.rcvd.reason}"
                    self._endpoints.leave(self.endpoint, reason)
                    self.drop(reason)
                elif not self._reason:
                    raise
        raise ConnectionError(self._reason)

    def _check_silence(self) -> None:
        """Leave an endpoint that does not answer; without another one, wait for as long as a call may take."""
        method, since = next(iter(self._pending.values()), ("", math.inf))
        silent_s, answer_s = asyncio.get_running_loop().time() - since, self._limits.answer_s
        has_left = silent_s > answer_s and self.leave(f"no answer to `{method}` within {answer_s:g} s")
        if silent_s > self._limits.call_s and not has_left:
            self.drop(f"no answer for {self._limits.call_s:g} s")

    async def close(self) -> None:
        """Close the connection."""
        await self._socket.close()

    def leave(self, reason: str) -> bool:
        """Leave the endpoint and return True, if another one is healthy."""
        if not self._endpoints.leave(self.endpoint, reason):
            return False
        self.drop(reason)
        return True

    def drop(self, reason: str) -> None:
        """Break the connection: open requests are repeated on the next one."""
        self._reason = reason
        with suppress(AttributeError):  # a transport that is gone
            self._socket.transport.abort()

    def _checked(self, message: Any) -> dict[str, Any] | None:
        """Return the message, or an error in its place if it is no healthy node's answer; None: no message at all."""
        if not isinstance(message, dict) or not isinstance(number := message.get("id"), int | None):
            self.leave("what it sends is no JSON-RPC")
            return None
        if number is None:
            return message
        method, _ = self._pending.pop(number, ("", 0.0))
        result, kinds, fault = message.get("result"), _ANSWERS.get(method), ""
        if "error" in message:
            if is_refusal(message["error"]):
                fault = f"it refuses `{method}`: {refusal_text(message['error'])}"
        elif kinds is not None and (not isinstance(result, kinds) or isinstance(result, bool)):
            expected = _NAMES.get(kinds[0], _NUMBER)
            fault = f"answer to `{method}` is {_NAMES.get(type(result), _NUMBER)}, expected {expected}"
        if not fault or self.leave(fault):
            return message
        text = printable(f"{shown_url(self.endpoint)}: {fault}", 300)
        return {"jsonrpc": "2.0", "id": number, "error": {"code": _ERROR, "message": text}}


def _listed(message: Any) -> list[Any]:
    return message if isinstance(message, list) else [message]
