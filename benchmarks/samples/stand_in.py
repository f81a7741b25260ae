"""Miners in their own process: whatever they are asked, they say the same after a while, and the like each time.

What runs this script prints the ports that it listens at; it ends with its standard input.
"""

import asyncio
import json
import random
import resource
import socket
import sys
from typing import Final

PORTS: Final = 8  # a queue of connections that wait to be accepted is bounded: so there are several
_WAITING: Final = 1_024
_ANSWER: Final = 9_600  # bytes: what an honest answer to a content type has


class Miner(asyncio.Protocol):
    """One connection, which it keeps unless it is asked to close it."""

    def __init__(self, delay_s: float, response: bytes) -> None:
        self._delay_s = delay_s
        self._response = response
        self._head = b""
        self._missing: int | None = None
        self._close = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Listen."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Count the request's bytes; answer a while after the last one."""
        if self._missing is None:
            self._head += data
            head, end, rest = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:])
            self._close = fields.get(b"connection") == b"close"
            self._missing, data = int(fields.get(b"content-length", 0)), rest
        self._missing -= len(data)
        if self._missing <= 0:
            self._head, self._missing = b"", None
            asyncio.get_running_loop().call_later(self._delay_s, self._answer)

    def _answer(self) -> None:
        if isinstance(self._transport, asyncio.WriteTransport) and not self._transport.is_closing():
            self._transport.write(self._response)
            if self._close:
                self._transport.close()


async def serve(delay_s: float) -> None:
    """Listen, say where, and answer until standard input ends."""
    answer = json.dumps({"answer": random.Random(1).randbytes(_ANSWER // 2).hex()}).encode()
    response = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
    loop, sockets = asyncio.get_running_loop(), [socket.create_server(("127.0.0.1", 0)) for _ in range(PORTS)]
    for one in sockets:
        await loop.create_server(lambda: Miner(delay_s, response), sock=one, backlog=_WAITING)
    print(*(one.getsockname()[1] for one in sockets), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def many_descriptors() -> None:
    """Raise this process's bound on open files to what the system allows."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    many_descriptors()
    asyncio.run(serve(float(sys.argv[1])))
