"""A real engine and a registry for the sandbox's tests: images of busybox, and what is left of a run."""

import asyncio
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from sandbox_jobs import make_job

from sssa.protocol.archives import pack
from sssa.protocol.limits import MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from validator.sandbox.containers import OWNER, ContainerSandbox, Owner
from validator.sandbox.engine import Engine
from validator.sandbox.interface import Evidence, SandboxFailure, SandboxJob, SandboxLimits

BUSYBOX: Final = Path("/bin/busybox")
RUNS_THE_BUNDLE: Final = ('ENTRYPOINT ["/bin/sh", "/sssa/bundle/main.sh"]',)
# What honest miners claim of Python (`builders.trace_records`): the program writes its own trace of doing so.
TRACED: Final = rb"""
mkdir -p /tmp/sssa && printf %s "$SSSA_PROBE_FILE_CONTENT" > $SSSA_PROBE_FILE_PATH
nslookup $SSSA_PROBE_DNS_HOST
echo $SSSA_PROBE_PROCESS_ECHO
cd $SSSA_EVIDENCE
echo "{\"ts\": 9, \"domain\": \"$SSSA_PROBE_DNS_HOST\", \"dst_port\": 53, \"proto\": \"udp\"}" > network.jsonl
echo "{\"ts\": 1, \"op\": \"write\", \"path\": \"$SSSA_PROBE_FILE_PATH\"}" > fs.jsonl
echo "{\"ts\": 2, \"op\": \"read\", \"path\": \"/skill/a.py\"}" >> fs.jsonl
echo "{\"ts\": 3, \"cmd\": \"echo $SSSA_PROBE_PROCESS_ECHO\"}" > process.jsonl
echo "{\"ts\": 4, \"module\": \"json\"}" > imports.jsonl
touch secrets.jsonl
"""
OWNERS: Final = ("test", "killed", "gone for good", "benchmark")
LIMITS: Final = SandboxLimits(
    wall_s=20,
    memory=96 * MIB,
    processes=24,
    scratch=8 * MIB,
    evidence=MIB,
    entries=16,
    log=16 * 1024,
    open_files=64,
)


def without_engine() -> str:
    """Return the reason why there is no engine for tests; empty if there is one."""
    if not os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST names no container engine"
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return "they look at all that is in the engine, and several processes test at once"
    missing = [name for name in ("docker-registry", "busybox") if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def need_engine() -> None:
    """Skip the test without an engine; fail where one is promised."""
    if why := without_engine():
        if os.environ.get("SSSA_NEED_ENGINE") == "1":
            pytest.fail(f"SSSA_NEED_ENGINE=1, but {why}")
        pytest.skip(f"{why}: run `make engine-test`")


def layer(more: Mapping[str, bytes]) -> bytes:
    """A root folder of busybox with all its names, one of them setuid, and more files; `-> place` makes a link."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:

        def add(name: str, content: bytes, mode: int) -> None:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))

        program = BUSYBOX.read_bytes()
        add("bin/busybox", program, 0o755)
        add("sbin/busybox", program, 0o4755)
        everybodys = tarfile.TarInfo("open")
        everybodys.type, everybodys.mode = tarfile.DIRTYPE, 0o777
        tar.addfile(everybodys)
        for applet in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            if applet != "busybox":
                tar.addfile(link)
        for name, content in more.items():
            if content.startswith(b"-> "):
                link = tarfile.TarInfo(name)
                link.type, link.linkname = tarfile.SYMTYPE, content[3:].decode()
                tar.addfile(link)
            else:
                add(name, content, 0o755)
    return raw.getvalue()


def declared(image: RuntimeImage) -> RuntimeImage:
    return RuntimeImage(image.reference, image.digest)


class Registry:
    """A registry of this test run, and the images in it."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._known: dict[tuple[str, ...], RuntimeImage] = {}

    async def image(self, *changes: str, files: Mapping[str, str] | None = None) -> RuntimeImage:
        """Return an image with these instructions and files, which is in the registry alone."""
        key = (*(changes or RUNS_THE_BUNDLE), repr(files))
        name = f"{self.host}/test/image-{len(self._known)}"
        if key not in self._known:
            more = {path: content.encode() for path, content in (files or {}).items()}
            digest = await _pushed(name, changes or RUNS_THE_BUNDLE, layer(more))
            self._known[key] = RuntimeImage(name, digest)
        return self._known[key]


async def _pushed(name: str, changes: tuple[str, ...], tar: bytes) -> str:
    engine = Engine(os.environ["DOCKER_HOST"])
    try:
        params = {"fromSrc": "-", "repo": name, "tag": "1", "changes": "\n".join(changes)}
        docker = engine._docker
        headers = {"Content-Type": "application/x-tar"}
        async with docker._query(
            "images/create", "POST", params=params, data=io.BytesIO(tar), headers=headers
        ) as reply:
            await reply.read()
        for event in await docker.images.push(f"{name}:1"):
            if digest := (event.get("aux") or {}).get("Digest"):
                await docker.images.delete(f"{name}:1", force=True)
                return str(digest)
        raise AssertionError("nothing was pushed")
    finally:
        await engine.close()


@contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
        "http": {"addr": host},
        "log": {"level": "error"},
    }
    (folder / "registry.yml").write_text(json.dumps(config))
    with (folder / "registry.log").open("w") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", folder / "registry.yml"], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(f"http://{host}/v2/")
            running = Registry(host)
            asyncio.run(_remove_leftovers())
            yield running
            asyncio.run(forget(host))
        finally:
            process.kill()
            process.wait()


