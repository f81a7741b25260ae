"""Worlds for the contract that every `Chain` keeps: the simulated chain, and the real SDK over a node in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, Self, TypeVar

from msgspec.structs import replace
from pump import pumped
from subtensor_node import Node

from validator.chain.bittensor import BittensorChain
from validator.chain.interface import Chain
from validator.chain.limits import Limits
from validator.chain.simulated import Faults, SimulatedChain
from validator.chain.subnet import SimulatedSubnet, SubnetRules, WeightRow
from validator.protocol.round import Axon
from validator.protocol.signatures import Signer
from validator.protocol.weight_rows import to_u16
from validator.sources import Clock, VirtualClock

T = TypeVar("T")
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
ME: Final = Signer.from_uri("//Validator")
MINERS: Final = tuple(Signer.from_uri(f"//Miner{i}") for i in range(1, 4))

# Where the connection breaks under a submission; "lost": signed, and no pool ever has it.
Break = Literal["unsigned", "lost", "pooled", "included", "silent"]
# What a kind of world may not be able to do; a test that needs it is skipped there.
Ability = Literal["faults", "outage", "slots", "rules", "reveals", "proxy"]


class World(Protocol):
    """A chain, who is registered there, and how to change it.

    Attributes:
        chain: what is tested, for the hotkey `me`.
        clock: its time.
        me: the validator's hotkey: registered, with stake and a permit.
        miners: other registered hotkeys, by uid.
        cannot: abilities that it does not have, with the reason.
    """

    chain: Chain
    clock: Clock
    me: str
    miners: Mapping[int, str]
    cannot: Mapping[Ability, str]

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Return what `call` returns, while time passes."""

    async def pass_blocks(self, count: int) -> None:
        """Let `count` blocks pass."""

    async def sealed(self, weights: Mapping[int, float]) -> None:
        """Tell what the next commitment holds, for a node that cannot look inside."""

    async def set_permit(self, permit: bool) -> None:
        """Give or take the validator's permit."""

    async def register(self, hotkey: str, *, instead_of: int | None = None) -> int:
        """Register a hotkey, in the place of the holder of a uid if that is given."""

    async def deregister_last(self) -> int:
        """Take the highest uid out of the subnet."""

    async def deregister_me(self) -> None:
        """Give the validator's uid to somebody else."""

    async def announce(self, uid: int, ip: str, port: int) -> None:
        """Announce an axon as the miner at `uid`."""

    async def stepped(self, block: int) -> bool:
        """Return whether the subnet stepped in `block`, a past one, by what the chain itself shows of it."""

    async def break_at(self, phase: Break | None) -> None:
        """Break the connection under the submissions to come, or no more."""

    async def fail_reveals(self, count: int) -> None:
        """Let so many commitments come to nothing when they are revealed."""

    async def reachable(self, yes: bool) -> None:
        """Take the node away, or bring it back."""

    async def close(self) -> None:
        """Leave nothing open."""


Build = Callable[..., Awaitable[World]]


class LocalWorld:
    """Base of the worlds in this process: a simulated subnet."""

    miners: Mapping[int, str]
    cannot: Mapping[Ability, str] = MappingProxyType({})

    def __init__(self, clock: Clock, **rules: object) -> None:
        self.clock = clock
        given = {"tempo": 9, "block_time_s": 2.0, "weights_rate_limit": 5, "immunity_period": 0}
        given = {"seed": "c", "genesis": int(clock.now().timestamp()), **given, **rules}  # type: ignore[dict-item]
        made = SubnetRules(**given)  # type: ignore[arg-type]
        self.subnet = SimulatedSubnet.create(made, clock)
        self.me = ME.hotkey
        self.subnet.register(self.me, stake_tao=100.0, validator_permit=True)
        self.miners = {self.subnet.register(miner.hotkey): miner.hotkey for miner in MINERS}

    async def sealed(self, weights: Mapping[int, float]) -> None:
        del weights

    async def fail_reveals(self, count: int) -> None:
        self.subnet.failing_reveals = count

    async def set_permit(self, permit: bool) -> None:
        self.subnet.set_permit(self.me, permit)

    async def register(self, hotkey: str, *, instead_of: int | None = None) -> int:
        if instead_of is not None:
            self.subnet.deregister(self.miners[instead_of])
        return self.subnet.register(hotkey)

    async def deregister_last(self) -> int:
        return self.subnet.deregister(self.miners[max(self.miners)])

    async def deregister_me(self) -> None:
        self.subnet.deregister(self.me)
        self.subnet.register(Signer.from_uri("//Stand-in").hotkey)


