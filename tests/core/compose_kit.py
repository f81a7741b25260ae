"""The operator's image and docker-compose.yml as `docker` runs them, next to a subnet of miners on this machine."""

import asyncio
import io
import json
import os
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from base_image import base_image
from daemon_process import Miners
from package_files import ROOT
from world import VALIDATOR, tasks_of_all_types

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.task import Windows
from sssa.sources import SystemClock
from taskmaker.packing import write_task

BASE: Final = "python:3.12-slim"
_STAND_IN: Final = "sssa-test/base"
_CONTEXT: Final = ("Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE", "requirements")
_TREES: Final = ("migrations", "validator", "sssa", "publisher", "taskmaker", "miner", "localnet", "runner")
_USER: Final = 10001


def without_compose() -> str:
    """Return the reason why these tests cannot run here; empty if they can."""
    if not os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST names no container engine"
    missing = [name for name in ("docker", "docker-compose") if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    networks = docker("network", "ls", "--format", "{{.Name}}").split()
    ours = "networks=yes" in docker("info", "--format", "{{.Labels}}")
    return "" if ours or "bridge" in networks else "the engine has no networks: `.ci/engine start FOLDER networks`"


def need_compose() -> None:
    """Skip the test where it cannot run; fail where that is promised."""
    if why := without_compose():
        if os.environ.get("SSSA_NEED_ENGINE") == "1":
            pytest.fail(f"SSSA_NEED_ENGINE=1, but {why}")
        pytest.skip(f"{why}: run `pytest -m engine tests/compose`")


def docker(*command: str, data: bytes | None = None) -> str:
    """Return the output of a docker command, which must succeed."""
    done = subprocess.run(["docker", *command], input=data, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]
    return done.stdout.decode()


def tell(text: str) -> None:
    """Print a figure."""
    print(text)  # noqa: T201 - the figures are the point


def base_of_builds() -> str:
    """The base that the engine has: the real one, else one of this machine's Python."""
    found = subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False)
    if found.returncode == 0:
        return BASE
    if subprocess.run(["docker", "image", "inspect", _STAND_IN], capture_output=True, check=False).returncode:
        docker("import", "--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin", "-", _STAND_IN, data=base_image())
    return _STAND_IN


def built(tag: str, context: Path = ROOT, *options: str) -> str:
    """Build the operator's image and return its name."""
    command = ["build", "--network", "host", "--build-arg", f"BASE={base_of_builds()}", "--target", "operator"]
    command = ["docker", *command, *options, "--tag", tag, str(context)]
    environ = {**os.environ, "DOCKER_BUILDKIT": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return tag


@contextmanager
def changed_context(folder: Path, file: str, line: str) -> Iterator[Path]:
    """A copy of what a build takes, with one line more in one file."""
    for name in _CONTEXT:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, folder / name)
    for name in _TREES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / file).open("a") as stream:
        stream.write(line)
    yield folder


@cache
def operators_image() -> str:
    """The operator's image of this tree; skips the test where none can be built."""
    need_compose()
    return built("sssa-test/validator:1")


def layers_of(image: str) -> list[str]:
    return list(json.loads(docker("image", "inspect", image))[0]["RootFS"]["Layers"])