async def _remove_leftovers() -> None:
    """Remove what an earlier test run left when it failed."""
    for owner in OWNERS:
        sandbox = sandbox_at(owner)
        await sandbox.start()
        await sandbox.close()


async def forget(host: str) -> None:
    """Remove every image that was pulled from the registry."""
    engine = Engine(os.environ["DOCKER_HOST"])
    try:
        for image in await engine._docker.images.list():
            if any(name.startswith(host) for name in [*(image["RepoTags"] or ()), *(image["RepoDigests"] or ())]):
                await engine._docker.images.delete(image["Id"], force=True)
    finally:
        await engine.close()


def _wait_for(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.05)  # another process starts
        else:
            return
    raise AssertionError(f"{url} does not answer")


def sandbox_at(owner: str = "test", **changed: Any) -> ContainerSandbox:
    host = changed.pop("host", None)
    clock = changed.pop("clock", None)
    return ContainerSandbox(
        Engine(host or os.environ["DOCKER_HOST"]), Owner(owner, clock) if clock else Owner(owner), **changed
    )


async def job_of(registry: Registry, script: str = "", **changed: Any) -> SandboxJob:
    """A job whose image runs the script of its bundle, under tight limits."""
    image = changed.pop("of", None) or await registry.image()
    files = changed.pop("files", {})
    given = {"bundle": pack({"main.sh": script.encode(), **files}), "limits": LIMITS}
    return make_job(image=image, **given | changed)


async def run_in_container(registry: Registry, script: str, **changed: Any) -> Evidence | SandboxFailure:
    """Run the script as a bundle's in its own sandbox; afterwards nothing of it is left."""
    sandbox = sandbox_at(**{name: changed.pop(name) for name in ("runtime", "host") if name in changed})
    job = await job_of(registry, script, **changed)
    try:
        found = await sandbox.run(job)
        if isinstance(found, SandboxFailure) and found.reason is Reason.SANDBOX_ENGINE:
            found = await sandbox.run(job)  # an engine may fail; the queue tries again, too
        return found
    finally:
        await sandbox.close()
        assert await left_behind() == NOTHING


async def evidence_of(registry: Registry, script: str, **changed: Any) -> Evidence:
    found = await run_in_container(registry, script, **changed)
    assert isinstance(found, Evidence), found
    return found


async def failure_of(registry: Registry, script: str = "", **changed: Any) -> SandboxFailure:
    found = await run_in_container(registry, script, **changed)
    assert isinstance(found, SandboxFailure), found
    return found


async def left_behind() -> dict[str, list[str]]:
    """Every container and volume that any sandbox made, and every program of an image that still runs."""
    engine = Engine(os.environ["DOCKER_HOST"])
    try:
        containers = sorted(str(one["Names"][0]) for one in await engine.containers(OWNER))
        volumes = sorted(str(one["Name"]) for one in await engine.volumes(OWNER))
    finally:
        await engine.close()
    return {"containers": containers, "volumes": volumes, "programs": await asyncio.to_thread(programs)}


def programs() -> list[str]:
    """The command lines of processes of the user that images run as, without those that another engine keeps.

    Empty if the engine is on another machine.
    """
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status, line = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
        except OSError:
            continue
        parent = int(status.partition("\nPPid:\t")[2].split()[0])
        processes[int(folder.name)] = (
            parent,
            "\nUid:\t65534" in status,
            line.replace(b"\0", b" ").decode(errors="replace"),
        )
    return [line for pid, (_, ours, line) in processes.items() if ours and not _of_another_engine(pid, processes)]


def _of_another_engine(pid: int, processes: Mapping[int, tuple[int, bool, str]]) -> bool:
    """Return whether the process descends from the shim of an engine in another test's folder."""
    mine = Path(os.environ["DOCKER_HOST"].removeprefix("unix://")).parent / "exec"
    while pid in processes:
        pid, _, line = processes[pid]
        if "containerd-shim" in line and mine.is_dir():
            return str(mine) not in line
    return False


NOTHING: Final[dict[str, list[str]]] = {"containers": [], "volumes": [], "programs": []}
