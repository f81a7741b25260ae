"""The sandbox behind the rules of docker-compose.yml: what it needs gets through, and little else."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp import web
from engine_kit import LIMITS, NOTHING, Registry, job_of, left_behind, sandbox_at
from package_files import ROOT

from validator.sandbox.interface import Ended, Evidence

_HEADERS = ("Content-Type", "X-Docker-Container-Path-Stat")


def rules() -> dict[str, re.Pattern[str]]:
    """Method to what is searched for in its path, as the compose file tells the proxy and the proxy reads it."""
    command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["engine"]["command"]
    options = (re.fullmatch(r"-allow([A-Z]+)=(.*)", option) for option in command)
    return {option[1]: re.compile(f"^{option[2]}\\Z") for option in options if option}


def allows(method: str, path: str) -> bool:
    pattern = rules().get(method)
    return pattern is not None and pattern.search(path) is not None


async def at_once(_method: str, _path: str) -> None:
    """Hold nothing up."""


@asynccontextmanager
async def proxy(
    folder: Path, before: Callable[[str, str], Awaitable[None]] = at_once
) -> AsyncIterator[tuple[str, list[str]]]:
    """A socket that lets through what the rules allow; yields its address and what it refused.

    What was asked for is passed on after `before`, also to anyone who is gone by then.
    """
    refused = list[str]()
    engine = aiohttp.UnixConnector(os.environ["DOCKER_HOST"].removeprefix("unix://"))

    async def forward(request: web.Request) -> web.StreamResponse:
        if not allows(request.method, request.path):
            refused.append(f"{request.method} {request.path}")
            return web.json_response({"message": "not allowed"}, status=403)
        body = await request.read()
        await before(request.method, request.path)
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        url = f"http://engine{request.raw_path}"
        async with session.request(request.method, url, data=body, headers=headers) as reply:
            given = web.StreamResponse(status=reply.status)
            given.content_type = reply.content_type if "Content-Type" in reply.headers else "text/plain"
            await given.prepare(request)
            async for piece in reply.content.iter_any():
                await given.write(piece)
            return given

    app = web.Application(client_max_size=256 * 1024**2)
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app, shutdown_timeout=0)
    async with aiohttp.ClientSession(connector=engine) as session:
        await runner.setup()
        await web.UnixSite(runner, str(folder / "proxy.sock")).start()
        try:
            yield f"unix://{folder}/proxy.sock", refused
        finally:
            await runner.cleanup()


@pytest.mark.engine
async def test_all_that_the_sandbox_does_gets_through(registry: Registry, tmp_path: Path) -> None:
    image = await registry.image(files={"marker": "proxied"})  # it is pulled first
    async with proxy(tmp_path) as (host, refused):
        sandbox = sandbox_at(host=host)
        job = await job_of(
            registry, "echo > $SSSA_EVIDENCE/file; sleep 98765", of=image, limits=replace(LIMITS, wall_s=1)
        )
        found = await sandbox.run(job)
        assert isinstance(found, Evidence), found
        assert (found.ended, set(found.files)) == (Ended.OUT_OF_TIME, {"file"})
        sandbox._clean = False
        assert await sandbox.start() is None
        await sandbox.close()
    assert refused == []
    assert await left_behind() == NOTHING


@pytest.mark.engine
@pytest.mark.parametrize("what", ["volumes/create", "containers/create"])
async def test_what_is_being_made_when_a_run_is_cancelled_is_removed(
    registry: Registry, tmp_path: Path, what: str
) -> None:
    asked, go_on, passed_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def held(_method: str, path: str) -> None:
        if path.endswith(what) and not asked.is_set():
            asked.set()
            await go_on.wait()
            passed_on.set()

    async with proxy(tmp_path, held) as (host, _):
        sandbox = sandbox_at(host=host)
        running = asyncio.ensure_future(sandbox.run(await job_of(registry, "sleep 98765")))
        await asked.wait()
        running.cancel()
        await asyncio.wait([running], timeout=0.2)  # for one that does not wait to be gone
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        await passed_on.wait()
        await sandbox.close()
    assert await left_behind() == NOTHING


@pytest.mark.parametrize(
    "call",
    [
        "POST /v1.41/containers/sssa-run-00-image/exec",
        "POST /v1.41/exec/0/start",
        "POST /v1.41/containers/other/start",
        "POST /v1.41/containers/sssa-run-00-image/../../other/start",
        "POST /v1.41/build",
        "POST /v1.41/images/load",
        "POST /v1.41/networks/create",
        "POST /v1.41/plugins/pull",
        "POST /v1.41/swarm/init",
        "GET /v1.41/containers/other/json",
        "GET /v1.41/containers/other/archive",
        "GET /v1.41/events",
        "GET /v1.41/secrets",
        "PUT /v1.41/containers/other/archive",
        "DELETE /v1.41/containers/other",
        "DELETE /v1.41/volumes/other",
        "DELETE /v1.41/images/theirs:latest",
        "DELETE /v1.41/images/sha256:00",
        "POST /v1.41/images/theirs:latest/tag",
        "GET /v1.41/networks/v1.41/info",
        "GET /versions",
        "GET /v1.41/info/more",
        "HEAD /_ping",
    ],
)
def test_what_the_sandbox_does_not_do_is_refused(call: str) -> None:
    method, _, path = call.partition(" ")
    assert not allows(method, path)