@dataclass(frozen=True, slots=True)
class Stack:
    """Services next to the validator.

    Attributes:
        variables: of `.env`, such as COMPOSE_PROFILES.
        files: next to docker-compose.yml.
        services: what one more compose file changes of them.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    services: Mapping[str, Any] = field(default_factory=dict)


ALONE: Final = Stack()


class Operator:
    """Somebody with docker-compose.yml, settings, and their own project on the engine.

    Args:
        folder: of settings and tasks.
        image: the validator's.
        network: of the project; the engine's machine is at its gateway.
        stack: what runs next to the validator.
    """

    def __init__(self, folder: Path, image: str, network: str, stack: Stack = ALONE) -> None:
        self.project = f"sssa{uuid.uuid4().hex[:8]}"
        self.settings = folder / "validator.toml"
        self.tasks = folder / "tasks"
        (folder / "wallets").mkdir()
        env = {"SETTINGS": self.settings, "TASKS": self.tasks, "WALLETS": folder / "wallets", **stack.variables}
        (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in env.items()))
        own = {
            "version": "3.9",
            "services": {"validator": {"image": image}, **stack.services},
            "networks": {"default": {"external": True, "name": network}},
        }
        (folder / "own.yml").write_text(json.dumps(own))
        files = [*(ROOT / name for name in ("docker-compose.yml", *stack.files)), folder / "own.yml"]
        options = [word for file in files for word in ("-f", str(file))]
        self._compose = ["docker-compose", "-p", self.project, "--env-file", str(folder / ".env"), *options]

    @property
    def container(self) -> str:
        """The validator's."""
        return self.container_of("validator")

    def container_of(self, service: str) -> str:
        return f"{self.project}_{service}_1"

    async def compose(self, *command: str, code: int = 0) -> str:
        """Return the output of docker-compose, which must end with this code."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._compose, *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=ROOT
        )
        out, err = await process.communicate()
        assert process.returncode == code, (out + err).decode()[-4000:]
        return out.decode()

    async def says(self, *command: str, code: int = 0) -> str:
        """Return the output of a command in the running container."""
        return await self.compose("exec", "-T", "validator", "validator", *command, code=code)

    async def alone(self, *command: str) -> str:
        """Return the output of a command in its own container, as an operator runs one."""
        return await self.compose("run", "--rm", "validator", *command)

    def put(self, folder: Path) -> None:
        """Put files into the volume, as the container's user has them."""
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as tar:
            for file in sorted(folder.iterdir()):
                info = tar.gettarinfo(file, file.name)
                info.uid = info.gid = _USER
                with file.open("rb") as stream:
                    tar.addfile(info, stream)
        docker("cp", "-", f"{self.container}:/data", data=raw.getvalue())

    def state(self, service: str = "validator") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(docker("inspect", self.container_of(service)))[0]
        return {**found["State"], "RestartCount": found["RestartCount"]}

    def log(self) -> str:
        done = subprocess.run(["docker", "logs", self.container], capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    async def until(self, holds: Callable[[], bool], seconds: float = 90) -> None:
        """Wait for the thing itself."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not await asyncio.to_thread(holds):
            assert loop.time() < end, self.log()[-3000:]
            await asyncio.sleep(0.2)


@asynccontextmanager
async def network() -> AsyncIterator[tuple[str, str]]:
    """A network of the engine and the address of its machine in it."""
    name = f"sssa-test-{uuid.uuid4().hex[:8]}"
    docker("network", "create", name)
    try:
        found = json.loads(docker("network", "inspect", name))[0]["IPAM"]["Config"][0]
        yield name, str(found["Gateway"])
    finally:
        docker("network", "rm", name)


def events(log: str, name: str) -> Sequence[dict[str, Any]]:
    """The log's lines of one event."""
    lines = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == name]


SETTINGS: Final = """
[validator]
netuid = {netuid}
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "/data/chain.json"
[rounds]
interval_s = 0.5
grace_s = 60.0
[tasks]
canaries = false
[miners]
allow_private_axons = true
[log]
format = "json"
"""
_LONG: Final = Windows((0, 60), (0, 60))


@asynccontextmanager
async def operated(folder: Path, image: str, stack: Stack = ALONE) -> AsyncIterator[tuple[Operator, Miners]]:
    """A validator's container that is made and not started, next to a subnet of miners on this machine."""
    async with network() as (name, host):
        miners = Miners(6, host)
        await miners.start()
        operator = Operator(folder, image, name, stack)
        operator.settings.write_text(SETTINGS.format(netuid=1))
        for number, task in enumerate(tasks_of_all_types(_LONG)):
            write_task(task, operator.tasks / f"{number:02}")
        (folder / "data").mkdir()
        clock = SystemClock()
        rules = SubnetRules(seed="t", genesis=int(clock.now().timestamp()), block_time_s=0.5, tempo=20)
        subnet = SimulatedSubnet.create(rules, clock, folder / "data" / "chain.json")
        subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        for hotkey, axon in miners.axons.items():
            subnet.register(hotkey, axon=axon)
        try:
            await operator.compose("up", "--no-build", "--no-start")
            operator.put(folder / "data")
            yield operator, miners
        finally:
            await operator.compose("down", "--volumes", "--timeout", "1")
            await miners.close()


async def rounds(operator: Operator) -> dict[int, dict[str, Any]]:
    listed = json.loads(await operator.alone("rounds", "list", "--json", "--limit", "10000"))["rounds"]
    by_id = {row["round_id"]: row for row in listed}
    assert len(by_id) == len(listed)
    return by_id
