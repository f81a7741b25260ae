"""The sandbox that the settings ask for."""

import os

from validator.executions.sandbox.containers import ContainerSandbox
from validator.executions.sandbox.engine import Engine
from validator.executions.sandbox.labels import Owner
from validator.settings import SandboxSettings


def open_sandbox(settings: SandboxSettings, owner: str) -> ContainerSandbox | None:
    """Return the sandbox over the engine of the settings, else of DOCKER_HOST; None without either.

    Nothing is connected yet.

    Args:
        settings: the operator's.
        owner: of what is made in the engine; no two processes that use one engine at a time have the same.
    """
    host = settings.engine or os.environ.get("DOCKER_HOST")
    if not host:
        return None
    return ContainerSandbox(Engine(host), Owner(owner), runtime=settings.runtime)
