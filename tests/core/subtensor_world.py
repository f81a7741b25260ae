"""Its own subnet on a real node, for the contract that every `Chain` keeps; //Alice must be its sudo key.

Time is real: a node with fast blocks (0.25 s) takes minutes, one with blocks of 12 s an afternoon. The subnet is made
once for plain weights and once for commitments, and all tests of a run share it. A test that breaks the connection has
its own hotkey: what it has sent may arrive in the time of the next one.
"""

import secrets
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import bittensor as bt
from chain_worlds import Ability, Break
from rpc_proxy import RpcProxy
from sudo_calls import submit, sudo

from validator.chain.bittensor import BittensorChain
from validator.chain.interface import Chain
from validator.chain.limits import Limits
from validator.protocol.signatures import Signer
from validator.sources import Clock, SystemClock

T = TypeVar("T")
TEMPO: Final = 60  # blocks; nobody gets a permit between two epochs
RATE_LIMIT: Final = 20  # more blocks than a submission takes to become final
STAKE_RAO: Final = 1_000 * 10**9
MINERS: Final = ("miner1", "miner2", "miner3")
_NOT_HERE: Final = "not on a real node: {}"


class Place(NamedTuple):
    """A subnet, and what its hotkeys derive from."""

    netuid: int
    seed: str


_places: Final[dict[tuple[str, int], Place]] = {}


class NodeWorld:
    """One validator with stake and a permit, and three miners, on a new subnet of a real node."""

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
        (miner,) = (key for key in map(self._key, MINERS) if key.hotkey == self.miners[uid])
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
        for name in MINERS:
            await self._register(self._key(name).hotkey)
        await self._staked()

    async def _staked(self) -> None:
        """Register the validator, and stake to it."""
        await self._register(self.me)
        stake = bt.calls.SubtensorModule.add_stake(hotkey=self.me, netuid=self.netuid, amount_staked=STAKE_RAO)
        await submit(self._client, stake)

    async def _permitted(self) -> None:
        """Wait for the epoch that gives the validator its permit, and learn who sits where."""
        names = {self._key(name).hotkey for name in MINERS}
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
