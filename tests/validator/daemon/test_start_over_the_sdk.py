"""The first look at the chain through the real SDK, over a node in memory."""

from collections.abc import Coroutine
from typing import Any

import pytest
from pump import pumped
from structlog.testing import capture_logs
from subtensor_node import NEWER, Node
from world import VALIDATOR

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.sources import VirtualClock
from validator.chain.bittensor import BittensorChain
from validator.chain.interface import ChainUnreachableError, NoSubnetError, NotRegisteredError
from validator.chain.runtime_rules import RULES
from validator.daemon.start import check_start
from validator.settings.model import Settings, ValidatorSettings


class Start:
    """A node with one subnet, netuid 1, and a look at it."""

    def __init__(self, *, netuid: int = 1, lacks: frozenset[str] = frozenset()) -> None:
        self.clock = VirtualClock()
        rules = SubnetRules(seed="s", genesis=int(self.clock.now().timestamp()), weights_rate_limit=2)
        self.subnet = SimulatedSubnet.create(rules, self.clock)
        self.node = Node(self.subnet, self.clock, lacks=lacks)
        self.settings = Settings(validator=ValidatorSettings(netuid=netuid))
        self.chain = BittensorChain(
            endpoints=("finney",), netuid=netuid, signer=VALIDATOR, clock=self.clock, substrate=self.node.connect
        )

    async def look(self) -> list[Any]:
        await self.clock.advance(60.0)
        with capture_logs() as log:
            try:
                await pumped(self.clock, self._check())
            finally:
                await self.chain.close()
        return [(line["name"], line.get("reason")) for line in log if line["event"] == "precondition"]

    def _check(self) -> Coroutine[Any, Any, None]:
        return check_start(self.chain, self.clock, self.settings, VALIDATOR.hotkey)


pytestmark = pytest.mark.usefixtures("sdk_home")


@pytest.mark.parametrize("lacks", [frozenset(), NEWER], ids=["current", "older"])
async def test_a_registered_hotkey_starts(lacks: frozenset[str]) -> None:
    start = Start(lacks=lacks)
    start.subnet.register(VALIDATOR.hotkey, stake_tao=100.0)
    told = await start.look()
    assert len(told) == 1 + len(RULES)
    assert [each for each in told if each[1]] == [("permit", "weights_no_permit")]


async def test_a_hotkey_without_a_slot_does_not() -> None:
    with pytest.raises(NotRegisteredError, match="on netuid 1 at finney"):
        await Start().look()


async def test_a_netuid_without_a_subnet_does_not() -> None:
    with pytest.raises(NoSubnetError, match=r"netuid 7 at finney; check validator\.netuid"):
        await Start(netuid=7).look()


async def test_a_node_that_is_down_does_not() -> None:
    start = Start()
    start.node.down = True
    with pytest.raises(ChainUnreachableError, match="finney: no endpoint answered within 20 s"):
        await start.look()
