"""What is read of a subtensor: heads, snapshots, parameters and the traces of submissions.

Every read is pinned to one block. Older runtimes lack some of it: what takes its place stands beside each read, and the
log says so once for each.
"""

import re
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import bittensor as bt
import structlog

from validator.chain.base import ChainError, Head, NoSubnetError, OtherChainError, SubnetParameters
from validator.chain.connection import is_missing
from validator.chain.epochs import numbered_epoch, planned_end
from validator.protocol.round import Axon, MetagraphSnapshot, Neuron
from validator.protocol.text import printable

T = TypeVar("T")
_log = structlog.get_logger()
_ATTEMPTS: Final = 3  # at a snapshot, where blocks are replaced while it is read
_MAX_SUBNETS: Final = 4_096  # the chain keeps a mechanism's values under mechid · 4,096 + netuid
_RAO: Final = 1_000_000_000
_HASH: Final = re.compile("[0-9a-f]{64}")
_NOBODY: Final = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM"  # 32 zero bytes


class Reads:
    """The reads of one subnet; each takes a client or a view of it and returns values of this program.

    Args:
        netuid: the subnet.
        hotkey: whose commitments are looked for.
    """

    def __init__(self, netuid: int, hotkey: str) -> None:
        self._netuid = netuid
        self._hotkey = hotkey
        self._said: set[str] = set()
        self._genesis: str | None = None

    async def exists(self, client: bt.Client) -> None:
        """Raise NoSubnetError if the chain does not have the subnet."""
        if not await client.query(_item("NetworksAdded"), [self._netuid]):
            raise NoSubnetError(f"netuid {self._netuid}; check validator.netuid and chain.endpoints")

    async def genesis(self, view: bt.Client | bt.Snapshot) -> str:
        """Return the hash of block 0, from the state: an answer of the node to that number may be one it remembers.

        Raises:
            OtherChainError: it was another one before.
        """
        found = str(await view.query(("System", "BlockHash"), [0])).removeprefix("0x").lower()
        if not _HASH.fullmatch(found):
            raise ChainError(f"the chain shows no genesis: {printable(found, 80)}")
        if self._genesis is None:
            self._genesis = found
        if found != self._genesis:
            raise OtherChainError(f"its genesis is {found}, not {self._genesis}; check chain.endpoints")
        return found

    async def head(self, client: bt.Client) -> Head:
        """Return the newest block (OtherChainError: of another chain than before)."""
        block = await _block(client)
        view = await client.at(block.number)
        await self.genesis(view)
        epoch, end, start = await self._epoch(view)
        return Head(block.number, _hash(block), int(block.timestamp.timestamp()), epoch, end, start)

    async def snapshot(self, client: bt.Client) -> MetagraphSnapshot:
        """Return the subnet at the newest block; read again if that block was replaced meanwhile.

        Raises:
            NoSubnetError: there is no such subnet.
            OtherChainError: the block is of another chain than what was read before.
            ChainError: block after block was replaced.
        """
        for _ in range(_ATTEMPTS):
            block = await _block(client)
            snapshot = await self._snapshot_at(client, block)
            if _hash(await _block(client, block.number)) == snapshot.block_hash:
                return snapshot
        raise ChainError("the newest block was replaced again and again while the metagraph was read")

    async def parameters(self, client: bt.Client) -> SubnetParameters:
        """Return what the subnet asks of validators, item by item: the bundled read needs a newer runtime."""
        view = await client.at()
        netuid = [self._netuid]
        count = await self._optional("MechanismCountCurrent", view.query(_item("MechanismCountCurrent"), netuid), 1)
        return SubnetParameters(
            tempo=int(await view.query(_item("Tempo"), netuid)),
            weights_rate_limit=int(await view.query(_item("WeightsSetRateLimit"), netuid) or 0),
            min_stake_tao=int(await view.query(_item("StakeThreshold"), []) or 0) / _RAO,
            version_key=int(await view.query(_item("WeightsVersionKey"), netuid) or 0),
            commit_reveal=bool(await view.query(_item("CommitRevealWeightsEnabled"), netuid)),
            mechanisms=int(count),
        )

    async def last_update(self, client: bt.Client, mechid: int, uid: int) -> int:
        """Return the block of the last weights or commitment of `uid` (ChainError: no such neuron).

        Of a mechanism that is younger than the neuron the chain keeps no block, even after weights; the registration
        is what it then has in common with the others.
        """
        view = await client.at()
        updates = await view.query(_item("LastUpdate"), [_index(self._netuid, mechid)])
        if isinstance(updates, list | tuple) and 0 <= uid < len(updates):
            return int(updates[uid])
        if mechid == 0:
            raise ChainError(f"no neuron has uid {uid}")
        return await self._registered_at(view, uid)

    async def registered_at(self, client: bt.Client, uid: int) -> int:
        """Return the block at which the holder of `uid` registered (ChainError: no such neuron)."""
        return await self._registered_at(await client.at(), uid)

    async def commits(self, client: bt.Client, mechid: int) -> tuple[int, ...]:
        """Return the blocks of this hotkey's unrevealed commitments, ascending."""
        view = await client.at()
        index = [_index(self._netuid, mechid)]
        rows = await self._optional(
            "TimelockedWeightCommits", view.query_map(_item("TimelockedWeightCommits"), index), None
        )
        if rows is None:
            rows = await self._optional("CRV3WeightCommitsV2", view.query_map(_item("CRV3WeightCommitsV2"), index), [])
        blocks = (int(block) for _, commits in rows for who, block, *_ in commits or () if str(who) == self._hotkey)
        return tuple(sorted(blocks))

    async def weights(self, client: bt.Client, mechid: int, uid: int) -> dict[int, int]:
        """Return the row of `uid`: target uid to u16, no zeros, by uid."""
        row = await client.query(_item("Weights"), [_index(self._netuid, mechid), uid])
        return {int(target): int(value) for target, value in sorted(row or ()) if int(value)}

    async def _registered_at(self, view: bt.Snapshot, uid: int) -> int:
        if not 0 <= uid < int(await view.query(_item("SubnetworkN"), [self._netuid]) or 0):
            raise ChainError(f"no neuron has uid {uid}")
        return int(await view.query(_item("BlockAtRegistration"), [self._netuid, uid]))

    async def _snapshot_at(self, client: bt.Client, block: Any) -> MetagraphSnapshot:
        view = await client.at(block.number)
        await self.genesis(view)
        graph = await view.subnets.metagraph(self._netuid, commitments=False)
        if graph is None:
            raise NoSubnetError(f"netuid {self._netuid}; check validator.netuid and chain.endpoints")
        certificates = await self._optional(
            "NeuronCertificates", view.query_map(_item("NeuronCertificates"), [self._netuid]), []
        )
        tls = {str(hotkey) for hotkey, _ in certificates}
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
        time = int(block.timestamp.timestamp())
        epoch, _, _ = await self._epoch(view)
        return MetagraphSnapshot(self._netuid, block.number, _hash(block), time, epoch, graph.tempo, owner, neurons)

    async def _epoch(self, view: bt.Snapshot) -> tuple[int, int | None, int | None]:
        """Return the epoch's index, its last block as now planned (D-22), and the block of the step before it."""
        netuid = [self._netuid]
        index = await self._optional("SubnetEpochIndex", view.query(_item("SubnetEpochIndex"), netuid), None)
        if index is None:
            tempo = int(await view.query(_item("Tempo"), netuid))
            registered = int(await view.query(_item("NetworkRegisteredAt"), netuid) or 0)
            number, end = numbered_epoch(view.block, self._netuid, tempo, registered)
            return number, end, None if end is None else end - tempo
        read = view.read("next_epoch_start_block", netuid=self._netuid)
        planned = await self._optional("get_next_epoch_start_block", read, None)
        since = int(await view.query(_item("BlocksSinceLastStep"), netuid) or 0)
        return int(index), planned_end(view.block, planned, since), view.block - since

    async def _optional(self, name: str, read: Awaitable[T], otherwise: T) -> T:
        try:
            return await read
        except ValueError as error:
            if not is_missing(error):
                raise
        if name not in self._said:
            self._said.add(name)
            _log.warning("chain_old_runtime", netuid=self._netuid, missing=name)
        return otherwise


async def _block(client: bt.Client, number: int | None = None) -> Any:
    block = await client.block_info(number)
    if block is None or not block.hash:
        raise ChainError("the chain shows no such block")
    return block


def _hash(block: Any) -> str:
    return str(block.hash).removeprefix("0x").lower()


def _item(name: str) -> tuple[str, str]:
    return "SubtensorModule", name


def _index(netuid: int, mechid: int) -> int:
    return mechid * _MAX_SUBNETS + netuid


def _axon(announced: str | None, tls: bool) -> Axon | None:
    """Return what `ip:port` says; an IPv6 address stands in brackets."""
    if announced is None:
        return None
    ip, _, port = announced.rpartition(":")
    return Axon(ip.strip("[]"), int(port), tls) if int(port) else None
