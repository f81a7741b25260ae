"""Miners over HTTP in memory: the product's own client speaks to them, through transports without a socket."""

import asyncio
import errno
import os
from collections.abc import Callable
from random import Random
from typing import Any, Final

from simulation.loop import VirtualLoop
from validator.miners.scripted import ScriptedReply
from validator.outgoing.calls import Call

Answer = Callable[[str, Call], ScriptedReply]
_LONGEST_S: Final = 60.0  # more than any deadline
_TWICE: Final = 0.1  # of responses are sent twice over; what follows a response is none of it


class Link(asyncio.Transport):
    """The client's end of a connection to a miner, which answers one request.

    Args:
        loop: of the life.
        client: reads the response.
        hotkey: the miner's.
        answer: decides what it does with a request.
        random: draws into which portions the response falls.
    """

    def __init__(
        self, loop: VirtualLoop, client: asyncio.Protocol, hotkey: str, answer: Answer, random: Random
    ) -> None:
        super().__init__()
        self._loop, self._client, self._hotkey, self._answer, self._random = loop, client, hotkey, answer, random
        self._request, self._arrived = b"", b""
        self._closing = self._paused = self._answered = self._ended = False
        client.connection_made(self)

    def write(self, data: Any) -> None:
        """Take bytes of the request; what is whole is answered."""
        self._request += bytes(data)
        head, end, body = self._request.partition(b"\r\n\r\n")
        if not end or self._answered or self._closing:
            return
        method, path, *_ = head.split(b"\r\n")[0].decode().split()
        fields = dict(line.decode().lower().split(": ", 1) for line in head.split(b"\r\n")[1:])
        if len(body) < int(fields.get("content-length", 0)):
            return
        self._answered = True
        self._respond(self._answer(method, Call(self._hotkey, None, path, body, _LONGEST_S, 0)))

    def _respond(self, reply: ScriptedReply) -> None:
        """Let the response arrive in up to three portions, the last of them when the reply says."""
        if reply.status is None:
            self._loop.call_later(reply.seconds, self._lose)
            return
        head = f"HTTP/1.1 {reply.status} simulated\r\nContent-Length: {len(reply.body)}\r\n\r\n".encode()
        data = head + reply.body
        again = data if self._random.random() < _TWICE else b""
        cuts = sorted(self._random.randrange(len(data)) for _ in range(2))
        moments = sorted(reply.seconds * self._random.random() for _ in range(2))
        for part, at in zip((data[: cuts[0]], data[cuts[0] : cuts[1]]), moments, strict=True):
            self._loop.call_later(at, self._arrive, part, False)
        self._loop.call_later(reply.seconds, self._arrive, data[cuts[1] :] + again, True)

    def _arrive(self, data: bytes, last: bool) -> None:
        self._arrived += data
        self._ended |= last
        self._deliver()

    def _deliver(self) -> None:
        if self._paused or self._closing:
            return
        data, self._arrived = self._arrived, b""
        if data:
            self._client.data_received(data)
        if self._ended and not self._arrived and not self._closing:
            self._lose()

    def _lose(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._client.connection_lost, None)

    def pause_reading(self) -> None:
        """Keep what arrives."""
        self._paused = True

    def resume_reading(self) -> None:
        """Deliver what arrived."""
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._deliver)

    def is_closing(self) -> bool:
        """Return whether the connection is gone."""
        return self._closing

    def close(self) -> None:
        """End the connection."""
        self._lose()

    def abort(self) -> None:
        """End the connection."""
        self._lose()


def fault_of(reply: ScriptedReply) -> OSError | None:
    """Return why no connection comes about, None if one does."""
    number = errno.EMFILE if reply.out_of else errno.ENETUNREACH if reply.no_route else errno.ECONNREFUSED
    return OSError(number, os.strerror(number)) if reply.out_of or not reply.connects else None
