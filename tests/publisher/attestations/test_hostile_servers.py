"""The gate decides in bounded time, whatever a validator's server or who answers in its place does."""

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from threading import Event, Thread
from typing import Final

import pytest
from world import VALIDATOR

from sssa.attestation import gate
from sssa.attestation.gate import Hashed, decide
from sssa.attestation.policy import UNKNOWN, Policy, Trusted
from sssa.sources import SystemClock

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
OVER = Event()

Serve = Callable[[socket.socket], None]


def sends(*parts: bytes) -> Serve:
    """Send these bytes and close."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"".join(parts))

    return serve


def drips(first: bytes, part: bytes) -> Serve:
    """Send these bytes, then a part again and again, each long before a read would time out."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(first)
        for one in repeat(part):
            connection.sendall(one)
            if OVER.wait(0.05):
                return

    return serve


def floods(first: bytes, part: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        connection.sendall(first)
        while not OVER.is_set():
            connection.sendall(part)

    return serve


def silent(_: socket.socket) -> None:
    OVER.wait()


SERVERS: Final[dict[str, Serve]] = {
    "nothing": silent,
    "closes": sends(),
    "half a status line": drips(b"HTTP/1.1 2", b""),
    "a status line, dripping": drips(b"HTTP/1.1 200 ", b"O"),
    "no status": sends(b"hello\r\n\r\n"),
    "status 0": sends(b"HTTP/1.1 000 \r\n\r\n"),
    "headers, dripping": drips(HEAD, b"x"),
    "header lines, dripping": drips(HEAD, b"a: b\r\n"),
    "a thousand headers": sends(HEAD, b"a: b\r\n" * 1_000, b"\r\n"),
    "a long header": sends(HEAD, b"a: ", b"b" * 200_000, b"\r\n\r\n"),
    "100, dripping": drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 without end": floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "chunks, dripping": drips(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a chunk without size": sends(HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
    "a huge chunk": drips(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", b" "),
    "trailers, dripping": drips(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    "a body, dripping": drips(HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "a body without end": floods(HEAD + b"\r\n", b" " * 65_536),
    "less than announced": sends(HEAD, b"Content-Length: 100\r\n\r\n{}"),
    "a negative length": drips(HEAD + b"Content-Length: -1\r\n\r\n", b" "),
}


@pytest.fixture
def answering() -> Iterator[Callable[[Serve], str]]:
    """Return a function that starts a server and returns its URL."""
    listeners = list[socket.socket]()

    def accept(listener: socket.socket, serve: Serve) -> None:
        with suppress(OSError), listener.accept()[0] as connection:
            connection.recv(65_536)
            serve(connection)

    def start(serve: Serve) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        Thread(target=accept, args=(listener, serve), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    OVER.clear()
    yield start
    OVER.set()
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("names", [list(SERVERS)[:10], list(SERVERS)[10:]], ids=["first", "second"])
def test_no_server_keeps_the_gate_from_deciding(
    names: list[str], answering: Callable[[Serve], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "WHOLE_S", 1.0)
    policy = Policy(tuple(Trusted(answering(SERVERS[name]), VALIDATOR.hotkey) for name in names))
    decision = decide(policy, "skill", SystemClock(), lambda _: Hashed(("0" * 64,)))
    assert decision.code == UNKNOWN
    assert all(one.url in decision.line for one in policy.validators), decision.line


def test_a_name_that_is_looked_up_for_ever_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    OVER.clear()
    monkeypatch.setattr(gate, "WHOLE_S", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: OVER.wait() and [])
    try:
        policy = Policy((Trusted("https://validator.example", VALIDATOR.hotkey),))
        decision = decide(policy, "skill", SystemClock(), lambda _: Hashed(("0" * 64,)))
    finally:
        OVER.set()
    assert (decision.code, "no answer within 0.1 s" in decision.line) == (UNKNOWN, True)
