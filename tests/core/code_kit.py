"""The runner's image in a registry, and code that is judged in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from engine_kit import NOTHING, left_behind, sandbox_at

from localnet.images.registry import ImageRegistry
from localnet.images.runtime import runtime_image
from validator.protocol.code_report import CodeReport
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.text import printable
from validator.reruns.sandbox.code import CodeJob, code_limits
from validator.reruns.sandbox.code_containers import ContainerCodeSandbox
from validator.reruns.sandbox.containers import ContainerSandbox
from validator.reruns.sandbox.job import SandboxFailure


@asynccontextmanager
async def served_runner() -> AsyncIterator[RuntimeImage]:
    """The runner's image, as an engine pulls it."""
    async with ImageRegistry() as served:
        declared = served.put("sssa/runner", await asyncio.to_thread(runtime_image))
        yield declared


@asynccontextmanager
async def code_sandbox(
    runner: RuntimeImage, **changed: Any
) -> AsyncIterator[tuple[ContainerSandbox, ContainerCodeSandbox]]:
    """A sandbox for code, and whose containers it uses; afterwards nothing of a run is left."""
    containers = sandbox_at(**changed)
    try:
        yield containers, ContainerCodeSandbox(containers, runner)
    finally:
        await containers.close()
        assert await left_behind() == NOTHING


async def judged_in(sandbox: ContainerCodeSandbox, code: str, tests: str, **limits: Any) -> CodeReport:
    found = await sandbox.check(CodeJob(code, tests, replace(code_limits(), **limits)))
    assert isinstance(found, CodeReport), found
    return found


def shown(found: CodeReport | SandboxFailure) -> str:
    return printable(repr(found))
