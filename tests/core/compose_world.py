"""A subnet of miners on this machine for a validator in docker-compose, and what it says of its rounds."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from compose_kit import ALONE, Operator, Stack, network
from daemon_process import Miners
from world import VALIDATOR, tasks_of_all_types

from validator.chain.subnet import SimulatedSubnet, SubnetRules
from validator.protocol.task import Windows
from validator.sources import SystemClock
from validator.tasks.packing import write_task

SETTINGS: Final = """
[validator]
netuid = {netuid}
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "/data/chain.json"
[rounds]
interval_s = 0.5
grace_s = 60.0
[tasks]
canaries = false
[miners]
allow_private_axons = true
[log]
format = "json"
"""
_LONG: Final = Windows((0, 60), (0, 60))


@asynccontextmanager
async def operated(folder: Path, image: str, stack: Stack = ALONE) -> AsyncIterator[tuple[Operator, Miners]]:
    """A validator's container that is made and not started, next to a subnet of miners on this machine."""
    async with network() as (name, host):
        miners = Miners(6, host)
        await miners.start()
        operator = Operator(folder, image, name, stack)
        operator.settings.write_text(SETTINGS.format(netuid=1))
        for number, task in enumerate(tasks_of_all_types(_LONG)):
            write_task(task, operator.tasks / f"{number:02}")
        (folder / "data").mkdir()
        clock = SystemClock()
        rules = SubnetRules(seed="t", genesis=int(clock.now().timestamp()), block_time_s=0.5, tempo=20)
        subnet = SimulatedSubnet.create(rules, clock, folder / "data" / "chain.json")
        subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        for hotkey, axon in miners.axons.items():
            subnet.register(hotkey, axon=axon)
        try:
            await operator.compose("up", "--no-build", "--no-start")
            operator.put(folder / "data")
            yield operator, miners
        finally:
            await operator.compose("down", "--volumes", "--timeout", "1")
            await miners.close()


async def rounds(operator: Operator) -> dict[int, dict[str, Any]]:
    listed = json.loads(await operator.alone("rounds", "list", "--json", "--limit", "10000"))["rounds"]
    by_id = {row["round_id"]: row for row in listed}
    assert len(by_id) == len(listed)
    return by_id
