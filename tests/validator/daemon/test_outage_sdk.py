"""The same outage over the real SDK: a node in memory that is killed and comes back."""

from collections import Counter

import pytest
from daemon_kit import Running, over_the_sdk

pytestmark = pytest.mark.usefixtures("sdk_home")


async def confirmed(daemon: Running) -> list[int]:
    return [record.epoch for record in await daemon.weights() if record.state == "confirmed"]


async def test_a_node_that_comes_back_half_a_minute_later_costs_no_epoch_over_the_sdk(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until_block(12)
        before = len(daemon.log)
        node.down = True
        await daemon.until_block(15)
        node.down = False
        await daemon.until_block(40)
        lines = Counter(str(line["event"]) for line in daemon.log[before:])
        epochs = await confirmed(daemon)
        assert not [line for line in daemon.log if line["log_level"] == "error"]
        assert daemon.daemon.health.chain_problem is None
    assert epochs == [0, 1, 2, 3][: len(epochs)]
    assert len(epochs) >= 3
    for name in ("chain_unreachable", "chain_back", "weights_blocked", "weights_unblocked"):
        assert lines[name] <= 1, lines


async def test_a_long_outage_is_told_once_by_everybody_over_the_sdk(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until_block(12)
        before = len(daemon.log)
        node.down = True
        await daemon.until_block(45)
        problem = (await daemon.health())["checks"]["chain"]["problem"]
        node.down = False
        await daemon.until_block(65)
        lines = Counter(str(line["event"]) for line in daemon.log[before:])
        epochs = await confirmed(daemon)
        assert not [line for line in daemon.log if line["log_level"] == "error"]
    assert "no answer within" in problem
    assert {5, 6} & set(epochs)
    for name in ("chain_unreachable", "chain_back", "weights_blocked", "weights_unblocked"):
        assert lines[name] == 1, lines
