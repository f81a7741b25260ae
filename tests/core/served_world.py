"""The real SDK with its own transport, through a proxy that breaks things, over a node in memory served on loopback."""

from collections.abc import Coroutine, Mapping
from typing import Any, Final, Self, TypeVar

import pytest
from chain_worlds import ME, MINERS, Ability, Break, LocalWorld
from json_codec import speak_json
from node_server import NodeServer
from rpc_proxy import RpcProxy
from subtensor_node import Node

from validator.chain.bittensor import BittensorChain
from validator.chain.interface import Chain
from validator.chain.limits import Limits
from validator.protocol.signatures import Signer
from validator.protocol.weight_rows import to_u16
from validator.sources import SystemClock

T = TypeVar("T")
BLOCK_S: Final = 0.1  # a signature has eight blocks of time
LIMITS: Final = Limits(call_s=3.0, submit_s=3.0, no_block_s=3.0)


class ServedWorld(LocalWorld):
    """A validator and three miners on a served node; time is real."""

    cannot: Mapping[Ability, str] = {}

    def __init__(self, **rules: object) -> None:
        super().__init__(SystemClock(), **{"block_time_s": BLOCK_S, "tempo": 29, **rules})
        self.node = Node(self.subnet, self.clock)
        self.server = NodeServer(self.node)
        self.limits = LIMITS
        self.chain: Chain
        self.proxy: RpcProxy
        self._patch = pytest.MonkeyPatch()
        self._chains: list[BittensorChain] = []

    @classmethod
    async def open(cls, url: str, rules: Mapping[str, object], limits: Limits = LIMITS) -> Self:
        """Return a world with its own node."""
        del url
        world = cls(**rules)
        world.limits = limits
        speak_json(world._patch)
        await world.server.__aenter__()
        world.proxy = await RpcProxy(world.server.url).__aenter__()
        world.chain = world.connected(ME)
        return world

    def connected(self, signer: Signer) -> BittensorChain:
        """Return the chain as seen by a hotkey."""
        chain = BittensorChain(
            endpoints=(self.proxy.url,),
            netuid=self.subnet.rules.netuid,
            signer=signer,
            clock=self.clock,
            limits=self.limits,
        )
        self._chains.append(chain)
        return chain

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        return await call

    async def pass_blocks(self, count: int) -> None:
        await self.subnet.blocks.wait_for(self.subnet.blocks.number() + count)

    async def announce(self, uid: int, ip: str, port: int) -> None:
        await self.connected(MINERS[uid - min(self.miners)]).announce_axon(ip, port)

    async def stepped(self, block: int) -> bool:
        return self.node.steps.stepped(block)

    async def sealed(self, weights: Mapping[int, float]) -> None:
        self.node.sealed = to_u16(weights)

    async def break_at(self, phase: Break | None) -> None:
        self.proxy.break_at(phase)

    async def reachable(self, yes: bool) -> None:
        self.proxy.reachable(yes)

    async def close(self) -> None:
        for chain in self._chains:
            await chain.close()
        await self.proxy.__aexit__()
        await self.server.__aexit__()
        self._patch.undo()
