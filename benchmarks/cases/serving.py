"""`validator serve`: reads of an attestation on one processor, next to an aiohttp that does nothing else; a page's CPU.

The client is raw sockets on four connections that stay open, while 200 others are open and idle.
"""

import asyncio
import logging
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil
import structlog
from attested import BUNDLE, PUBLISHES, Attested
from cli_store import called, environment
from harness import Case
from samples.commands import PROGRAM, PYTHON
from samples.played_rounds import played
from samples.whole_rounds import whole_rounds

from publisher.web.admission import Viewer
from publisher.web.screens import SCREENS, page
from validator.audit.documents import RoundDocument, TaskDocument, round_document
from validator.store import open_store

_READS: Final = 4_000
_CONNECTIONS: Final = 4
_IDLE: Final = 200
_TASKS: Final = 64
_PATH: Final = f"/api/v1/attestations/{BUNDLE}"
_PACE: Final = 1_000  # reads a second next to rounds
_ROUNDS: Final = 7
_DELAY_S: Final = 1.0  # of every miner's answer
_SETTINGS: Final = f"""{PUBLISHES}
[web]
api = true
port = 0
public = ["attestations"]
requests = 100000
[log]
format = "json"
"""
_BARE: Final = """
import sys
from aiohttp import web
body = open(sys.argv[1], "rb").read()
async def give(_):
    return web.Response(body=body, content_type="application/json")
async def start(app):
    print('"addresses": ["127.0.0.1:%d"]' % listening.getsockname()[1], flush=True)
import socket
listening = socket.create_server(("127.0.0.1", 0))
app = web.Application()
app.router.add_get("/{path:.*}", give)
app.on_startup.append(start)
web.run_app(app, sock=listening, print=None, access_log=None)
"""


_READERS: Final = """
import socket, sys, time
connection, pace = socket.create_connection((sys.argv[1], int(sys.argv[2]))), float(sys.argv[4])
request, start, done = sys.argv[3].encode(), time.monotonic(), 0
print("reads", flush=True)
while True:
    connection.sendall(request)
    head, data = b"", b""
    while b"\\r\\n\\r\\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\\r\\n\\r\\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    while len(body) < length:
        body += connection.recv(65_536)
    done += 1
    time.sleep(max(0.0, start + done / pace - time.monotonic()))
"""


def cases() -> Iterator[Case]:
    """Yield reads of an attestation, rounds next to such readers, and the page of a round."""
    with tempfile.TemporaryDirectory(prefix="serving") as name, ExitStack() as stack:
        folder = Path(name)
        asyncio.run(_play(folder))
        settings, document = folder / "validator.toml", folder / "document.json"
        settings.write_text(_SETTINGS.format(folder=folder))
        called("attestation", "key", "--new", "--config", str(settings))
        called("attestation", "export", BUNDLE, "--out", str(document), "--config", str(settings))
        ours = stack.enter_context(_running(*PROGRAM, "serve", "--config", str(settings)))
        bare = stack.enter_context(_running(*PYTHON[:1], "-c", _BARE, str(document)))
        etag = re.search(rb"ETag: (\S+)", _response(socket.create_connection(ours[1]), b"")[0])
        known = b"If-None-Match: %b\r\n" % etag[1] if etag else b""
        for what, header in (("read", b""), ("read that the reader has", known)):
            yield Case(
                f"an attestation {what}, {document.stat().st_size:,} bytes",
                "reads per s of CPU",
                partial(_reads_per_cpu_s, *ours, header),
                partial(_reads_per_cpu_s, *bare, b""),
                "aiohttp giving these bytes",
                "> 1,000",
                runs=5,
            )
        yield Case(
            f"rounds beyond the slowest answer, next to {_PACE:,} reads a second",
            "ms",
            partial(_beyond_ms, ours[1]),
            partial(_beyond_ms, None),
            "the same without readers",
            "ratio ≤ 1.1",
            runs=3,
            warm_up=0,
        )
        large = _large_round()
        for cells, demand in ((5, "< 100"), (64, "")):
            wide = msgspec.structs.replace(large, tasks=tuple(_wide(one, cells) for one in large.tasks))
            yield Case(
                f"the page of a round, {_TASKS} tasks, {cells} members each",
                "ms",
                partial(_page_ms, wide),
                demand=demand,
            )


