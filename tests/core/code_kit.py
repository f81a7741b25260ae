"""The runner's image in a registry, and code that is judged in it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from engine_kit import NOTHING, forget, left_behind, sandbox_at

from localnet.images.registry import ImageRegistry
from localnet.images.runtime import runtime_image
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.text import printable
from sssa.protocol.workflow_run import CodeReport
from validator.sandbox.code_containers import ContainerCodeSandbox
from validator.sandbox.containers import ContainerSandbox
from validator.sandbox.interface import CodeJob, SandboxFailure, code_limits


@contextmanager
def serving_runtime_image() -> Iterator[RuntimeImage]:
    """Serve the runtime image of this machine from a thread, and take it out of the engine at the end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    served = ImageRegistry()
    try:
        asyncio.run_coroutine_threadsafe(served.start(), loop).result(30)
        yield served.put("sssa/runner", runtime_image())
        asyncio.run(forget(served.host))
    finally:
        asyncio.run_coroutine_threadsafe(served.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@asynccontextmanager
async def code_sandbox(
    **changed: Any,
) -> AsyncIterator[tuple[ContainerSandbox, ContainerCodeSandbox]]:
    """A sandbox for code, and whose containers it uses; afterwards nothing of a run is left."""
    containers = sandbox_at(**changed)
    try:
        yield containers, ContainerCodeSandbox(containers)
    finally:
        await containers.close()
        assert await left_behind() == NOTHING


async def judged_in(
    sandbox: ContainerCodeSandbox, image: RuntimeImage, code: str, tests: str, **limits: Any
) -> CodeReport:
    result = await sandbox.check(CodeJob(image, code, tests, replace(code_limits(), **limits)))
    assert isinstance(result, CodeReport), result
    return result


def shown(result: CodeReport | SandboxFailure) -> str:
    return printable(repr(result))
