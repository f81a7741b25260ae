"""Container sandbox: each run executes the runtime image in its own isolated container with enforced limits (SPEC 15).

A tmpfs volume is lost when its last container stops. A second container, the holder, sleeps with the same isolation and
keeps the volumes mounted, so that the evidence is read from a container that never ran the bundle.
"""

import asyncio
import os
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from sssa.protocol.archives import ArchiveError, pack_tar, tar_bound, unpack_tar
from sssa.protocol.bundles import read_bundle
from sssa.protocol.limits import MAX_BUNDLE_ENTRIES, MAX_BUNDLE_EXPANDED, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from sssa.sources import Clock, SystemClock, SystemRandom
from validator.cancellation import complete
from validator.sandbox.engine import (
    Engine,
    EngineAwayError,
    EngineError,
    EngineSlowError,
    RefusedError,
    TooLargeError,
    lacks,
    platform_of,
)
from validator.sandbox.interface import (
    BUNDLE,
    EVIDENCE,
    PLATFORM,
    SCRATCH,
    TRACER,
    USER,
    Ended,
    Evidence,
    SandboxFailure,
    SandboxJob,
    SandboxLimits,
    environment,
)
from validator.settings.model import SandboxSettings
from validator.telemetry import Event

_PAGE: Final = 4_096
_HOLDER: Final = SandboxLimits(memory=64 * MIB, processes=64, open_files=256)  # its start needs more than its `sleep`
_SHARED: Final = 64 * MIB  # /dev/shm, which counts as memory
_SCRATCH_ENTRIES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the image: `program` is the argument of its entry point, `bundle` a tar of the bundle's folder."""

    program: str
    bundle: bytes
    variables: Mapping[str, str]
    limits: SandboxLimits


def bundle_options() -> dict[str, str]:
    """Return the options of the volume that holds the bundle: in memory, large enough for any."""
    return _tmpfs(MAX_BUNDLE_EXPANDED + 2 * _PAGE * MAX_BUNDLE_ENTRIES, 2 * MAX_BUNDLE_ENTRIES + 64, "0755", "")


def evidence_options(limits: SandboxLimits) -> dict[str, str]:
    """Return the options of the volume that an image writes to: in memory, limited to the size of the evidence."""
    return _tmpfs(limits.evidence + _PAGE * limits.entries, limits.entries, "1777", ",noexec")


def holder(image: Mapping[str, Any], name: str, run: Run, labels: Mapping[str, str], runtime: str | None) -> Any:
    """Return the configuration of the holder, which lives as long as the run may take; arguments as of `container`."""
    config = _sealed(image, _HOLDER, labels, runtime)
    config["Entrypoint"] = ["sleep", str(int(run.limits.wall_s + _SLACK_S))]
    config["HostConfig"]["Mounts"] = [_volume(f"{name}-bundle", BUNDLE), _volume(f"{name}-evidence", EVIDENCE)]
    return config


def container(image: Mapping[str, Any], name: str, run: Run, labels: Mapping[str, str], runtime: str | None) -> Any:
    """Return the configuration of the container that runs the image's program.

    `name` prefixes the volumes' names. The image's own labels are emptied, so that no other program on this engine acts
    on them. `runtime` is the OCI runtime; None for the engine's own.
    """
    config = _sealed(image, run.limits, labels, runtime)
    config["Cmd"] = [run.program]
    config["Env"] = [f"{key}={value}" for key, value in run.variables.items()]
    host = config["HostConfig"]
    host["Mounts"] = [_volume(f"{name}-bundle", BUNDLE, read_only=True), _volume(f"{name}-evidence", EVIDENCE)]
    size = f"size={run.limits.scratch},nr_inodes={_SCRATCH_ENTRIES}"
    host["Tmpfs"] = {SCRATCH: f"rw,exec,nosuid,nodev,mode=1777,{size}"}
    return config


