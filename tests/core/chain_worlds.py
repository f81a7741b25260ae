"""Worlds for the contract that every `Chain` keeps: the simulated chain, and the real SDK over three kinds of node."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, NoReturn, Protocol, Self, TypeVar

import bittensor as bt
import pytest
from json_codec import speak_json
from msgspec.structs import replace
from node_server import NodeServer
from pump import pumped
from rpc_proxy import Break, RpcProxy
from subtensor_node import Node
from sudo_calls import submit, sudo

from localnet.chain.simulated import Faults, SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules, WeightRow
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.weight_rows import to_u16
from sssa.sources import Clock, SystemClock, VirtualClock
from validator.chain.bittensor import BittensorChain
from validator.chain.interface import Chain
from validator.chain.limits import Limits

T = TypeVar("T")
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
ME: Final = Signer.from_uri("//Validator")
MINERS: Final = tuple(Signer.from_uri(f"//Miner{i}") for i in range(1, 4))

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
        """Let the reveals of so many commitments fail."""

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


class OverNode(LocalWorld):
    """Base of the worlds in which the real SDK looks at a node in memory."""

    node: Node

    def connected(self, signer: Signer) -> BittensorChain:
        """Return the chain as seen by a hotkey."""
        raise NotImplementedError

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        return await call

    async def announce(self, uid: int, ip: str, port: int) -> None:
        await self.run(self.connected(MINERS[uid - min(self.miners)]).announce_axon(ip, port))

    async def stepped(self, block: int) -> bool:
        return self.node.steps.stepped(block)

    async def sealed(self, weights: Mapping[int, float]) -> None:
        self.node.sealed = to_u16(weights)


class SdkWorld(VirtualWorld, OverNode):
    """The real SDK over a node in memory, in place of its transport."""

    cannot: Mapping[Ability, str] = MappingProxyType({"proxy": "no socket leads to it"})

    def __init__(self, **rules: object) -> None:
        super().__init__(**rules)
        self.node = Node(self.subnet, self.time)
        self.chain: Chain = self.connected(ME)

    def connected(self, signer: Signer) -> BittensorChain:
        return BittensorChain(
            endpoints=("ws://node.invalid",),
            netuid=self.subnet.rules.netuid,
            signer=signer,
            clock=self.clock,
            limits=Limits(call_s=20.0, submit_s=60.0, no_block_s=30.0),
            substrate=self.node.connect,
        )

    async def break_at(self, phase: Break | None) -> None:
        self.node.fault = "unsent" if phase == "lost" else phase

    async def reachable(self, yes: bool) -> None:
        self.node.down = not yes

    async def close(self) -> None:
        await self.run(self.chain.close())
        await asyncio.sleep(0)
        assert self.node.connections == 0


BLOCK_S: Final = 0.1  # a signature has eight blocks of time
LIMITS: Final = Limits(call_s=3.0, submit_s=3.0, no_block_s=3.0)


class ServedWorld(OverNode):
    """The real SDK with its own transport, through a proxy that breaks things, over a served node; time is real."""

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

    async def pass_blocks(self, count: int) -> None:
        await self.subnet.blocks.wait_for(self.subnet.blocks.number() + count)

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


TEMPO: Final = 60  # blocks; nobody gets a permit between two epochs
RATE_LIMIT: Final = 20  # more blocks than a submission takes to become final
STAKE_RAO: Final = 1_000 * 10**9
NAMES: Final = ("miner1", "miner2", "miner3")
_NOT_HERE: Final = "not on a real node: {}"


class Place(NamedTuple):
    """A subnet, and what its hotkeys derive from."""

    netuid: int
    seed: str


_places: Final[dict[tuple[str, int], Place]] = {}


class NodeWorld:
    """One validator with stake and a permit, and three miners, on its own subnet of a real node.

    //Alice must be the node's sudo key. Time is real: with blocks of 0.25 s a run takes minutes. The subnet is made
    once for plain weights and once for commitments, and all tests of a run share it. A test that breaks the connection
    has its own hotkey: what it has sent may arrive in the time of the next one.
    """

    cannot: Mapping[Ability, str] = {
        "slots": _NOT_HERE.format("who leaves a subnet is the chain's decision"),
        "rules": _NOT_HERE.format("its subnets are made in one way"),
        "reveals": _NOT_HERE.format("its reveals do not fail on demand"),
    }

    def __init__(self, url: str, client: bt.Client, place: Place) -> None:
        self.clock: Clock = SystemClock()
        self.netuid = place.netuid
        self.miners: Mapping[int, str] = {}
        self.proxy = RpcProxy(url)
        self._client = client
        self._seed = place.seed
        self._signer = self._key("validator")
        self.me = self._signer.hotkey
        self._chains: list[BittensorChain] = []
        self.chain: Chain

    @classmethod
    async def open(cls, url: str, rules: Mapping[str, object]) -> "NodeWorld":
        """Return a world on a new subnet; of `rules` only `reveal_epochs` counts."""
        client = await bt.Client(url, fallback_endpoints=[], archive_endpoints=[]).connect()
        reveal_epochs = int(str(rules.get("reveal_epochs", 0)))
        place = _places.get((url, reveal_epochs))
        world = cls(url, client, place or await _new_subnet(client))
        await world.proxy.__aenter__()
        world.chain = world._chain(world._signer)
        if place is None:
            await world._prepare(reveal_epochs)
            _places[url, reveal_epochs] = Place(world.netuid, world._seed)
        await world._permitted()
        return world

    async def own_hotkey(self) -> None:
        """Look through a validator's hotkey that no other test uses."""
        self._signer = self._key(secrets.token_hex(4))
        self.me = self._signer.hotkey
        self.chain = self._chain(self._signer)
        await self._staked()
        await self._permitted()

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        return await call

    async def pass_blocks(self, count: int) -> None:
        await self.chain.wait_for_block((await self.chain.head()).number + count)

    async def sealed(self, weights: Mapping[int, float]) -> None:
        """Nothing to tell: the chain opens it itself."""

    async def set_permit(self, permit: bool) -> None:
        """Look through a hotkey that was registered after the last epoch, and so has no permit yet."""
        if permit:
            self.chain = self._chain(self._signer)
            return
        head = await self.chain.head()
        assert head.epoch_end is not None
        await self.chain.wait_for_block(head.epoch_end + 2)
        newcomer = self._key(secrets.token_hex(4))
        await self._register(newcomer.hotkey)
        self.chain = self._chain(newcomer)

    async def register(self, hotkey: str, *, instead_of: int | None = None) -> int:
        del hotkey, instead_of
        self._cannot("slots")

    async def deregister_last(self) -> int:
        self._cannot("slots")

    async def deregister_me(self) -> None:
        """Look through a hotkey that never was registered."""
        self.chain = self._chain(self._key(secrets.token_hex(4)))

    async def announce(self, uid: int, ip: str, port: int) -> None:
        """Announce an axon as the miner at `uid`."""
        (miner,) = (key for key in map(self._key, NAMES) if key.hotkey == self.miners[uid])
        await self._chain(miner).announce_axon(ip, port)

    async def stepped(self, block: int) -> bool:
        """Look at the chain's own count of blocks since a step, in the state of that block."""
        view = await self._client.at(block)
        return int(await view.query(("SubtensorModule", "BlocksSinceLastStep"), [self.netuid])) == 0

    async def break_at(self, phase: Break | None) -> None:
        self.proxy.break_at(phase)

    async def fail_reveals(self, count: int) -> None:
        self._cannot("reveals")

    async def reachable(self, yes: bool) -> None:
        self.proxy.reachable(yes)

    async def close(self) -> None:
        for chain in self._chains:
            await chain.close()
        await self.proxy.__aexit__()
        await self._client.close()

    async def _prepare(self, reveal_epochs: int) -> None:
        netuid, admin = self.netuid, bt.calls.AdminUtils
        # Not every runtime has every one of these; one that it has and refuses is a fault.
        for call in (
            admin.sudo_set_admin_freeze_window(window=0),
            admin.sudo_set_owner_hparam_rate_limit(epochs=0),
            admin.sudo_set_stake_threshold(min_stake=0),
            admin.sudo_set_subtoken_enabled(netuid=netuid, subtoken_enabled=True),
            admin.sudo_set_network_registration_allowed(netuid=netuid, registration_allowed=True),
            admin.sudo_set_max_registrations_per_block(netuid=netuid, max_registrations_per_block=10),
            admin.sudo_set_target_registrations_per_interval(netuid=netuid, target_registrations_per_interval=100),
            admin.sudo_set_serving_rate_limit(netuid=netuid, serving_rate_limit=0),
            admin.sudo_set_min_allowed_weights(netuid=netuid, min_allowed_weights=1),
            admin.sudo_set_commit_reveal_weights_interval(netuid=netuid, interval=max(1, reveal_epochs)),
        ):
            await sudo(self._client, call, required=False)
        for call in (
            admin.sudo_set_tempo(netuid=netuid, tempo=TEMPO),
            admin.sudo_set_weights_set_rate_limit(netuid=netuid, weights_set_rate_limit=RATE_LIMIT),
            admin.sudo_set_commit_reveal_weights_enabled(netuid=netuid, enabled=reveal_epochs > 0),
        ):
            await sudo(self._client, call, required=True)
        # Owners start their subnet some blocks after making it; on a local node none may be asked for.
        with suppress(AssertionError):
            await submit(self._client, bt.calls.SubtensorModule.start_call(netuid=netuid))
        for name in NAMES:
            await self._register(self._key(name).hotkey)
        await self._staked()

    async def _staked(self) -> None:
        """Register the validator, and stake to it."""
        await self._register(self.me)
        stake = bt.calls.SubtensorModule.add_stake(hotkey=self.me, netuid=self.netuid, amount_staked=STAKE_RAO)
        await submit(self._client, stake)

    async def _permitted(self) -> None:
        """Wait for the epoch that gives the validator its permit, and learn who sits where."""
        names = {self._key(name).hotkey for name in NAMES}
        for _ in range(6 * TEMPO):
            snapshot = await self.chain.snapshot()
            me = snapshot.by_hotkey(self.me)
            if me is not None and me.validator_permit:
                self.miners = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons if neuron.hotkey in names}
                return
            await self.chain.wait_for_block(snapshot.block + 1)
        raise AssertionError(f"no permit after {6 * TEMPO} blocks; do epochs run on netuid {self.netuid}?")

    async def _register(self, hotkey: str) -> None:
        call = bt.calls.SubtensorModule.burned_register(netuid=self.netuid, hotkey=hotkey)
        await submit(self._client, call)

    def _key(self, name: str) -> Signer:
        return Signer.from_uri(f"//{self._seed}//{name}")

    def _chain(self, signer: Signer) -> BittensorChain:
        chain = BittensorChain(
            endpoints=(self.proxy.url,),
            netuid=self.netuid,
            signer=signer,
            clock=self.clock,
            limits=Limits(no_block_s=60.0),
        )
        self._chains.append(chain)
        return chain

    def _cannot(self, ability: Ability) -> NoReturn:
        raise AssertionError(self.cannot[ability])


