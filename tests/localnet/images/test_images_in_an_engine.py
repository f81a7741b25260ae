"""Built images in a real engine: pulled by digest and run as a miner's image."""

from typing import Any

import pytest
from engine_kit import NOTHING, Registry, forget, left_behind, sandbox_at
from sandbox_jobs import make_job

from localnet.images.build import Image, python_image
from localnet.images.machine import PYTHON
from localnet.images.registry import ImageRegistry
from localnet.images.tree import File
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import RuntimeImage
from validator.sandbox.interface import Ended, Evidence, SandboxFailure

pytestmark = pytest.mark.engine

PROGRAM = b"""
import os, pathlib, sqlite3, ssl, subprocess, sys
told = subprocess.run(["bash", "-c", "id -u; echo $GREETING; python3 --version"], capture_output=True, text=True)
pathlib.Path(os.environ["SSSA_EVIDENCE"], "told").write_text(told.stdout + sys.base_prefix)
"""


def made(**changed: Any) -> Image:
    files = {"app/__main__.py": File(PROGRAM)}
    given: dict[str, Any] = {"env": {"GREETING": "hello"}, "tools": ["bash", "id", "sleep"]}
    return python_image(files, [PYTHON, "-I", "/app"], **given | changed)


async def run(served: ImageRegistry, image: RuntimeImage) -> Evidence | SandboxFailure:
    sandbox = sandbox_at()
    try:
        return await sandbox.run(make_job(image=image))
    finally:
        await sandbox.close()
        await forget(served.host)


async def test_an_engine_pulls_it_by_digest_and_it_runs(registry: Registry) -> None:
    async with ImageRegistry() as served:
        declared = served.put("sssa/test", made())
        found = await run(served, declared)
        assert isinstance(found, Evidence), found
        assert (found.ended, found.exit_code, found.log) == (Ended.BY_ITSELF, 0, b"")
        user, greeting, version, prefix = found.files["told"].decode().splitlines()
        assert (user, greeting, version.split()[0], prefix) == ("65534", "hello", "Python", "/usr/local")
    assert await left_behind() == NOTHING


async def test_what_is_not_served_is_no_image(registry: Registry) -> None:
    async with ImageRegistry() as served:
        declared = served.put("sssa/test", made())
        for other in (
            RuntimeImage(declared.reference, "sha256:" + "5e" * 32),
            RuntimeImage(f"{served.host}/sssa/other", declared.digest),
        ):
            found = await run(served, other)
            assert isinstance(found, SandboxFailure)
            assert found.reason is Reason.SANDBOX_IMAGE
