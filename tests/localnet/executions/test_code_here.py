"""Code workflows of the local network, judged in real containers and paid; a suite that hangs costs its own job."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from engine_kit import NOTHING, left_behind, need_engine
from local_code import GOAL, local_code_world
from replays import replayed
from waiting_world import checks_of, entries, working
from world import frozen_of, one_round

from localnet.executions.local_engine import local_executions
from sssa.protocol.round import GoalTask
from sssa.protocol.waiting_work import CodeCheck
from sssa.protocol.workflow_run import CodeReport
from sssa.protocol.workflow_task import Reference
from sssa.sources import SystemClock
from validator.settings.load import load_settings
from validator.store import open_store

pytestmark = pytest.mark.engine
CONFIG = Path(__file__).parents[3] / "config" / "demo.toml"
HANGS = (
    "import time\n\nfrom solution import slugify\n\n\n"
    "def test_for_ever():\n    slugify('a')\n    time.sleep(1000)\n\n\n"
    "def test_slugify():\n    assert slugify('A b!') == 'a-b'\n"
)
HANGING = msgspec.structs.replace(GOAL, reference=Reference(tests=HANGS))


@pytest.fixture(autouse=True)
def _engine() -> None:
    need_engine()


@pytest.mark.timeout(280)
async def test_the_local_networks_code_is_judged_in_containers_and_paid(sqlite_url: str) -> None:
    clock = SystemClock()
    async with local_executions(load_settings(CONFIG, {})) as here, open_store(sqlite_url) as store:
        assert here.why_not == ""
        assert here.code is not None
        world, _ = local_code_world(store, ("skilled",), (GOAL, HANGING))
        world.name_image(here.image)
        await one_round(world)
        tasks = (await frozen_of(store, 0)).tasks
        (hangs,) = [task.task_id for task in tasks if isinstance(task, GoalTask) and task.goal == HANGING]

        async def until_judged(task_ids: set[str]) -> dict[str, CodeCheck]:
            """Let virtual time pass next to the containers until these are judged."""
            until = clock.monotonic() + 200
            while clock.monotonic() < until:
                found = {one.task_id: one for one in await checks_of(store)}
                if all(found[task_id].state == "done" for task_id in task_ids):
                    return found
                await world.clock.advance(5.0)
                await asyncio.sleep(0.05)
            raise AssertionError(await checks_of(store))

        waiting = {one.task_id for one in await checks_of(store)}
        async with working(world, here.code):
            found = await until_judged(waiting - {hangs})
            assert found[hangs].state == "running"  # and rounds continue next to it
            await one_round(world)
            (entry,) = [(task_id, value) for _, task_id, value in await entries(store, 1)]
            assert {entry[0]} == waiting - {hangs}
            assert entry[1] > 0.85
            found = await until_judged(waiting)
        await one_round(world)
        assert found[hangs].report == CodeReport(1, 2, 0)
        late = {task_id: value for _, task_id, value in await entries(store, 2)}
        assert 0.3 < late[hangs] < entry[1]
        for number in range(3):
            assert (await replayed(store, number)).verdict == "equal"
    assert await left_behind() == NOTHING
