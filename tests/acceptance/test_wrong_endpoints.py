"""`validator run` where nothing that can be used answers: exit code 10 and one line, within half a minute."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from fork_start import ran
from wallet_files import write_hotkey

from sssa.protocol.signatures import Signer
from validator.daemon.exits import Exit

SETTINGS = """
[validator]
netuid = 1
[wallet]
path = "{folder}/wallets"
[chain]
endpoints = [{endpoints}]
[store]
url = "sqlite:///{folder}/validator.sqlite"
[tasks]
directory = "{folder}"
[health]
port = 0
"""
ME = Signer.from_uri("//Validator")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def refused(folder: Path, *endpoints: str, code: Exit = Exit.ENDPOINT) -> str:
    """The one line with which `validator run` ends."""
    write_hotkey(folder / "wallets", ME)
    config = folder / "validator.toml"
    config.write_text(SETTINGS.format(folder=folder, endpoints=json.dumps(endpoints)[1:-1]))
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    done = await asyncio.to_thread(ran, "run", "--config", str(config), env=environment)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert [event for event in events if event != "chain_endpoint_unhealthy" or len(endpoints) == 1] == [
        "daemon_failed"
    ]
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    if code == Exit.ENDPOINT:
        assert lines[0].startswith("The chain could not be reached: ")
        assert "check chain.endpoints" in lines[0]
    return lines[0]


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def no_node(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    await writer.drain()
    writer.close()


@pytest.mark.faults
async def test_where_nothing_speaks_it_gives_up_after_a_while(tmp_path: Path) -> None:
    async with listening(silent) as closed:
        pass
    async with listening(silent) as mute, listening(no_node) as web_server:
        endpoints = (
            (f"ws://127.0.0.1:{closed}/secret-key", "ws://user:hunter2@127.0.0.1:1"),
            (f"ws://127.0.0.1:{mute}",),
            (f"ws://127.0.0.1:{web_server}",),
            (f"wss://127.0.0.1:{web_server}",),
        )
        lines = await asyncio.gather(*(refused(tmp_path / str(n), *each) for n, each in enumerate(endpoints)))
    refused_there = "no connection: Connection refused"
    for there in (f"ws://127.0.0.1:{closed}/***: {refused_there}", f"ws://***@127.0.0.1:1: {refused_there}"):
        assert there in lines[0]
    for line, words in zip(
        lines[1:], ("no websocket within 15 s", "HTTP 200 instead", "no TLS is spoken"), strict=True
    ):
        assert words in line


async def test_a_network_that_nobody_knows_is_a_fault_of_the_settings_that_no_restart_cures(tmp_path: Path) -> None:
    line = await refused(tmp_path, "finey", code=Exit.INPUT)
    assert "chain.endpoints: got a value that is not shown; allowed is a list of 1 to 8 of the networks archive" in line


@pytest.mark.parametrize("answer", ["error", "nonsense"])
async def test_a_websocket_that_is_no_subtensor(answer: str, tmp_path: Path) -> None:
    async def speak(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            call = json.loads(message.data)
            error = {"code": -32601, "message": "Method not found"}
            await socket.send_json(
                {"jsonrpc": "2.0", "id": call["id"]} | ({"error": error} if answer == "error" else {"result": 7})
            )
        return socket

    app = web.Application()
    app.router.add_get("/", speak)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        port = runner.addresses[0][1]
        assert f"ws://127.0.0.1:{port}" in await refused(tmp_path, f"ws://127.0.0.1:{port}")
    finally:
        await runner.cleanup()
