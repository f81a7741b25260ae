"""What a killed validator leaves in the engine, and which images are kept."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from engine_kit import NOTHING, Registry, job_of, left_behind, sandbox_at

from validator.protocol.limits import MIB
from validator.reruns.sandbox.containers import ContainerSandbox
from validator.reruns.sandbox.job import Evidence
from validator.reruns.sandbox.labels import OWNER, PULLED, Owner
from validator.sources import SystemClock, VirtualClock

pytestmark = pytest.mark.engine
CHILD = Path(__file__).parents[1] / "core" / "sandbox_child.py"


async def killed_in_the_middle(registry: Registry, owner: str) -> None:
    """Run an image in a process that ends by kill -9 while the image runs."""
    image = await registry.image()
    command = [sys.executable, str(CHILD), image["image"], image["digest"], owner]
    child = await asyncio.create_subprocess_exec(*command, cwd=CHILD.parent)
    sandbox = sandbox_at(registry, "watching")
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
    sandbox = sandbox_at(registry, "killed")
    assert await sandbox.start() is None
    assert await left_behind() == NOTHING
    await sandbox.close()


async def test_what_another_one_left_is_removed_when_its_time_is_over(registry: Registry) -> None:
    await killed_in_the_middle(registry, "gone for good")
    before = await left_behind()
    early = sandbox_at(registry, "other")
    assert await early.start() is None
    assert await left_behind() == before
    await early.close()
    late = sandbox_at(registry, "other", clock=VirtualClock(SystemClock().now() + timedelta(hours=1)))
    assert await late.start() is None
    assert await left_behind() == NOTHING
    await late.close()


async def test_starting_again_leaves_alone_what_runs(registry: Registry) -> None:
    sandbox = sandbox_at(registry)
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


async def kept(sandbox: ContainerSandbox, *images: dict[str, str]) -> list[bool]:
    references = [f"{image['image']}@{image['digest']}" for image in images]
    return [await sandbox._engine.image(reference) is not None for reference in references]


async def test_an_image_that_was_pulled_when_the_validator_died_is_removed(registry: Registry) -> None:
    image = await registry.image(files={"marker": "half pulled"})
    reference = f"{image['image']}@{image['digest']}"
    sandbox = sandbox_at(registry)
    await sandbox._engine.make_volume("sssa-pull-test", Owner("test").labels(60) | {PULLED: reference}, {})
    await sandbox._engine.pull(reference, 100 * MIB, 60)
    assert await kept(sandbox, image) == [True]
    assert await sandbox.start() is None
    assert await kept(sandbox, image) == [False]
    assert await left_behind() == NOTHING
    await sandbox.close()


async def test_the_image_used_longest_ago_goes_first(registry: Registry) -> None:
    images = [await registry.image(files={"marker": f"cached {number}"}, size=3 * MIB) for number in range(3)]
    sandbox = sandbox_at(registry, room=18 * MIB)

    async def use(number: int) -> None:
        assert isinstance(await sandbox.run(await job_of(registry, "true", of=images[number])), Evidence)

    for number in (0, 1, 0):
        await use(number)
    assert await kept(sandbox, *images) == [True, True, False]
    await use(2)
    assert await kept(sandbox, *images) == [True, False, True]
    await sandbox.close()


async def test_an_image_that_the_operator_has_is_never_removed(registry: Registry) -> None:
    theirs = await registry.image(files={"marker": "the operator's"})
    more = await registry.image(files={"marker": "another"})
    sandbox = sandbox_at(registry, room=0)
    await sandbox._engine.pull(f"{theirs['image']}@{theirs['digest']}", 100 * MIB, 60)
    for image in (theirs, more):
        assert isinstance(await sandbox.run(await job_of(registry, "true", of=image)), Evidence)
    assert await kept(sandbox, theirs) == [True]
    await sandbox.close()


async def test_an_engine_that_is_away_is_ours_and_may_come(registry: Registry, tmp_path: Path) -> None:
    later = tmp_path / "engine.sock"
    sandbox = sandbox_at(registry, host=f"unix://{later}")
    away = await sandbox.run(await job_of(registry, "true"))
    assert not isinstance(away, Evidence)
    assert (away.reason.value, away.ours) == ("sandbox_no_engine", True)
    later.symlink_to(os.environ["DOCKER_HOST"].removeprefix("unix://"))
    assert isinstance(await sandbox.run(await job_of(registry, "true")), Evidence)
    await sandbox.close()