async def _netuids(client: bt.Client) -> set[int]:
    return {int(netuid) for netuid, added in await client.query_map(("SubtensorModule", "NetworksAdded")) if added}


async def _new_subnet(client: bt.Client) -> Place:
    await sudo(client, bt.calls.AdminUtils.sudo_set_network_rate_limit(rate_limit=0), required=False)
    seed = secrets.token_hex(4)
    before = await _netuids(client)
    owner = Signer.from_uri(f"//{seed}//owner").hotkey
    await submit(client, bt.calls.SubtensorModule.register_network(hotkey=owner))
    (netuid,) = await _netuids(client) - before
    return Place(netuid, seed)


NODE = os.environ.get("SUBTENSOR_URL")
KINDS: Final[Mapping[str, type[SimulatedWorld | SdkWorld | ServedWorld | NodeWorld]]] = {
    "simulated": SimulatedWorld,
    "sdk": SdkWorld,
    "served": ServedWorld,
    "node": NodeWorld,
}


@asynccontextmanager
async def worlds_of(name: str) -> AsyncIterator[Build]:
    """Make worlds of one kind; the rules given are those of a simulated subnet."""
    worlds: list[World] = []

    async def made(*needs: Ability, **rules: object) -> World:
        if name == "node" and NODE is None:
            pytest.skip("SUBTENSOR_URL is not set: no real node")
        kind = KINDS[name]
        for need in needs:
            if need in kind.cannot:
                pytest.skip(kind.cannot[need])
        world = await kind.open(NODE or "", rules)
        worlds.append(world)
        if isinstance(world, NodeWorld) and "faults" in needs:
            await world.own_hotkey()
        if rules.get("reveal_epochs") and not (await world.run(world.chain.parameters())).takes_commitments:
            pytest.skip("the node's runtime takes no commitments")
        return world

    yield made
    for world in worlds:
        await world.close()
