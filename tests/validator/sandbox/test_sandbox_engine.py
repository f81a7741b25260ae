"""Required abilities of an engine, and engines that fail; none of them is real."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from engine_in_memory import FIT
from sandbox_jobs import DIGEST, make_job

from sssa.protocol.reasons import Reason
from validator.sandbox import containers as recipe
from validator.sandbox.containers import OWNER, ContainerSandbox, Owner, open_sandbox
from validator.sandbox.engine import Engine, lacks
from validator.sandbox.interface import SandboxFailure, SandboxLimits
from validator.settings.model import SandboxSettings

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.mark.parametrize(
    ("changed", "runtime", "missing"),
    [
        ({}, None, []),
        ({}, "runc", []),
        ({}, "runsc", ["the runtime runsc"]),
        ({"MemoryLimit": False}, None, ["a limit of memory"]),
        ({"SwapLimit": False}, None, ["a limit of swap (on cgroup v1 the kernel parameter swapaccount=1)"]),
        ({"CpuCfsQuota": False, "PidsLimit": None}, None, ["a limit of CPU time", "a limit of processes"]),
        ({"SecurityOptions": []}, None, ["a seccomp profile"]),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, None, ["a seccomp profile"]),
        ({"SecurityOptions": None, "Runtimes": None}, None, ["a seccomp profile"]),
        ({"Architecture": "aarch64"}, None, ["images for linux/amd64"]),
        ({"OSType": "windows"}, None, ["images for linux/amd64"]),
    ],
)
def test_an_engine_that_cannot_hold_a_limit_is_unfit(changed: Any, runtime: str | None, missing: list[str]) -> None:
    assert lacks({**FIT, **changed}, runtime) == missing


def test_an_images_labels_and_health_check_are_emptied() -> None:
    theirs = {"Id": DIGEST, "Config": {"Labels": {"com.docker.compose.project": "validator", OWNER: "them"}}}
    run = recipe.Run("tracer", b"", {}, SandboxLimits())
    made = recipe.container(theirs, "sssa-run-0", run, {OWNER: "us"}, "runsc")
    assert made["Labels"] == {"com.docker.compose.project": "", OWNER: "us"}
    assert made["Healthcheck"] == {"Test": ["NONE"]}
    assert (made["Image"], made["HostConfig"]["Runtime"]) == (DIGEST, "runsc")
    assert "Runtime" not in recipe.container(theirs, "sssa-run-0", run, {}, None)["HostConfig"]


@contextlib.asynccontextmanager
async def engine_of(tmp_path: Path, handler: Handler) -> AsyncIterator[str]:
    """An engine's socket at which `handler` answers everything but the version."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/version"):
            return web.json_response({"ApiVersion": "1.41"})
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.UnixSite(runner, str(tmp_path / "engine.sock")).start()
    try:
        yield f"unix://{tmp_path}/engine.sock"
    finally:
        await runner.cleanup()


async def failure_at(host: str, call_s: float = 5.0, **job: Any) -> SandboxFailure:
    sandbox = ContainerSandbox(Engine(host, call_s), Owner("test"))
    try:
        found = await sandbox.run(make_job(**job))
    finally:
        await sandbox.close()
    assert isinstance(found, SandboxFailure), found
    return found


async def test_an_unfit_engine_is_told_what_it_lacks(tmp_path: Path) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({**FIT, "PidsLimit": False})

    async with engine_of(tmp_path, answer) as host:
        found = await failure_at(host)
    assert found == SandboxFailure(Reason.SANDBOX_UNSUITABLE, "it lacks a limit of processes")
    assert found.ours


async def test_an_engine_that_fails_is_ours(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"message": "no space \x1b[2J left"}, status=500)

    async with engine_of(tmp_path, answer) as host:
        found = await failure_at(host)
    assert (found.reason, found.ours) == (Reason.SANDBOX_ENGINE, True)
    assert "no space" in found.detail
    assert found.detail.isprintable()


async def test_an_engine_that_says_nothing_is_ours(tmp_path: Path) -> None:
    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(1)
        return web.Response()

    async with engine_of(tmp_path, answer) as host:
        found = await failure_at(host, call_s=0.2)
    assert (found.reason, found.ours) == (Reason.SANDBOX_SLOW, True)


@pytest.mark.parametrize("host", ["unix:///nowhere/engine.sock", "tcp://127.0.0.1:9"])
async def test_an_engine_that_is_away_is_ours(host: str) -> None:
    found = await failure_at(host)
    assert (found.reason, found.ours) == (Reason.SANDBOX_NO_ENGINE, True)


@pytest.mark.parametrize(
    "message", [f"manifest for a@{DIGEST} not found: manifest unknown", "toomanyrequests", "no such host"]
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_an_image_that_cannot_be_pulled_is_ours(tmp_path: Path, message: str, streamed: bool) -> None:
    async def answer(request: web.Request) -> web.Response:
        path = request.path.partition("/v1.41/")[2]
        if path == "info":
            return web.json_response(FIT)
        if path == "containers/json":
            return web.json_response([])
        if path == "volumes":
            return web.json_response({"Volumes": None})
        if path == "volumes/create":
            return web.json_response({"Name": "x"})
        if path == "images/create":
            status = 200 if streamed else 404
            return web.json_response({"error": message, "message": message}, status=status)
        return web.json_response({"message": "no such thing"}, status=404)

    async with engine_of(tmp_path, answer) as host:
        found = await failure_at(host)
    assert (found.reason, found.ours) == (Reason.SANDBOX_IMAGE, True), found
    assert DIGEST in found.detail


def test_the_settings_say_which_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert open_sandbox(SandboxSettings(), "hotkey") is None
    monkeypatch.setenv("DOCKER_HOST", "unix:///theirs.sock")
    by_variable = open_sandbox(SandboxSettings(), "hotkey")
    asked = SandboxSettings(engine="tcp://engine:2375", runtime="runsc")
    by_setting = open_sandbox(asked, "hotkey")
    assert by_variable is not None
    assert by_setting is not None
    assert by_variable._engine._host == "unix:///theirs.sock"
    assert by_setting._engine._host == "tcp://engine:2375"
    assert by_setting._runtime == "runsc"
    assert by_setting._owner.name == "hotkey"


@pytest.mark.parametrize(
    "engine", ["/var/run/docker.sock", "ssh://host", "tcp://user:secret@host:1", "unix://", "nonsense"]
)
def test_what_is_no_engine_is_refused_by_the_settings(engine: str) -> None:
    with pytest.raises(ValueError, match="engine"):
        SandboxSettings(engine=engine)
