"""How many reruns wait, and for how long, is in health and metrics; where nothing runs them that is said, too."""

import pytest
from daemon_kit import running
from world import World, on_virtual_time, tasks_of_all_types

from validator.daemon.queue_watch import QueueWatch
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType
from validator.reruns.work import MOST_WAITING
from validator.store import Store, open_store
from validator.tasks.memory import MemorySource
from validator.telemetry import Metrics
from validator.web.state import HealthState


async def world_with_reruns(store: Store) -> World:
    """Two reruns wait; a minute has passed since they were queued."""
    tasks = [one for one in tasks_of_all_types() if one.task.skill_type is SkillType.EXECUTABLE_PYTHON]
    world = World(store, miners=1, source=MemorySource(tasks))
    world.service.most_reruns = MOST_WAITING
    await on_virtual_time(world, world.service.one_round())
    await world.clock.advance(60)
    return world


def watch_of(world: World, at_once: int = 2) -> QueueWatch:
    health = HealthState(world.clock, 20.0, "0", world.board)
    return QueueWatch(world.store, world.clock, health, Metrics(world.clock, "0"), at_once)


def figures(watch: QueueWatch) -> dict[str, float]:
    lines = [
        line
        for line in watch.metrics.render().decode().splitlines()
        if line.startswith("validator_queue") and 'kind="reruns"' in line
    ]
    return {name.removeprefix("validator_queue"): float(value) for name, _, value in (x.rpartition(" ") for x in lines)}


async def test_health_and_metrics_have_states_and_the_oldest(store: Store) -> None:
    world = await world_with_reruns(store)
    watch = watch_of(world)
    async with store.begin() as tx:
        taken = await tx.reruns.take(world.clock.now())
    assert taken is not None
    await watch.look()
    check = watch.health.report().checks["reruns"]
    waited = (world.clock.now() - taken.queued_at).total_seconds()
    assert check == {
        "ok": True,
        "holds": "Answers can be run again.",
        "pending": 1,
        "running": 1,
        "done": 0,
        "inconclusive": 0,
        "oldest_s": waited,
        "at_once": 2,
    }
    assert waited >= 60
    assert figures(watch) == {
        '{kind="reruns",state="pending"}': 1,
        '{kind="reruns",state="running"}': 1,
        '{kind="reruns",state="done"}': 0,
        '{kind="reruns",state="inconclusive"}': 0,
        '_oldest_seconds{kind="reruns"}': waited,
        '_at_once{kind="reruns"}': 2,
    }
    assert watch.health.report().status == "ok"


async def test_what_is_over_is_no_longer_the_oldest(store: Store) -> None:
    world = await world_with_reruns(store)
    watch = watch_of(world)
    async with store.begin() as tx:
        while (taken := await tx.reruns.take(world.clock.now())) is not None:
            await tx.reruns.give_up(taken, Reason.BUG_CRASH, world.clock.now())
    await watch.look()
    check = watch.health.report().checks["reruns"]
    assert (check["inconclusive"], check["oldest_s"]) == (2, None)
    assert figures(watch)['_oldest_seconds{kind="reruns"}'] == 0


@pytest.mark.parametrize(("most", "stands"), [(25, True), (26, False)])
async def test_a_queue_that_may_not_take_another_round_is_said(
    sqlite_url: str, most: int, stands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validator.daemon.queue_watch.MOST_WAITING", most)
    async with open_store(sqlite_url) as store:
        watch = watch_of(await world_with_reruns(store))
        await watch.look()
        assert watch.health.board.stands("reruns_full") == stands
        without = watch_of(World(store), at_once=0)
        await without.look()
        assert not without.health.board.stands("reruns_full")  # nothing was asked for


async def test_a_validator_without_an_engine_says_what_it_cannot_see_and_is_well(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await daemon.until(lambda: bool(daemon.daemon.health.queues))
        report = await daemon.health()
        (line,) = daemon.events("condition_raised")
    assert report["status"] == "ok"
    assert [(each["name"], each["severity"]) for each in report["conditions"]] == [("reruns_off", "note")]
    assert "whether miners ran what they attest stays unseen" in report["conditions"][0]["meaning"]
    assert report["checks"]["reruns"]["at_once"] == 0
    assert (line["condition"], line["log_level"]) == ("reruns_off", "info")
    assert b'validator_condition{condition="reruns_off"} 1.0' in daemon.metrics.render()
