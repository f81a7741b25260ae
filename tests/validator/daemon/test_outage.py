"""A node that is killed and comes back: no crash, no error storm, the next epoch is served."""

import asyncio
from collections import Counter

from daemon_kit import BLOCK_S, Running, running

from sssa.kinds.workflow.kind import WORKFLOW
from validator.kinds.workflow.executor import PlanRunner
from validator.rounds.heartbeat import Heartbeat

OUTAGE = 3  # blocks: 36 s


async def outage(daemon: Running, first: int, blocks: int = OUTAGE) -> Counter[str]:
    """Lose the chain at block `first`; return what is logged of it, until rounds run again."""
    await daemon.until_block(first)
    daemon.chain.faults.unreachable_until = first + blocks
    before, backs = len(daemon.log), len(daemon.events("chain_back"))
    await daemon.until(lambda: len(daemon.events("chain_unreachable")) > backs)
    await daemon.until_block(first + blocks - 1)
    during = await daemon.health()
    assert during["checks"]["chain"]["problem"] == (
        f"The chain could not be reached: simulated outage until block {first + blocks}"
    )
    assert during["status"] != "unhealthy"  # a restart would not bring the chain back
    assert during["checks"]["chain"]["age_s"] > 0
    assert b"validator_chain_reachable 0.0" in daemon.metrics.render()
    await daemon.until(lambda: len(daemon.events("chain_back")) > backs)
    await daemon.until(lambda: daemon.daemon.health.chain_problem is None)
    names = (str(line["event"]) for line in daemon.log[before:])
    return Counter(name for name in names if not name.startswith("round_") and name != "weights_submitted")


async def test_an_outage_of_half_a_minute_costs_six_lines_and_no_epoch(store_url: str) -> None:
    async with running(store_url) as daemon:
        logged = await outage(daemon, 4)  # weights are due at block 5
        pairs = ("chain_unreachable", "chain_back", "weights_blocked", "weights_unblocked")
        assert logged == dict.fromkeys((*pairs, "condition_raised", "condition_cleared"), 1)
        ended = len(daemon.events("round_settled"))
        await daemon.until(lambda: len(daemon.events("weights_submitted")) == 1)
        await daemon.until(lambda: len(daemon.events("round_settled")) > ended)
        assert (await daemon.health())["checks"]["chain"]["problem"] is None
        assert b"validator_chain_reachable 1.0" in daemon.metrics.render()
        records = await daemon.weights()
    assert [(record.epoch, record.state) for record in records] == [(0, "confirmed")]


async def test_after_outages_of_every_length_the_next_epoch_is_served(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await outage(daemon, 3, 1)
        await daemon.until_block(10)
        logged = await outage(daemon, 13, 40)  # epochs 1 to 4 lose what is due, most of them altogether
        assert sum(logged.values()) <= 8, logged
        await daemon.until_block(70)
        epochs = [record.epoch for record in await daemon.weights() if record.state == "confirmed"]
        assert not [line for line in daemon.log if line["log_level"] == "error"]
    assert epochs == [0, 5, 6]


async def test_a_chain_that_comes_and_goes_fills_no_log(sqlite_url: str) -> None:
    flaps = 20
    async with running(sqlite_url) as daemon:
        for number in range(flaps):
            await daemon.until_block(1 + 3 * number)
            daemon.chain.faults.unreachable_until = 2 + 3 * number
        await daemon.until_block(3 * flaps + 20)
        epochs = [record.epoch for record in await daemon.weights() if record.state == "confirmed"]
        lines = Counter(str(line["event"]) for line in daemon.log)
        assert not [line for line in daemon.log if line["log_level"] == "error"]
    assert epochs[-2:] == [6, 7]
    for name in ("chain_unreachable", "chain_back", "weights_blocked", "weights_unblocked"):
        assert lines[name] <= flaps, lines


async def test_it_stops_politely_while_the_chain_is_gone(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await daemon.until_block(2)
        daemon.chain.faults.unreachable_until = 10**6
        await daemon.until(lambda: bool(daemon.events("chain_unreachable")))
        daemon.daemon.rounds.stopping.set()
        assert await asyncio.wait_for(_with_time(daemon), 30)


async def _with_time(daemon: Running) -> bool:
    while not daemon.task.done():
        await asyncio.sleep(0.001)
        await daemon.clock.advance(BLOCK_S)
    return await daemon.task


async def test_rounds_ask_how_long_the_node_has_shown_no_head_and_when_the_daemon_stalled(sqlite_url: str) -> None:
    """Its chain is on this machine, so that an answer of it tells nothing of the network (D-26)."""
    async with running(sqlite_url) as daemon:
        dispatcher, health = daemon.daemon.rounds.dispatcher, daemon.daemon.health
        (heart,) = (one for one in daemon.daemon.services if isinstance(one, Heartbeat))
        runner = dispatcher.runners[WORKFLOW.name]
        assert isinstance(runner, PlanRunner)
        assert dispatcher.stalls == runner.stalls == heart.since
        await daemon.until_block(2)
        daemon.chain.faults.unreachable_until = 10
        await daemon.until(lambda: (health.block_age_s or 0.0) > 61.0)
        assert await dispatcher.away()
