"""Number and age of waiting executions in health and metrics, and the warning if nothing runs them."""

from daemon_kit import running
from waiting_world import plain_world
from world import World, on_virtual_time

from sssa.protocol.reasons import Reason
from validator.daemon.waiting_work import QueueWatch
from validator.health.report import HealthState
from validator.store import Store
from validator.telemetry.metrics import Metrics


async def world_with_executions(store: Store) -> World:
    """Two executions wait; a minute has passed since they were queued."""
    world = plain_world(store)
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
        if line.startswith("validator_queue") and 'kind="executions"' in line
    ]
    return {name.removeprefix("validator_queue"): float(value) for name, _, value in (x.rpartition(" ") for x in lines)}


async def test_health_and_metrics_have_states_and_the_oldest(store: Store) -> None:
    world = await world_with_executions(store)
    watch = watch_of(world)
    async with store.begin() as tx:
        taken = await tx.executions.take(world.clock.now())
    assert taken is not None
    await watch.look()
    check = watch.health.report().checks["executions"]
    waited = (world.clock.now() - taken.queued_at).total_seconds()
    assert check == {
        "ok": True,
        "holds": "Bundles of runtime types are executed.",
        "pending": 1,
        "running": 1,
        "done": 0,
        "inconclusive": 0,
        "oldest_s": waited,
        "at_once": 2,
    }
    assert waited >= 60
    assert figures(watch) == {
        '{kind="executions",state="pending"}': 1,
        '{kind="executions",state="running"}': 1,
        '{kind="executions",state="done"}': 0,
        '{kind="executions",state="inconclusive"}': 0,
        '_oldest_seconds{kind="executions"}': waited,
        '_at_once{kind="executions"}': 2,
    }
    assert watch.health.report().status == "ok"


async def test_what_is_over_is_no_longer_the_oldest(store: Store) -> None:
    world = await world_with_executions(store)
    watch = watch_of(world)
    async with store.begin() as tx:
        while (taken := await tx.executions.take(world.clock.now())) is not None:
            await tx.executions.end(taken, "inconclusive", Reason.BUG_CRASH, world.clock.now())
    await watch.look()
    check = watch.health.report().checks["executions"]
    assert (check["inconclusive"], check["oldest_s"]) == (2, None)
    assert figures(watch)['_oldest_seconds{kind="executions"}'] == 0


async def test_more_than_a_third_of_a_day_late_is_a_condition(store: Store) -> None:
    world = await world_with_executions(store)
    watch = watch_of(world)

    async def later(hours: float, *, late: int) -> bool:
        """So much later four tasks have ended, so many of them late; whether that is on the board."""
        await world.clock.advance(3600 * hours)
        for round_id in range(2):
            await on_virtual_time(world, world.service.one_round())
            async with store.begin() as tx:
                while (taken := await tx.executions.take(world.clock.now())) is not None:
                    reason = Reason.EXECUTION_LATE if late > 2 * round_id + taken.queued.place else Reason.EXECUTION_FEW
                    await tx.executions.end(taken, "inconclusive", reason, world.clock.now())
        await watch.look()
        return watch.health.board.is_active("executions_late")

    assert not await later(1, late=4)  # so little says nothing of a day
    assert await later(24, late=2)
    assert not await later(25, late=1)
    without = watch_of(world, at_once=0)
    assert await later(25, late=4)
    await without.look()
    assert not without.health.board.is_active("executions_late")  # nothing was asked for


async def test_a_validator_without_an_engine_says_what_it_cannot_see_and_is_well(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await daemon.until(lambda: "at_once" in daemon.daemon.health.look()["executions"])
        report = await daemon.health()
        (line,) = daemon.events("condition_raised")
    assert report["status"] == "ok"
    assert [(each["name"], each["severity"]) for each in report["conditions"]] == [("executions_off", "note")]
    assert "this validator cannot see whether miners ran what they attest" in report["conditions"][0]["meaning"]
    assert report["checks"]["executions"]["at_once"] == 0
    assert (line["condition"], line["log_level"]) == ("executions_off", "info")
    assert b'validator_condition{condition="executions_off"} 1.0' in daemon.metrics.render()
