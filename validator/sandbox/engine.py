"""HTTP client of the container engine for the sandbox: every call has a time limit, every reply a size limit."""

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import aiohttp
from aiodocker import Docker, DockerError

from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from validator.cancellation import complete
from validator.sandbox.interface import PLATFORM

_AWAY = 900  # what aiodocker calls a failed connection
_NOT_THERE = 404
_REFUSED = frozenset({400, 409})
_FRAME = 8  # bytes of a log frame's header, the last four its length
_MAX_SHOWN = 400  # characters of what the engine says


class EngineError(ValidatorError):
    """The container engine failed."""


class EngineAwayError(EngineError):
    """The container engine cannot be reached."""


class EngineSlowError(EngineError):
    """The container engine took too long."""


class NotThereError(EngineError):
    """The container engine knows no such thing."""


class RefusedError(EngineError):
    """The container engine refused the request."""


class TooLargeError(ValidatorError):
    """There is more data than the limit."""


class Engine:
    """A connection to a container engine (unix://, tcp:// or https://); it is opened by the first call.

    A call without its own limit may take `call_s`.
    """

    def __init__(self, host: str, call_s: float = 60.0) -> None:
        self._host = host
        self._call_s = call_s
        self._client: Docker | None = None

    @property
    def _docker(self) -> Docker:
        if self._client is None:
            try:
                self._client = Docker(self._host)
            except (ValueError, ImportError) as error:
                raise EngineAwayError(f"{printable(self._host)}: {error}") from None
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def info(self) -> Mapping[str, Any]:
        """Return the engine's description of itself."""
        async with self._call("info"):
            return await self._docker.system.info()

    async def image(self, reference: str) -> Mapping[str, Any] | None:
        """Return the image of that id or reference; None if it is not here."""
        with contextlib.suppress(NotThereError):
            async with self._call("look at an image"):
                return await self._docker.images.inspect(reference)
        return None

    async def untag(self, reference: str) -> None:
        """Remove this name of an image, and the image with its last name; do nothing while a container uses it."""
        with contextlib.suppress(NotThereError, RefusedError):
            async with self._call("remove an image"):
                await self._docker.images.delete(reference)

    async def pull(self, reference: str, seconds: float) -> None:
        """Pull an image within so many seconds (EngineError: it was not pulled)."""
        params = {"fromImage": reference}
        async with self._call("pull an image", seconds), self._reply("images/create", params, "POST") as reply:
            async for line in reply.content:
                event = json.loads(line)
                if "error" in event:
                    raise EngineError(f"pull an image: {printable(str(event['error'])[:_MAX_SHOWN])}")

    async def make_volume(self, name: str, labels: Mapping[str, str], options: Mapping[str, str]) -> None:
        """Make a volume of the local driver; a cancellation waits until it is made."""
        config = {"Name": name, "Labels": dict(labels), "Driver": "local", "DriverOpts": dict(options)}

        async def make() -> None:
            async with self._call("make a volume"):
                await self._docker.volumes.create(config)  # type: ignore[no-untyped-call]

        await complete(make())

    async def volumes(self, label: str) -> list[Mapping[str, Any]]:
        """Return the volumes that have the label."""
        async with self._call("list volumes"):
            listed = await self._docker.volumes.list(filters={"label": [label]})  # type: ignore[no-untyped-call]
        return listed["Volumes"] or []

    async def remove_volume(self, name: str) -> None:
        """Remove a volume if it exists."""
        with contextlib.suppress(NotThereError):
            async with self._call("remove a volume"):
                await self._docker._query_json(f"volumes/{name}", "DELETE")  # noqa: SLF001 - see _reply

    async def make_container(self, name: str, config: Mapping[str, Any]) -> None:
        """Make a container, which does not run yet; a cancellation waits until it is made."""

        async def make() -> None:
            async with self._call("make a container"):
                await self._docker.containers.create(dict(config), name=name)

        await complete(make())

    async def start(self, name: str) -> None:
        """Start a container."""
        async with self._call("start a container"):
            await self._docker.containers.container(name).start()

    async def ended(self, name: str, seconds: float) -> bool:
        """Wait for a container's end, at most so long; return whether it came."""
        try:
            async with self._call("wait for a container", seconds):
                await self._docker.containers.container(name).wait()
        except EngineSlowError:
            return False
        return True

    async def kill(self, name: str) -> None:
        """Kill all of a container's processes, if there are any."""
        with contextlib.suppress(NotThereError, RefusedError):
            async with self._call("kill a container"):
                await self._docker.containers.container(name).kill()

    async def container(self, name: str) -> Mapping[str, Any]:
        """Return the engine's description of a container."""
        async with self._call("look at a container"):
            return await self._docker.containers.container(name).show()

    async def containers(self, label: str) -> list[Mapping[str, Any]]:
        """Return the containers that have the label, running or not."""
        async with self._call("list containers"):
            listed = await self._docker.containers.list(all=True, filters={"label": [label]})
        return [container._container for container in listed]  # noqa: SLF001 - it has no other way to its facts

    async def remove_container(self, name: str) -> None:
        """Kill and remove a container with its anonymous volumes, if it exists."""
        with contextlib.suppress(NotThereError):
            async with self._call("remove a container"):
                await self._docker.containers.container(name).delete(force=True, v=True)

    async def put(self, name: str, path: str, tar: bytes) -> None:
        """Unpack a tar of ours in a container's folder."""
        params = {"path": path}
        async with self._call("put files"), self._reply(f"containers/{name}/archive", params, "PUT", tar):
            pass

    async def get(self, name: str, path: str, most: int) -> bytes:
        """Return the tar of a container's folder.

        Raises:
            TooLargeError: it has more than `most` bytes.
            EngineError: anything else.
        """
        async with self._call("get files"), self._reply(f"containers/{name}/archive", {"path": path}) as reply:
            data = await _bounded(reply, most)
        if len(data) > most:
            raise TooLargeError(f"its files have more than {most} bytes")
        return data

    async def log(self, name: str, most: int) -> bytes:
        """Return the last bytes, at most `most`, of a container's two outputs."""
        params = {"stdout": "true", "stderr": "true"}
        async with self._call("read a log"), self._reply(f"containers/{name}/logs", params) as reply:
            data = await _bounded(reply, 64 * most)  # headers take eight bytes a line, and lines may be short
        return _plain(data)[-most:]

    @contextlib.asynccontextmanager
    async def _reply(
        self, path: str, params: Mapping[str, str], method: str = "GET", tar: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a reply before its body is read; aiodocker's own calls read all of it, however large."""
        body = None if tar is None else io.BytesIO(tar)  # large bytes would go out in one piece
        headers = None if tar is None else {"Content-Type": "application/x-tar"}
        query = self._docker._query(path, method, params=dict(params), data=body, headers=headers)  # noqa: SLF001
        async with query as reply:
            try:
                yield reply
            finally:
                reply.close()  # what was not read is never sent

    @contextlib.asynccontextmanager
    async def _call(self, what: str, seconds: float | None = None) -> AsyncIterator[None]:
        limit = self._call_s if seconds is None else seconds
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            raise EngineSlowError(f"{what}: more than {limit:g} s") from None
        except DockerError as error:
            detail = f"{what}: {printable(str(error.message)[:_MAX_SHOWN])}"
            raise _kind(error.status)(detail) from None
        except ValueError:
            raise EngineError(f"{what}: an answer that is no engine's") from None
        except (aiohttp.ClientError, OSError) as error:
            raise EngineAwayError(f"{what}: {printable(str(error)[:_MAX_SHOWN])}") from None


def _kind(status: int) -> type[EngineError]:
    if status == _AWAY:
        return EngineAwayError
    if status == _NOT_THERE:
        return NotThereError
    return RefusedError if status in _REFUSED else EngineError


async def _bounded(reply: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the body, or the first bytes of a larger one, a little more than `most`."""
    data = bytearray()
    async for piece in reply.content.iter_any():
        data += piece
        if len(data) > most:
            break
    return bytes(data)


def _plain(frames: bytes) -> bytes:
    """Return the frames' contents in a row; the last frame may be cut."""
    listed, at = bytearray(), 0
    while at + _FRAME <= len(frames):
        size = int.from_bytes(frames[at + 4 : at + _FRAME], "big")
        listed += frames[at + _FRAME : at + _FRAME + size]
        at += _FRAME + size
    return bytes(listed)


_LIMITS: Final = {
    "MemoryLimit": "a limit of memory",
    "SwapLimit": "a limit of swap (on cgroup v1 the kernel parameter swapaccount=1)",
    "CpuCfsQuota": "a limit of CPU time",
    "PidsLimit": "a limit of processes",
}


def platform_of(system: object, architecture: object) -> str:
    """Return a platform by the name that images have; an engine names its own architecture as the kernel does."""
    return f"{system}/{architecture}".replace("x86_64", "amd64")


def lacks(info: Mapping[str, Any], runtime: str | None) -> list[str]:
    """Return what the engine lacks, by its own description; empty if it can run the sandbox with the OCI runtime."""
    listed = [description for name, description in _LIMITS.items() if info.get(name) is not True]
    if platform_of(info.get("OSType"), info.get("Architecture")) != PLATFORM:
        listed.append(f"images for {PLATFORM}")
    options = [str(option).split(",") for option in info.get("SecurityOptions") or []]
    if not any("name=seccomp" in option and "profile=unconfined" not in option for option in options):
        listed.append("a seccomp profile")
    if runtime is not None and runtime not in (info.get("Runtimes") or {}):
        listed.append(f"the runtime {runtime}")
    return listed
