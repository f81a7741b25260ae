"""A running validator whose subnet disappears, or whose chain comes back as another one, says so and is red."""

from typing import Any

import msgspec
from daemon_kit import Running, over_the_sdk

from localnet.chain.subnet import SimulatedSubnet


def standing(report: Any) -> dict[str, str]:
    return {each["name"]: each["detail"] for each in report["conditions"]}


async def red(daemon: Running, condition: str, text: str) -> None:
    """The condition is active and nothing is done; then it is over and rounds continue."""
    await daemon.until(lambda: daemon.daemon.board.is_active(condition))
    report = await daemon.health()
    assert report["status"] == "unhealthy"
    assert list(standing(report)) == [condition, "executions_off"]
    assert text in standing(report)[condition]
    rounds, weights = len(daemon.events("round_started")), len(await daemon.weights())
    await daemon.until_block(daemon.subnet.blocks.number() + 20)
    assert (len(daemon.events("round_started")), len(await daemon.weights())) == (rounds, weights)
    assert not daemon.task.done()


async def green(daemon: Running, condition: str) -> None:
    rounds = len(daemon.events("round_started"))
    await daemon.until(lambda: len(daemon.events("round_started")) > rounds)
    await daemon.until(lambda: not daemon.daemon.board.is_active(condition))
    assert (await daemon.health())["status"] == "ok"


async def test_a_subnet_that_disappears_is_said_until_it_is_back(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until(lambda: bool(daemon.events("round_started")))
        node.gone = True
        await red(daemon, "subnet_gone", "netuid 1; check validator.netuid and chain.endpoints")
        node.gone = False
        await green(daemon, "subnet_gone")


async def test_another_chain_at_the_endpoints_is_said_until_the_stores_own_is_back(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until(lambda: bool(daemon.events("round_started")))
        own = node.subnet
        node.subnet = SimulatedSubnet.create(msgspec.structs.replace(own.rules, seed="other"), daemon.clock)
        for neuron in own.snapshot().neurons:
            node.subnet.register(neuron.hotkey, stake_tao=neuron.stake_tao, validator_permit=neuron.validator_permit)
        await red(daemon, "other_chain", f"its genesis is {node.subnet.blocks.identity}, not {own.blocks.identity}")
        assert not node.subnet.weights(0, 0)
        node.subnet = own
        await green(daemon, "other_chain")
