"""Leftovers of a killed validator in the engine, and resources that the engine does not remove."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from engine_kit import NOTHING, Registry, job_of, left_behind, sandbox_at

from sssa.sources import SystemClock, VirtualClock
from validator.sandbox.containers import OWNER
from validator.sandbox.engine import EngineSlowError
from validator.sandbox.interface import Evidence

pytestmark = pytest.mark.engine
CHILD = Path(__file__).parents[2] / "core" / "sandbox_child.py"


async def killed_in_the_middle(registry: Registry, owner: str) -> None:
    """Run an image in a process that ends by kill -9 while the image runs."""
    image = await registry.image()
    command = [sys.executable, str(CHILD), image.reference, image.digest, owner]
    child = await asyncio.create_subprocess_exec(*command, cwd=CHILD.parent)
    sandbox = sandbox_at("watching")
    while not any(
        one["State"] == "running" and one["Names"][0].endswith("-image") and one["Labels"][OWNER] == owner
        for one in await sandbox._engine.containers(OWNER)
    ):
        assert child.returncode is None
    child.kill()
    await child.wait()
    await sandbox.close()


async def test_what_a_killed_validator_left_is_removed_when_it_starts_again(registry: Registry) -> None:
    await killed_in_the_middle(registry, "killed")
    left = await left_behind()
    assert (len(left["containers"]), len(left["volumes"])) == (2, 2)
    assert any("sleep 98765" in line for line in left["programs"])
    sandbox = sandbox_at("killed")
    assert await sandbox.start() is None
    assert await left_behind() == NOTHING
    await sandbox.close()


async def test_what_another_one_left_is_removed_when_its_time_is_over(registry: Registry) -> None:
    await killed_in_the_middle(registry, "gone for good")
    before = await left_behind()
    early = sandbox_at("other")
    assert await early.start() is None
    assert await left_behind() == before
    await early.close()
    late = sandbox_at("other", clock=VirtualClock(SystemClock().now() + timedelta(hours=1)))
    assert await late.start() is None
    assert await left_behind() == NOTHING
    await late.close()


async def test_starting_again_leaves_alone_what_runs(registry: Registry) -> None:
    sandbox = sandbox_at()
    running = asyncio.ensure_future(sandbox.run(await job_of(registry, "sleep 3; echo done")))
    while not any(one["State"] == "running" for one in await sandbox._engine.containers(OWNER)):
        pass
    sandbox._clean = False  # as after a removal that failed
    assert await sandbox.start() is None
    found = await running
    assert isinstance(found, Evidence)
    assert found.log == b"done\n"
    await sandbox.close()
    assert await left_behind() == NOTHING


async def test_a_leftover_that_the_engine_does_not_remove_bars_no_run(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await killed_in_the_middle(registry, "killed")
    sandbox = sandbox_at("killed")
    remove = sandbox._engine.remove_container

    async def stuck(name: str) -> None:
        if name.endswith("-image") and name in left:
            raise EngineSlowError("remove a container: more than 60 s")
        await remove(name)

    left = [name.lstrip("/") for name in (await left_behind())["containers"]]
    monkeypatch.setattr(sandbox._engine, "remove_container", stuck)
    for _ in range(2):
        assert isinstance(await sandbox.run(await job_of(registry, "true")), Evidence)
    assert next(iter(sandbox.set_aside)) in left
    await sandbox.close()
    again = sandbox_at("killed")  # after a restart
    assert await again.start() is None
    assert await left_behind() == NOTHING
    await again.close()


async def test_an_engine_that_is_away_is_ours_and_may_come(registry: Registry, tmp_path: Path) -> None:
    later = tmp_path / "engine.sock"
    sandbox = sandbox_at(host=f"unix://{later}")
    away = await sandbox.run(await job_of(registry, "true"))
    assert not isinstance(away, Evidence)
    assert (away.reason.value, away.ours) == ("sandbox_no_engine", True)
    later.symlink_to(os.environ["DOCKER_HOST"].removeprefix("unix://"))
    assert isinstance(await sandbox.run(await job_of(registry, "true")), Evidence)
    await sandbox.close()
