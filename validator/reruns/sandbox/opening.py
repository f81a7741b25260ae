"""The sandboxes that the settings ask for."""

import os

from validator.protocol.runtime_image import RuntimeImage
from validator.reruns.sandbox.code_containers import ContainerCodeSandbox
from validator.reruns.sandbox.containers import Containers, ContainerSandbox
from validator.reruns.sandbox.engine import Engine
from validator.reruns.sandbox.labels import Owner
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
    return ContainerSandbox(
        Engine(host),
        Owner(owner),
        runtime=settings.runtime,
    )


def open_code_sandbox(settings: SandboxSettings, containers: Containers | None) -> ContainerCodeSandbox | None:
    """Return the sandbox for code over the containers of the other one; None without them or without a runner.

    Args:
        settings: the operator's.
        containers: where the runner's image runs; closed by whom they belong to.
    """
    if containers is None or settings.runner is None:
        return None
    return ContainerCodeSandbox(containers, RuntimeImage.named(settings.runner))