def _sealed(
    image: Mapping[str, Any], limits: SandboxLimits, labels: Mapping[str, str], runtime: str | None
) -> dict[str, Any]:
    theirs = dict.fromkeys(image["Config"].get("Labels") or {}, "")
    host: dict[str, Any] = {
        "NetworkMode": "none",
        "Dns": ["127.0.0.1"],  # instead of the host's, which are nobody's business
        "DnsSearch": ["."],
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Privileged": False,
        "Memory": limits.memory,
        "MemorySwap": limits.memory,
        "NanoCpus": int(limits.cpus * 1e9),
        "PidsLimit": limits.processes,
        "OomScoreAdj": 500,
        "IpcMode": "private",
        "ShmSize": _SHARED,
        "Ulimits": [
            _ulimit("nofile", limits.open_files),
            _ulimit("fsize", max(limits.scratch, limits.evidence)),
            _ulimit("core", 0),
        ],
        "RestartPolicy": {"Name": "no"},
        "LogConfig": {"Type": "json-file", "Config": {"max-size": str(2 * limits.log), "max-file": "2"}},
    }
    if runtime is not None:
        host["Runtime"] = runtime
    return {
        "Image": image["Id"],
        "Hostname": "sandbox",
        "User": USER,
        "Labels": theirs | dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGKILL",
        "HostConfig": host,
    }


def _ulimit(name: str, most: int) -> dict[str, Any]:
    return {"Name": name, "Soft": most, "Hard": most}


def _volume(name: str, path: str, *, read_only: bool = False) -> dict[str, Any]:
    # Without NoCopy the engine would first copy what the image has at that path.
    return {"Type": "volume", "Source": name, "Target": path, "ReadOnly": read_only, "VolumeOptions": {"NoCopy": True}}


def _tmpfs(size: int, entries: int, mode: str, more: str) -> dict[str, str]:
    options = f"size={size},nr_inodes={entries},mode={mode},nosuid,nodev{more}"
    return {"type": "tmpfs", "device": "tmpfs", "o": options}


OWNER: Final = "org.sssa.sandbox.owner"
UNTIL: Final = "org.sssa.sandbox.until"
_SLACK_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Owner:
    """One process that runs images; no two that use one engine at a time have the same name.

    Its own leftovers are removed when it starts again, those of others when their time is over.
    """

    name: str
    clock: Clock = field(default_factory=SystemClock)

    def labels(self, seconds: float) -> dict[str, str]:
        """Return the labels of something that is used for so many seconds at most."""
        until = self.clock.now().timestamp() + seconds + _SLACK_S
        return {OWNER: self.name, UNTIL: str(int(until))}

    def may_remove(self, labels: Mapping[str, str]) -> bool:
        """Return whether these labels mark a leftover, provided that this process does not use it."""
        if labels.get(OWNER) == self.name:
            return True
        until = labels.get(UNTIL, "")
        return until.isdecimal() and int(until) < self.clock.now().timestamp()


_AGAIN_S: Final = 60.0


class NoImageError(Exception):
    """The engine does not have the image; the text says why."""


class Images:
    """The images of one engine that bundles and code run in; pulling one may take `pull_s`.

    A failed pull is retried after a minute, not for every run.
    """

    def __init__(self, engine: Engine, clock: Clock, *, pull_s: float) -> None:
        self._engine = engine
        self._clock = clock
        self._pull_s = pull_s
        self._pulling = asyncio.Lock()
        self._failed: dict[str, tuple[float, str]] = {}

    async def present(self, image: RuntimeImage) -> Mapping[str, Any]:
        """Return the engine's description of the image; pull it first if it is missing.

        Raises:
            NoImageError: it cannot be pulled, or has the wrong digest or platform.
            EngineError: the engine failed otherwise.
        """
        async with self._pulling:
            details = await self._engine.image(image.pinned)
            if details is None:
                await self._pull(image)
                details = await self._engine.image(image.pinned)
        if details is None or not any(name.endswith(f"@{image.digest}") for name in details["RepoDigests"] or ()):
            raise NoImageError(f"{image.pinned}: the pulled image has a different digest")
        if platform_of(details["Os"], details["Architecture"]) != PLATFORM:
            raise NoImageError(f"{image.pinned} is not for {PLATFORM}")
        return details

    async def _pull(self, image: RuntimeImage) -> None:
        at, why = self._failed.get(image.pinned, (-_AGAIN_S, ""))
        if self._clock.monotonic() - at >= _AGAIN_S:
            try:
                return await self._engine.pull(image.pinned, self._pull_s)
            except (EngineAwayError, EngineSlowError):
                raise
            except EngineError as error:
                why = f"{image.pinned}: {error.detail}"
                self._failed[image.pinned] = (self._clock.monotonic(), why)
        raise NoImageError(why)


