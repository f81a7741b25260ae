"""What is read of a subtensor: heads, snapshots, parameters and the traces of submissions.

Every read is pinned to one block and asks for all that it can ask for at the same time: a head takes two round trips,
a snapshot four at most. Older runtimes lack some of it: what takes its place stands beside each read, and the log says
so once for each.
"""

import asyncio
import re
from collections.abc import Awaitable
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar, cast

import bittensor as bt
import structlog
from bittensor.metagraph import fetch as metagraph

from validator.chain.base import (
    MOST_BEHIND,
    BehindError,
    ChainError,
    Head,
    NoSubnetError,
    OtherChainError,
    SubnetParameters,
)
from validator.chain.epochs import numbered_epoch, planned_end
from validator.chain.node import MISSING, Item, Node, View, is_missing
from validator.protocol.round import Axon, MetagraphSnapshot, Neuron
from validator.protocol.text import printable

T = TypeVar("T")
_log = structlog.get_logger()
_ATTEMPTS: Final = 3  # at a snapshot, where blocks are replaced while it is read
_MAX_SUBNETS: Final = 4_096  # the chain keeps a mechanism's values under mechid · 4,096 + netuid
_RAO: Final = 1_000_000_000
_HASH: Final = re.compile("[0-9a-f]{64}")
_NOBODY: Final = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM"  # 32 zero bytes
_GENESIS: Final[Item] = ("System", "BlockHash", [0])
# What a submission asks for where weights are committed; what is in it does not matter.
_COMMIT: Final = bt.calls.SubtensorModule.commit_timelocked_mechanism_weights(
    netuid=0, mecid=0, commit=b"", reveal_round=0, commit_reveal_version=4
)
_NEXT_EPOCH: Final = ("SubnetInfoRuntimeApi", "get_next_epoch_start_block")


