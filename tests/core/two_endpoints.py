"""A validator with two endpoints: two nodes of one chain, each behind a proxy, and ways of being not well."""

from collections.abc import Mapping
from typing import Final, Literal, Self, get_args

from chain_worlds import LIMITS, ME, ServedWorld
from msgspec.structs import replace
from node_server import NodeServer
from rpc_proxy import RpcProxy, Trouble
from subtensor_node import Node

from localnet.chain.subnet import SimulatedSubnet
from sssa.protocol.signatures import Signer
from validator.chain.bittensor import BittensorChain
from validator.chain.limits import Limits

EndpointTrouble = Trouble | Literal["other chain", "150 back", "stands still"]
TROUBLES: Final[tuple[EndpointTrouble, ...]] = (*get_args(Trouble), "other chain", "150 back", "stands still")
_BACK: Final = 150


class TwoEndpoints(ServedWorld):
    """A validator and three miners on two served nodes.

    Attributes:
        proxies: before the favourite and the second.
        nodes: behind them.
    """

    proxies: tuple[RpcProxy, RpcProxy]
    nodes: tuple[Node, Node]
    second_server: NodeServer

    @classmethod
    async def open(cls, url: str, rules: Mapping[str, object], limits: Limits = LIMITS) -> Self:
        """Return a world with its own nodes; the test lets the SDK speak JSON."""
        del url
        world = cls(**rules)
        world.limits = limits
        second = Node(world.subnet, world.clock)
        world.nodes = (world.node, second)
        world.second_server = NodeServer(second, world.server)
        await world.server.__aenter__()
        await world.second_server.__aenter__()
        world.proxy = await RpcProxy(world.server.url).__aenter__()
        world.proxies = (world.proxy, await RpcProxy(world.second_server.url).__aenter__())
        world.chain = world.connected(ME)
        return world

    @property
    def urls(self) -> list[str]:
        """The endpoints, the favourite first."""
        return [proxy.url for proxy in self.proxies]

    def connected(self, signer: Signer) -> BittensorChain:
        """Return the chain as seen by a hotkey."""
        chain = BittensorChain(
            endpoints=self.urls,
            netuid=self.subnet.rules.netuid,
            signer=signer,
            clock=self.clock,
            limits=self.limits,
        )
        chain.expect(self.subnet.blocks.identity)
        self._chains.append(chain)
        return chain

    def set_trouble(self, trouble: EndpointTrouble | None, which: int = 0, *, since: int = 0) -> None:
        """Let an endpoint be not well from now on, or well; a still one has been so for `since` blocks."""
        node, proxy = self.nodes[which], self.proxies[which]
        if trouble == "other chain":
            node.subnet = SimulatedSubnet.create(replace(self.subnet.rules, seed="other"), self.clock)
        elif trouble == "150 back":
            node.behind = _BACK
        elif trouble == "stands still":
            node.frozen = self.subnet.blocks.number() - since
        else:
            proxy.set_trouble(trouble)

    async def close(self) -> None:
        for chain in self._chains:
            await chain.close()
        for proxy in self.proxies:
            await proxy.__aexit__()
        await self.server.__aexit__()
        await self.second_server.__aexit__()
        self._patch.undo()