async def _play(folder: Path) -> None:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        await Attested(store).begin(vouched=False)


@contextmanager
def _running(*command: str) -> Iterator[tuple[psutil.Process, tuple[str, int]]]:
    """Give the process of a server and its address, while 200 connections to it are idle."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    with ExitStack() as stack:
        stack.callback(process.wait)
        stack.callback(process.kill)
        line = process.stdout.readline() if process.stdout else ""
        host, _, port = line.partition('"addresses": ["')[2].partition('"')[0].rpartition(":")
        address = host, int(port)
        for _ in range(_IDLE):
            stack.enter_context(socket.create_connection(address))
        yield psutil.Process(process.pid), address


def _reads_per_cpu_s(process: psutil.Process, address: tuple[str, int], header: bytes) -> float:
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(address)) for _ in range(_CONNECTIONS)]
        before = process.cpu_times()
        for _ in range(_READS // _CONNECTIONS):
            for one in connections:
                one.sendall(_request(header))
            for one in connections:
                _answer(one)
        after = process.cpu_times()
    return _READS / float(after.user + after.system - before.user - before.system)


def _beyond_ms(readers: tuple[str, int] | None) -> float:
    """Return what rounds of twelve tasks take beyond their slowest answer, with readers at an address or without."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory(prefix="rounds") as folder, ExitStack() as stack:
        if readers is not None:
            host, port = readers
            command = [sys.executable, "-c", _READERS, host, str(port), _request(b"").decode(), str(_PACE)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            if process.stdout is None or process.stdout.readline() != b"reads\n":
                raise RuntimeError("nobody reads")
        rounds = asyncio.run(whole_rounds(f"sqlite:///{folder}/store.sqlite", _ROUNDS, _DELAY_S))
        if readers is not None and process.poll() is not None:
            raise RuntimeError("the readers ended")
    return median(rounds.beyond_ms)


def _response(connection: socket.socket, header: bytes) -> tuple[bytes, bytes]:
    with connection:
        connection.sendall(_request(header))
        return _answer(connection)


def _request(header: bytes) -> bytes:
    return b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n" % (_PATH.encode(), header)


def _answer(connection: socket.socket) -> tuple[bytes, bytes]:
    """Return the head and the body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 304")):
        raise RuntimeError(head.decode())
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65_536)
    return head, body


def _large_round() -> RoundDocument:
    """Return a played round, whose tasks are repeated until there are 64."""
    url = played()

    async def read() -> RoundDocument:
        async with open_store(url) as store, store.read() as tx:
            document = await round_document(tx, 1)
        if document is None:
            raise RuntimeError("the round was played")
        return document

    document = asyncio.run(read())
    tasks = [document.tasks[number % len(document.tasks)] for number in range(_TASKS)]
    return msgspec.structs.replace(document, tasks=tuple(tasks))


def _wide(task: TaskDocument, members: int) -> TaskDocument:
    members_of = [task.dispatches[number % len(task.dispatches)] for number in range(members)]
    named = (
        one if number < len(task.dispatches) else msgspec.structs.replace(one, hotkey=f"{one.hotkey[:40]}{number:08}")
        for number, one in enumerate(members_of)
    )
    return msgspec.structs.replace(task, dispatches=tuple(named))


def _page_ms(document: RoundDocument) -> float:
    screen = next(one for one in SCREENS if one.template == "round.html")

    async def ask(*_: object, **__: object) -> RoundDocument:
        return document

    async def shown() -> Mapping[str, Any]:
        return await screen.values(ask, {"round_id": "1"})

    began = time.process_time()
    page(screen.template, Viewer(is_operator=True), **asyncio.run(shown()))
    return (time.process_time() - began) * 1_000