class Reads:
    """The reads of one subnet; each takes a node and returns values of this program.

    Args:
        netuid: the subnet.
        hotkey: whose commitments are looked for.
    """

    def __init__(self, netuid: int, hotkey: str) -> None:
        self._netuid = netuid
        self._hotkey = hotkey
        self._said: set[str] = set()
        self._genesis: str | None = None
        self._highest = 0

    async def genesis(self, node: Node) -> str:
        """Return the hash of block 0, from the state: an answer of the node to that number may be one it remembers.

        Raises:
            OtherChainError: it was another one before.
        """
        return self._same_chain(await node.query(*_GENESIS))

    async def head(self, node: Node) -> Head:
        """Return the newest block.

        Raises:
            NoSubnetError: it has no such subnet.
            OtherChainError: it is of another chain than what was read before.
            BehindError: it is far below one that was seen before.
        """
        return await self._block(await node.newest())

    async def snapshot(self, node: Node) -> MetagraphSnapshot:
        """Return the subnet at the newest block; read again if that block was replaced meanwhile.

        Raises:
            NoSubnetError, OtherChainError, BehindError: as `head`.
            ChainError: block after block was replaced.
        """
        for _ in range(_ATTEMPTS):
            view = await node.newest()
            head, graph, certificates = await asyncio.gather(
                self._block(view), metagraph(view, self._netuid, commitments=False), self._certificates(view)
            )
            if await node.hash_of(head.number) == view.block_hash:
                return self._snapshot(head, graph, {str(hotkey) for hotkey, _ in certificates})
        raise ChainError("the newest block was replaced again and again while the metagraph was read")

    async def parameters(self, node: Node) -> SubnetParameters:
        """Return what the subnet asks of validators, item by item: the bundled read needs a newer runtime.

        Raises:
            NoSubnetError: there is no such subnet.
        """
        view = await node.newest()
        names = ("NetworksAdded", "Tempo", "WeightsSetRateLimit", "WeightsVersionKey", "CommitRevealWeightsEnabled")
        items = (*(_item(name, self._netuid) for name in (*names, "MechanismCountCurrent")), _item("StakeThreshold"))
        values, takes = await asyncio.gather(view.query_many(*items), node.has_call(_COMMIT))
        there, tempo, rate_limit, version_key, commit_reveal, count, min_stake = values
        self._require(there)
        return SubnetParameters(
            tempo=int(tempo),
            weights_rate_limit=int(rate_limit or 0),
            min_stake_tao=int(min_stake or 0) / _RAO,
            version_key=int(version_key or 0),
            commit_reveal=bool(commit_reveal),
            mechanisms=int(self._or("MechanismCountCurrent", count, 1)),
            takes_commitments=takes,
        )

    async def last_update(self, node: Node, mechid: int, uid: int) -> int:
        """Return the block of the last weights or commitment of `uid` (ChainError: no such neuron).

        Of a mechanism that is younger than the neuron the chain keeps no block, even after weights; the registration
        is what it then has in common with the others.
        """
        view = await node.newest()
        updates, *slot = await view.query_many(_item("LastUpdate", _index(self._netuid, mechid)), *self._slot(uid))
        if isinstance(updates, list | tuple) and 0 <= uid < len(updates):
            return int(updates[uid])
        if mechid == 0:
            raise ChainError(f"no neuron has uid {uid}")
        return _registered_at(uid, *slot)

    async def registered_at(self, node: Node, uid: int) -> int:
        """Return the block at which the holder of `uid` registered (ChainError: no such neuron)."""
        view = await node.newest()
        return _registered_at(uid, *await view.query_many(*self._slot(uid)))

    async def commits(self, node: Node, mechid: int) -> tuple[int, ...]:
        """Return the blocks of this hotkey's unrevealed commitments, ascending."""
        view = await node.newest()
        names = ("TimelockedWeightCommits", "CRV3WeightCommitsV2")
        index = _index(self._netuid, mechid)
        for name in names:
            rows = await self._optional(name, view.query_map(*_item(name, index)), None)
            if rows is not None:
                break
        blocks = (
            int(block) for _, commits in rows or () for who, block, *_ in commits or () if str(who) == self._hotkey
        )
        return tuple(sorted(blocks))

    async def weights(self, node: Node, mechid: int, uid: int) -> dict[int, int]:
        """Return the row of `uid`: target uid to u16, no zeros, by uid."""
        row = await node.query(*_item("Weights", _index(self._netuid, mechid), uid))
        return {int(target): int(value) for target, value in sorted(row or ()) if int(value)}

    async def _block(self, view: View) -> Head:
        """Return the view's block (NoSubnetError, OtherChainError, BehindError: as `head`)."""
        netuid = self._netuid
        planned, values = await asyncio.gather(
            self._optional("get_next_epoch_start_block", view.runtime(_NEXT_EPOCH, [netuid]), None),
            view.query_many(
                _GENESIS,
                ("System", "Number", []),
                ("Timestamp", "Now", []),
                *(_item(name, netuid) for name in ("NetworksAdded", "SubnetEpochIndex", "BlocksSinceLastStep")),
                *(_item(name, netuid) for name in ("Tempo", "NetworkRegisteredAt")),
            ),
        )
        genesis, number, time, there, index, since, tempo, registered = values
        self._same_chain(genesis)
        number = self._not_behind(int(number))
        self._require(there)
        if (index := self._or("SubnetEpochIndex", index, None)) is None:
            epoch, end = numbered_epoch(number, netuid, int(tempo), int(registered or 0))
            start = None if end is None else end - int(tempo)
        else:
            since = int(since or 0)
            epoch, start = int(index), number - since
            end = planned_end(number, None if planned is None else int(planned), since)
        return Head(number, _plain(view.block_hash), int(time) // 1_000, epoch, end, start)

    def _same_chain(self, genesis: Any) -> str:
        found = _plain(genesis)
        if not _HASH.fullmatch(found):
            raise ChainError(f"the chain shows no genesis: {printable(found, 80)}")
        if self._genesis is None:
            self._genesis = found
        if found != self._genesis:
            raise OtherChainError(f"its genesis is {found}, not {self._genesis}; check chain.endpoints")
        return found

    def _require(self, there: object) -> None:
        """Raise NoSubnetError without a subnet: where there is none the chain has default values for everything."""
        if not there:
            raise NoSubnetError(f"netuid {self._netuid}; check validator.netuid and chain.endpoints")

    def _not_behind(self, number: int) -> int:
        if number < self._highest - MOST_BEHIND:
            behind = self._highest - number
            raise BehindError(f"block {number}, {behind:,} blocks behind block {self._highest}, which was seen before")
        self._highest = max(self._highest, number)
        return number

    def _snapshot(self, head: Head, graph: Any, tls: AbstractSet[str]) -> MetagraphSnapshot:
        self._require(graph is not None)
        neurons = tuple(
            Neuron(
                neuron.hotkey,
                neuron.uid,
                neuron.total_stake.rao / _RAO,
                neuron.validator_permit,
                _axon(neuron.axon, neuron.hotkey in tls),
                neuron.last_update,
            )
            for neuron in graph.neurons
        )
        owner = graph.owner_hotkey if graph.owner_hotkey != _NOBODY else None
        at = (head.number, head.hash, head.time, head.epoch)
        return MetagraphSnapshot(self._netuid, *at, graph.tempo, owner, neurons)

    async def _certificates(self, view: View) -> list[tuple[Any, Any]]:
        read = view.query_map(*_item("NeuronCertificates", self._netuid))
        return await self._optional("NeuronCertificates", read, [])

    def _slot(self, uid: int) -> tuple[Item, Item]:
        return _item("SubnetworkN", self._netuid), _item("BlockAtRegistration", self._netuid, max(0, uid))

    async def _optional(self, name: str, read: Awaitable[T], otherwise: T) -> T:
        try:
            return await read
        except ValueError as error:
            if not is_missing(error):
                raise
        return self._or(name, MISSING, otherwise)

    def _or(self, name: str, value: Any, otherwise: T) -> T:
        """Return the value, or what takes its place where the runtime does not have the item."""
        if value is not MISSING:
            return cast("T", value)
        if name not in self._said:
            self._said.add(name)
            _log.warning("chain_old_runtime", netuid=self._netuid, missing=name)
        return otherwise


def _registered_at(uid: int, size: Any, block: Any) -> int:
    if not 0 <= uid < int(size or 0):
        raise ChainError(f"no neuron has uid {uid}")
    return int(block)


def _plain(block_hash: Any) -> str:
    return str(block_hash).removeprefix("0x").lower()


def _item(name: str, *keys: Any) -> Item:
    return "SubtensorModule", name, list(keys)


def _index(netuid: int, mechid: int) -> int:
    return mechid * _MAX_SUBNETS + netuid


def _axon(announced: str | None, tls: bool) -> Axon | None:
    """Return what `ip:port` says; an IPv6 address stands in brackets."""
    if announced is None:
        return None
    ip, _, port = announced.rpartition(":")
    return Axon(ip.strip("[]"), int(port), tls) if int(port) else None
