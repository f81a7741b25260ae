"""A sandbox for the local network: the runtime image made here, served on loopback, run by this machine's engine."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from localnet.images.machine import ImageError
from localnet.images.registry import ImageRegistry
from localnet.images.runtime import runtime_image
from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.sandbox.code_containers import ContainerCodeSandbox
from validator.sandbox.containers import ContainerSandbox, Owner
from validator.sandbox.engine import Engine, EngineError
from validator.sandbox.interface import CodeSandbox, Sandbox, SandboxFailure, SandboxJob
from validator.settings.model import Settings
from validator.store import Store
from validator.tasks.source import FETCH_S, Order, SourcedTask, TaskSource

MOST_S: Final = 120.0
_LOOK_S: Final = 0.5


async def _at_once() -> None:
    return


@dataclass(slots=True)
class PatientSource:
    """A task source that gives out nothing before `ready` has returned."""

    inner: TaskSource
    ready: Callable[[], Awaitable[None]] = field(default=_at_once)

    async def fetch(
        self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
    ) -> list[SourcedTask]:
        """Wait, then return what the inner source does."""
        await self.ready()
        return await self.inner.fetch(skill_type, count, order, within_s)

    async def reachable(self) -> bool:
        """Return what the inner source does."""
        return await self.inner.reachable()

    async def close(self) -> None:
        """Close the inner source."""
        await self.inner.close()


async def all_run_again(store: Store, clock: Clock, most_s: float = MOST_S) -> None:
    """Return when no answer waits to be run again, or after so long: an engine that fails must not stop rounds."""
    until = clock.monotonic() + most_s
    while clock.monotonic() < until:
        async with store.read() as tx:
            if not await tx.executions.unended():
                return
        await clock.sleep(_LOOK_S)


SOCKET: Final = Path("/var/run/docker.sock")
NO_ENGINE: Final = f"no container engine: neither sandbox.engine nor DOCKER_HOST names one, and there is no {SOCKET}"
NOT_WANTED: Final = "--no-executions"
_PULL_S: Final = 60.0  # of an image on this machine
_TRIAL: Final = {"main.sh": b"true\n"}
_NONCE: Final = "00" * 32


@dataclass(frozen=True, slots=True)
class Executions:
    """Execution of answers of the local network.

    Attributes:
        sandbox: where; None if nothing is run again.
        image: that rounds name for runtime types.
        why_not: in a line, why nothing is run again; empty if it is.
        code: where code of plans is judged; None if none is.
    """

    sandbox: Sandbox | None
    image: RuntimeImage = UNPUBLISHED
    why_not: str = ""
    code: CodeSandbox | None = None

    @classmethod
    def none(cls, why_not: str) -> Self:
        """Return executions that do not take place."""
        return cls(None, why_not=why_not)


@asynccontextmanager
async def local_executions(settings: Settings, *, wanted: bool = True) -> AsyncIterator[Executions]:
    """Yield how answers are run again on this machine; a machine that cannot is no error.

    Afterwards the sandbox is closed, and the images that it pulled are gone from the engine.

    Args:
        settings: the local network's; of `sandbox` the engine and the runtime count.
        wanted: False leaves the engine alone.
    """
    address = engine_address(settings) if wanted else None
    if address is None:
        yield Executions.none(NO_ENGINE if wanted else NOT_WANTED)
        return
    try:
        image = await asyncio.to_thread(runtime_image)
    except (ImageError, OSError) as error:
        yield Executions.none(printable(str(error)))
        return
    async with ImageRegistry() as registry:
        served = registry.put("sssa/runner", image)
        sandbox = _sandbox(settings, address)
        try:
            why_not = await _trial(sandbox, served)
            code = ContainerCodeSandbox(sandbox)
            yield Executions.none(why_not) if why_not else Executions(sandbox, served, code=code)
        finally:
            await sandbox.close()
            await _forget(address, served)


def engine_address(settings: Settings) -> str | None:
    """Return where the engine of the settings, else of DOCKER_HOST, else of this machine listens; None without any."""
    default = f"unix://{SOCKET}" if SOCKET.is_socket() else None
    return settings.sandbox.engine or os.environ.get("DOCKER_HOST") or default


def _sandbox(settings: Settings, address: str) -> ContainerSandbox:
    # The store can be open once: a run after a crash finds what the crashed one left in the engine, and no other's.
    owner = f"devnet-{sha256_hex(settings.store.url.reveal().encode())[:12]}"
    return ContainerSandbox(
        Engine(address),
        Owner(owner),
        runtime=settings.sandbox.runtime,
        pull_s=_PULL_S,
    )


async def _trial(sandbox: ContainerSandbox, image: RuntimeImage) -> str:
    """Run a script that does nothing; return what keeps the engine from running images of here, "" if nothing does."""
    skill_type = SkillType.EXECUTABLE_SCRIPT
    job = SandboxJob(image, skill_type, pack(_TRIAL), _NONCE, probe_values(_NONCE))
    outcome = await sandbox.start() or await sandbox.run(job)
    if isinstance(outcome, SandboxFailure):
        return printable(f"{outcome.reason}: {outcome.detail}")
    if outcome.files.keys() != {f"{name}.jsonl" for name in trace_names(skill_type)} or not outcome.files["fs.jsonl"]:
        return printable(f"the image does not run in this engine: {outcome.log.decode('utf-8', 'replace')[-400:]}")
    return ""


async def _forget(address: str, image: RuntimeImage) -> None:
    """Take the image out of the engine: nobody will ask for it under this registry's name again."""
    engine = Engine(address)
    try:
        await engine.untag(image.pinned)
    except EngineError:
        return  # an engine that is away keeps it
    finally:
        await engine.close()