_FOLDER: Final = EVIDENCE.rpartition("/")[2]
_log = structlog.get_logger()
_END_S: Final = 60.0  # how long a killed container may take to end


class Containers:
    """Runner of containers on one engine. The engine may be unavailable at the start; each run retries.

    Args:
        owner: label of the created containers and volumes.
        runtime: the OCI runtime that the image runs in, `runsc` for gVisor; None for the engine's own.
        pull_s: how long pulling an image may take.

    Attributes:
        set_aside: leftovers that the engine does not remove, name to reason. They do not block other runs.
    """

    def __init__(self, engine: Engine, owner: Owner, *, runtime: str | None = None, pull_s: float = 600.0) -> None:
        self._engine = engine
        self._owner = owner
        self._runtime = runtime
        self._images = Images(engine, owner.clock, pull_s=pull_s)
        self.set_aside: dict[str, str] = {}
        self._live: set[str] = set()
        self._starting = asyncio.Lock()
        self._clean = False

    async def start(self) -> SandboxFailure | None:
        """Check that the engine is suitable, and remove leftovers of earlier processes.

        Return the problem that keeps images from running, or None. Each run repeats the check until it passes.
        """
        try:
            return await self._start()
        except EngineError as error:
            return _ours(error)

    async def execute(self, image: RuntimeImage, run: Run) -> Evidence | SandboxFailure:
        """Return the evidence of the run, or the failure. Its containers and volumes are removed."""
        try:
            if (problem := await self._start()) is not None:
                return problem
            return await self._run(await self._images.present(image), run)
        except NoImageError as error:
            return SandboxFailure(Reason.SANDBOX_IMAGE, str(error))
        except EngineError as error:
            if isinstance(error, EngineAwayError):
                self._clean = False  # check the engine and leftovers again
            return _ours(error)

    async def close(self) -> None:
        """Close the connections to the engine."""
        await self._engine.close()

    async def _start(self) -> SandboxFailure | None:
        async with self._starting:
            if self._clean:
                return None
            if missing := lacks(await self._engine.info(), self._runtime):
                return SandboxFailure(Reason.SANDBOX_UNSUITABLE, f"it lacks {', '.join(missing)}")
            self._clean = True  # before the removal: leftovers created meanwhile reset it
            try:
                await self._remove_leftovers()
            except BaseException:
                self._clean = False
                raise
            return None

    async def _remove_leftovers(self) -> None:
        """Remove leftovers of earlier runs. Those that stay are kept in `set_aside` and not retried."""
        for container in await self._engine.containers(OWNER):
            name = container["Names"][0].lstrip("/")
            if self._is_leftover(name, container["Labels"]):
                await self._remove_leftover(name, self._engine.remove_container(name))
        for volume in await self._engine.volumes(OWNER):
            if self._is_leftover(volume["Name"], volume["Labels"]):
                await self._remove_leftover(volume["Name"], self._engine.remove_volume(volume["Name"]))

    async def _remove_leftover(self, name: str, removal: Awaitable[None]) -> None:
        try:
            await removal
        except EngineAwayError:
            raise
        except EngineError as error:
            self.set_aside[name] = error.detail
            _log.warning(Event.SANDBOX_CONTAINER_KEPT, name=name, detail=error.detail)

    def _is_leftover(self, name: str, labels: Mapping[str, str]) -> bool:
        known = name in self.set_aside or any(name.startswith(live) for live in self._live)
        return not known and self._owner.may_remove(labels)

    async def _run(self, image: Mapping[str, Any], run: Run) -> Evidence | SandboxFailure:
        name = f"sssa-run-{SystemRandom().token(8).hex()}"
        self._live.add(name)
        try:
            await self._hold(name, image, run)
            return await self._watched(name, image, run)
        finally:
            await complete(self._remove(name))

    async def _hold(self, name: str, image: Mapping[str, Any], run: Run) -> None:
        """Make the two volumes and their holder, and unpack the bundle."""
        labels = self._labels(run)
        await self._engine.make_volume(f"{name}-bundle", labels, bundle_options())
        await self._engine.make_volume(f"{name}-evidence", labels, evidence_options(run.limits))
        await self._engine.make_container(f"{name}-holder", holder(image, name, run, labels, self._runtime))
        await self._engine.start(f"{name}-holder")
        await self._engine.put(f"{name}-holder", BUNDLE, run.bundle)

    async def _watched(self, name: str, image: Mapping[str, Any], run: Run) -> Evidence | SandboxFailure:
        runner = f"{name}-image"
        await self._engine.make_container(runner, container(image, name, run, self._labels(run), self._runtime))
        started = self._owner.clock.monotonic()
        try:
            await self._engine.start(runner)
        except RefusedError as error:
            return SandboxFailure(Reason.SANDBOX_ENGINE, f"the image's program is not started: {error.detail}")
        in_time = await self._engine.ended(runner, run.limits.wall_s)
        seconds = self._owner.clock.monotonic() - started
        if not in_time:
            await self._engine.kill(runner)
            if not await self._engine.ended(runner, _END_S):
                raise EngineSlowError("a killed container did not end")
        state = (await self._engine.container(runner))["State"]
        try:
            files = await self._evidence(name, run)
        except (ArchiveError, TooLargeError) as error:
            return SandboxFailure(Reason.SANDBOX_EVIDENCE, error.detail)
        ended = Ended.OUT_OF_MEMORY if state["OOMKilled"] else Ended.BY_ITSELF
        log = await self._engine.log(runner, run.limits.log)
        return Evidence(files, ended if in_time else Ended.OUT_OF_TIME, state["ExitCode"], seconds, log)

    async def _evidence(self, name: str, run: Run) -> dict[str, bytes]:
        """Return the evidence folder's files; names, kinds and contents in the archive are hostile."""
        most = tar_bound(run.limits.evidence, run.limits.entries)
        data = await self._engine.get(f"{name}-holder", EVIDENCE, most)

        def read() -> dict[str, bytes]:
            files = unpack_tar(
                data, expanded=run.limits.evidence, file_size=run.limits.evidence, entries=run.limits.entries
            )
            return {path.removeprefix(f"{_FOLDER}/"): content for path, content in files}

        return await asyncio.to_thread(read)

    async def _remove(self, name: str) -> None:
        try:
            for container in (f"{name}-image", f"{name}-holder"):
                await self._engine.remove_container(container)
            for volume in (f"{name}-bundle", f"{name}-evidence"):
                await self._engine.remove_volume(volume)
        except EngineError:
            self._clean = False  # the next run begins by removing what is left
        finally:
            self._live.discard(name)

    def _labels(self, run: Run) -> dict[str, str]:
        return self._owner.labels(run.limits.wall_s)


