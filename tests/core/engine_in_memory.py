"""A container engine in memory, as far as sandboxes ask: what is made stays until it is removed, and calls can wait."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sssa.protocol.runtime_image import RuntimeImage
from validator.sandbox.engine import Engine, EngineError, NotThereError

FIT: dict[str, Any] = {
    "OSType": "linux",
    "Architecture": "x86_64",
    "MemoryLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "PidsLimit": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"],
    "Runtimes": {"runc": {}},
}


@dataclass
class Gate:
    """One call that waits: `met` once it has come, until `open`."""

    met: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)


class MemoryEngine(Engine):
    """Programs write nothing and end at once. `gates`: by the name of a call, where the next of that name waits.

    `broken`: by the name of a call, what each of that name fails with.
    """

    def __init__(self) -> None:
        super().__init__("unix:///nowhere")
        self.gates: dict[str, Gate] = {}
        self.broken: dict[str, EngineError] = {}
        self.pulls: list[str] = []
        self.calls: Counter[str] = Counter()
        self._containers: dict[str, Mapping[str, str]] = {}
        self._volumes: dict[str, Mapping[str, str]] = {}
        self._images: dict[str, list[str]] = {}  # id to names

    @property
    def leftovers(self) -> list[str]:
        """Containers and volumes."""
        return [*self._containers, *self._volumes]

    def gate(self, call: str) -> Gate:
        return self.gates.setdefault(call, Gate())

    async def _came(self, call: str) -> None:
        self.calls[call] += 1
        gate = self.gates.pop(call, None)
        if gate is not None:
            gate.met.set()
            await gate.open.wait()
        if call in self.broken:
            raise self.broken[call]

    async def close(self) -> None:
        pass

    async def info(self) -> Mapping[str, Any]:
        return FIT

    def _named(self, reference: str) -> str | None:
        return next((one for one, names in self._images.items() if reference in (one, *names)), None)

    async def image(self, reference: str) -> Mapping[str, Any] | None:
        found = self._named(reference)
        if found is None:
            return None
        names = self._images[found]
        return {
            "Id": found,
            "Os": "linux",
            "Architecture": "amd64",
            "Config": {"Cmd": ["run"]},
            "RepoDigests": [name for name in names if "@" in name],
        }

    async def pull(self, reference: str, seconds: float) -> None:
        self.pulls.append(reference)
        await self._came("pull")
        self._images[f"sha256:{reference}"] = [reference]

    async def load(self, tar: bytes, repository: str, tag: str) -> None:
        self._images[f"sha256:{tag}"] = [f"{repository}:{tag}"]

    async def make_volume(self, name: str, labels: Mapping[str, str], options: Mapping[str, str]) -> None:
        self._volumes[name] = labels

    async def volumes(self, label: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = [
            {"Name": name, "Labels": labels} for name, labels in self._volumes.items() if label in labels
        ]
        await self._came("volumes")
        return found

    async def remove_volume(self, name: str) -> None:
        await self._came("remove_volume")
        self._volumes.pop(name, None)

    async def make_container(self, name: str, config: Mapping[str, Any]) -> None:
        if self._named(config["Image"]) is None:
            raise NotThereError(config["Image"])
        self._containers[name] = config["Labels"]

    async def start(self, name: str) -> None:
        pass

    async def ended(self, name: str, seconds: float) -> bool:
        await self._came("ended")
        return True

    async def container(self, name: str) -> Mapping[str, Any]:
        return {"State": {"OOMKilled": False, "ExitCode": 0}}

    async def containers(self, label: str) -> list[Mapping[str, Any]]:
        return [
            {"Names": [f"/{name}"], "Labels": labels} for name, labels in self._containers.items() if label in labels
        ]

    async def remove_container(self, name: str) -> None:
        await self._came("remove_container")
        self._containers.pop(name, None)

    async def put(self, name: str, path: str, tar: bytes) -> None:
        pass

    async def get(self, name: str, path: str, most: int) -> bytes:
        raise EngineError("no evidence")

    async def log(self, name: str, most: int) -> bytes:
        return b""


def pinned(number: int) -> RuntimeImage:
    return RuntimeImage("registry.example/image", f"sha256:{number:064x}")