class VirtualWorld(LocalWorld):
    """A simulated subnet on virtual time."""

    def __init__(self, **rules: object) -> None:
        self.time = VirtualClock(START)
        super().__init__(self.time, **rules)

    @classmethod
    async def open(cls, url: str, rules: Mapping[str, object]) -> Self:
        """Return its own world; there is no url to it."""
        del url
        return cls(**rules)

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        return await pumped(self.time, call)

    async def pass_blocks(self, count: int) -> None:
        await self.run(self.subnet.blocks.wait_for(self.subnet.blocks.number() + count))


class SimulatedWorld(VirtualWorld):
    """The simulated chain."""

    cannot: Mapping[Ability, str] = MappingProxyType({"proxy": "no socket leads to it"})

    def __init__(self, **rules: object) -> None:
        super().__init__(**rules)
        self._chain = SimulatedChain(self.subnet, self.me)
        self.chain: Chain = self._chain

    async def announce(self, uid: int, ip: str, port: int) -> None:
        self.subnet.serve_axon(self.miners[uid], Axon(ip, port))

    async def stepped(self, block: int) -> bool:
        """Look whether a commitment of the block before is in force: what a step does in a simulated subnet."""
        rules = replace(self.subnet.rules, reveal_epochs=1)
        row = WeightRow(0, 0, block - 1, ((1, 1),))
        begun = datetime.fromtimestamp(rules.genesis, UTC)
        then = VirtualClock(begun + timedelta(seconds=rules.block_time_s * block))
        twin = SimulatedSubnet(replace(self.subnet.state, rules=rules, weights=(), commits=(row,)), then)
        return twin.weights(0, 0) != {}

    async def break_at(self, phase: Break | None) -> None:
        faults = {
            None: Faults(),
            "unsigned": Faults(unsent=1),
            "lost": Faults(broken=1, delay=None),
            "pooled": Faults(broken=1, delay=2),
            "included": Faults(broken=1),
            "silent": Faults(lost_answers=1),
        }
        self._chain.faults = faults[phase]

    async def reachable(self, yes: bool) -> None:
        self._chain.faults.unreachable_until = 0 if yes else 1_000_000

    async def close(self) -> None:
        await self.chain.close()


class SdkWorld(VirtualWorld):
    """The real SDK over a node in memory, in place of its transport."""

    cannot: Mapping[Ability, str] = MappingProxyType({"proxy": "no socket leads to it"})

    def __init__(self, **rules: object) -> None:
        super().__init__(**rules)
        self.node = Node(self.subnet, self.time)
        self.chain: Chain = self._connected(ME)

    def _connected(self, signer: Signer) -> BittensorChain:
        return BittensorChain(
            endpoints=("ws://node.invalid",),
            netuid=self.subnet.rules.netuid,
            signer=signer,
            clock=self.clock,
            limits=Limits(call_s=20.0, submit_s=60.0, no_block_s=30.0),
            substrate=self.node.connect,
        )

    async def announce(self, uid: int, ip: str, port: int) -> None:
        await self.run(self._connected(MINERS[uid - min(self.miners)]).announce_axon(ip, port))

    async def stepped(self, block: int) -> bool:
        return self.node.steps.stepped(block)

    async def sealed(self, weights: Mapping[int, float]) -> None:
        self.node.sealed = to_u16(weights)

    async def break_at(self, phase: Break | None) -> None:
        self.node.fault = "unsent" if phase == "lost" else phase

    async def reachable(self, yes: bool) -> None:
        self.node.down = not yes

    async def close(self) -> None:
        await self.run(self.chain.close())
        await asyncio.sleep(0)
        assert self.node.connections == 0