class ContainerSandbox(Containers):
    """A `Sandbox` over a container engine."""

    async def run(self, job: SandboxJob) -> Evidence | SandboxFailure:
        """Return the evidence of the run, or the failure. Its containers and volumes are removed."""
        bundle = job.bundle
        files = {} if bundle is None else await asyncio.to_thread(read_bundle, bundle)
        return await self.execute(job.image, Run(TRACER, pack_tar(files), environment(job), job.limits))


def _ours(error: EngineError) -> SandboxFailure:
    if isinstance(error, EngineAwayError):
        return SandboxFailure(Reason.SANDBOX_NO_ENGINE, error.detail)
    if isinstance(error, EngineSlowError):
        return SandboxFailure(Reason.SANDBOX_SLOW, error.detail)
    return SandboxFailure(Reason.SANDBOX_ENGINE, error.detail)


def open_sandbox(settings: SandboxSettings, owner: str) -> ContainerSandbox | None:
    """Return the sandbox over the engine of the settings, else of DOCKER_HOST; None without either.

    Nothing is connected yet. No two processes that use one engine at a time have the same owner.
    """
    host = settings.engine or os.environ.get("DOCKER_HOST")
    if not host:
        return None
    return ContainerSandbox(Engine(host), Owner(owner), runtime=settings.runtime)
