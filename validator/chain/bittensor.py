"""The real chain: the Chain protocol over the bittensor SDK.

Every read is pinned to one block and sends its requests at the same time: a head takes two round trips, a snapshot four
at most. Older runtimes lack some items: the substitute is written next to each read, and the log names each item once.

In the block in which a subnet steps, the weights of the blocks before it take effect: the epoch's last block is the one
before. Runtimes differ in what decides it (D-22), and with tempo 0 neither ever steps:

- Without their own epoch index the block's number does: `tempo - (block + netuid + 1) % (tempo + 1)` blocks are
  left. It is 0 one block before `(block + netuid + 1) % (tempo + 1)` is.
- With one, a schedule in the state does, which the owner or root can move: the runtime names its next block itself.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeVar, cast

import bittensor as bt
import structlog
from bittensor.metagraph import fetch as metagraph

from sssa.protocol.round import Axon, MetagraphSnapshot, Neuron
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.protocol.weight_rows import U16_MAX
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.connection import (
    MISSING,
    Connection,
    Item,
    Node,
    Substrates,
    View,
    is_missing,
    open_client,
)
from validator.chain.endpoints import Endpoints
from validator.chain.interface import (
    MOST_BEHIND,
    SLOW_S,
    BehindError,
    ChainError,
    ChainUnreachableError,
    Commitment,
    EndpointUse,
    Head,
    NoSubnetError,
    OtherChainError,
    SubnetParameters,
    ValidatorFigures,
    WeightsResult,
)
from validator.chain.limits import LIMITS, Limits
from validator.chain.runtime_rules import is_owner_exempt
from validator.chain.submission import (
    Execute,
    Submission,
    commitment_call,
    commitment_of,
    era_period,
    error_message,
    submission_lifetime,
    weights_call,
)
from validator.settings.urls import shown_url

T = TypeVar("T")
MAX_TEMPO: Final = 50_400
"""A runtime with a schedule steps after so many blocks without a step, whatever it has planned."""
_SLOW_HEADS: Final = 3  # one after the other
_PAUSE_S: Final = 2.0  # between two attempts to follow the blocks of a node that does not answer
_ATTEMPTS: Final = 3  # at a snapshot, where blocks are replaced while it is read
_MAX_SUBNETS: Final = 4_096  # the chain keeps a mechanism's values under mechid · 4,096 + netuid
_RAO: Final = 1_000_000_000
_HASH: Final = re.compile("[0-9a-f]{64}")
_NOBODY: Final = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM"  # 32 zero bytes
_GENESIS: Final[Item] = ("System", "BlockHash", [0])
# The call that commits weights, to ask whether the runtime has it; its content does not matter.
_COMMIT: Final = bt.calls.SubtensorModule.commit_timelocked_mechanism_weights(
    netuid=0, mecid=0, commit=b"", reveal_round=0, commit_reveal_version=4
)
_NEXT_EPOCH: Final = ("SubnetInfoRuntimeApi", "get_next_epoch_start_block")
_log = structlog.get_logger()


class BittensorChain:
    """One hotkey's connection to a subnet of a real chain.

    Nothing is connected before the first call.

    Args:
        endpoints: network names or websocket urls, the favourite first.
        signer: the validator's hotkey; the only key there is.
        substrate: replaces the SDK's access to a node, one for each client; for tests.
    """

    def __init__(  # noqa: PLR0913 - what a connection is made of
        self,
        *,
        endpoints: Sequence[str],
        netuid: int,
        signer: Signer,
        clock: Clock,
        limits: Limits = LIMITS,
        substrate: Substrates | None = None,
    ) -> None:
        self.netuid = netuid
        self._signer = signer
        self._clock = clock
        self._limits = limits
        self._substrate = substrate
        self._endpoints = Endpoints(endpoints, clock, limits)
        self._connection = self._connect(stubborn=True)
        self._newest = "", -1, 0.0  # the endpoint, its newest block, since when it has been that
        self._slow_heads = 0
        self._missing: set[str] = set()
        self._genesis: str | None = None

    @property
    def latency_s(self) -> float | None:
        """Duration of the newest call, seconds; None before the first."""
        return self._connection.latency_s

    @property
    def endpoint_use(self) -> EndpointUse:
        """The endpoint in use, and why others are not."""
        used = self._connection.endpoint
        return EndpointUse(shown_url(used) if used else "", self._endpoints.unhealthy)

    def expect(self, genesis: str) -> None:
        """Prefer endpoints of the chain with this genesis, hex without 0x, before any is known."""
        self._endpoints.genesis = self._endpoints.genesis or genesis

    async def genesis(self) -> str:
        """Return the hash of block 0, as the chain itself keeps it."""
        return await self._elsewhere(lambda: self._read_genesis(self._connection))

    async def head(self) -> Head:
        """Return the newest block."""
        if await self._endpoints.has_better(self._connection.endpoint):
            self._connection.drop("a better endpoint is well again")
        head = await self._elsewhere(self._head)
        self._watch(head.number)
        return head

    async def _head(self) -> Head:
        async with self._node("head") as node:
            return await self._block(await node.newest())

    async def wait_for_block(self, number: int) -> Head:
        """Return the newest block once its number is at least `number`.

        The subscription is taken anew for every block and the head read again, so that a dropped connection costs
        nothing; what fails meanwhile is tried again.

        Raises:
            ChainUnreachableError: no new block was seen for `limits.no_block_s`; the text says what failed last.
        """
        newest, since, trouble, notified = -1, self._clock.monotonic(), "", True
        while True:
            try:
                head = await self.head()
                if head.number > newest and not notified:
                    self._connection.leave("it sends no notices of new blocks")
                if head.number >= number:
                    return head
                if head.number > newest:
                    newest, since, trouble = head.number, self._clock.monotonic(), ""
                notified = await self._next_block(newest + 1, min(self._limits.call_s, self._remaining_s(since)))
            except ChainError as error:
                if self._connection.closed:
                    raise
                trouble, notified = error.detail or str(error), True
                await self._clock.sleep(min(_PAUSE_S, max(0.0, self._remaining_s(since))))
            if self._remaining_s(since) <= 0:
                seen = f"; {trouble}" if trouble else ""
                raise ChainUnreachableError(f"no new block for {self._limits.no_block_s:g} s{seen}")

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block; it is read again if that block was replaced meanwhile."""
        return await self._elsewhere(self._read_snapshot)

    async def _read_snapshot(self) -> MetagraphSnapshot:
        async with self._node("metagraph") as node:
            for _ in range(_ATTEMPTS):
                view = await node.newest()
                head, graph, certificates = await asyncio.gather(
                    self._block(view), metagraph(view, self.netuid, commitments=False), self._certificates(view)
                )
                if await node.hash_of(head.number) == view.block_hash:
                    return self._snapshot(head, graph, {str(hotkey) for hotkey, _ in certificates})
        raise ChainError("the newest block was replaced again and again while the metagraph was read")

    async def parameters(self) -> SubnetParameters:
        """Return the subnet's parameters as of now, item by item: the bundled read needs a newer runtime."""
        names: tuple[str, ...] = ("NetworksAdded", "Tempo", "WeightsSetRateLimit", "WeightsVersionKey")
        names += ("CommitRevealWeightsEnabled", "MechanismCountCurrent", "MinAllowedWeights", "RevealPeriodEpochs")
        names += ("SubnetEpochConsensus",)
        items = (_item("StakeThreshold"), *(_item(name, self.netuid) for name in names))
        async with self._node("parameters") as node:
            view = await node.newest()
            values, takes, spec = await asyncio.gather(
                view.query_many(*items), node.has_call(_COMMIT), node.spec_version()
            )
            min_stake, there, tempo, rate_limit, version_key, commit_reveal, count, least, reveal, consensus = values
            self._require(there)
            return SubnetParameters(
                tempo=int(tempo),
                weights_rate_limit=int(rate_limit or 0),
                min_stake_tao=int(min_stake or 0) / _RAO,
                version_key=int(version_key or 0),
                commit_reveal=bool(commit_reveal),
                mechanisms=int(self._or("MechanismCountCurrent", count, 1)),
                takes_commitments=takes,
                min_allowed_weights=int(least or 0),
                reveal_epochs=int(self._or("RevealPeriodEpochs", reveal, 1) or 1),
                owner_exempt=is_owner_exempt(spec, consensus),
            )

    async def validators(self) -> Sequence[ValidatorFigures]:
        """Return the figures of all neurons with a validator permit, by uid."""
        names = ("ValidatorPermit", "ValidatorTrust", "Dividends", "Emission")
        async with self._node("validators") as node:
            view = await node.newest()
            columns = await view.query_many(*(_item(name, self.netuid) for name in names))
            rows = zip(*(column or () for column in columns), strict=False)
            return tuple(
                ValidatorFigures(uid, int(trust) / U16_MAX, int(dividends) / U16_MAX, int(emission) / _RAO)
                for uid, (permit, trust, dividends, emission) in enumerate(rows)
                if permit
            )

    async def set_weights(
        self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int, head: int | None = None
    ) -> WeightsResult:
        """Submit weights, as a commitment where the subnet wants one, and wait until they are final.

        Certain not to have been sent is everything before the signature; afterwards only an answer that names the
        block, or the pool's refusal, is certain.
        """
        call = weights_call(self.netuid, mechid, weights, era_period(valid_blocks))
        return await self._submit("set_weights", call, head)

    def submission_lifetime(self, valid_blocks: int) -> int:
        """Return the era's length plus the blocks that may pass before it begins."""
        return submission_lifetime(valid_blocks)

    async def last_update(self, mechid: int, uid: int) -> int:
        """Return the block of the neuron's last weights or commitment.

        Of a mechanism that is younger than the neuron the chain keeps no block, even after weights; the registration
        is what it then has in common with the others.
        """
        async with self._node("last update") as node:
            view = await node.newest()
            updates, *slot = await view.query_many(_item("LastUpdate", self._index(mechid)), *self._slot(uid))
            if isinstance(updates, list | tuple) and 0 <= uid < len(updates):
                return int(updates[uid])
            if mechid == 0:
                raise ChainError(f"no neuron has uid {uid}")
            return _registered_at(uid, *slot)

    async def registered_at(self, uid: int) -> int:
        """Return the block at which the holder of `uid` registered."""
        async with self._node("registration") as node:
            return _registered_at(uid, *await (await node.newest()).query_many(*self._slot(uid)))

    async def commits(self, mechid: int) -> Sequence[int]:
        """Return the blocks of this hotkey's commits that are not revealed; empty if the runtime keeps none."""
        async with self._node("commits") as node:
            view = await node.newest()
            for name in ("TimelockedWeightCommits", "CRV3WeightCommitsV2"):
                rows = await self._optional(name, view.query_map(*_item(name, self._index(mechid))), None)
                if rows is not None:
                    break
            listed = (one for _, commits in rows or () for one in commits or ())
            return tuple(sorted(int(block) for who, block, *_ in listed if str(who) == self._signer.hotkey))

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights that the neuron at `uid` has set, by uid."""
        async with self._node("weights") as node:
            row = await node.query(*_item("Weights", self._index(mechid), uid))
            return {int(target): int(value) for target, value in sorted(row or ()) if int(value)}

    async def commitment(self, hotkey: str) -> Commitment | None:
        """Return a hotkey's commitment (MissingError: the runtime keeps no commitments)."""
        async with self._node("commitment") as node:
            return await commitment_of(node, self.netuid, hotkey)

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        """Commit to `content`, as one plain field, and wait until it is final; certain as `set_weights` is."""
        return await self._submit("set_commitment", commitment_call(self.netuid, content, era_period(valid_blocks)))

    async def announce_axon(self, ip: str, port: int) -> None:
        """Announce this hotkey's address on chain, for miners.

        Raises:
            ChainUnreachableError: no connection, or no answer in time.
            ChainError: the chain refused; the text names the error.
        """
        intent = bt.ServeAxon(netuid=self.netuid, ip=ip, port=port)
        async with self._spare() as spare:
            result = await spare.ask(
                "serve axon", lambda client: client.execute(intent, self._signer.keypair), self._limits.submit_s
            )
        if not result.success:
            raise ChainError(f"serve axon: {error_message(result.error or bt.ChainError(result.message))}")

    async def close(self) -> None:
        """Release the connection."""
        await self._connection.close()

    async def _submit(self, what: str, call: Execute, head: int | None = None) -> WeightsResult:
        async with self._spare() as spare:
            try:
                await self._read_genesis(spare)
            except ChainError as error:
                if isinstance(error, OtherChainError):
                    spare.leave(error.detail)
                raise ChainUnreachableError(f"{what}: nothing was sent: {error.detail or error}") from error
            return await Submission(spare, self._clock, self._signer, self._limits, what).send(call, head)

    async def _elsewhere(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a read; use the next endpoint if this one shows another chain or old blocks."""
        try:
            return await read()
        except (OtherChainError, BehindError) as error:
            if not self._connection.leave(error.detail):
                raise
        return await read()

    def _watch(self, number: int) -> None:
        """Leave an endpoint whose newest block stays the same, or that is slow while another is healthy."""
        now, used, call_s = self._clock.monotonic(), self._connection.endpoint, self.latency_s or 0.0
        endpoint, newest, since = self._newest
        self._slow_heads = self._slow_heads + 1 if call_s > SLOW_S else 0
        if self._slow_heads >= _SLOW_HEADS and self._endpoints.has_other(used):
            self._slow_heads = 0
            self._connection.leave(f"slow: {call_s:.1f} s a call")
        if number > newest or used != endpoint:
            self._newest = used, number, now
        elif (still_s := now - since) > self._limits.still_s:
            self._connection.leave(f"block {number} has been its newest for {still_s:.0f} s")

    async def _next_block(self, number: int, seconds: float) -> bool:
        """Return whether a notice of the block came in time."""
        async with self._connection.asking("blocks") as client:
            try:
                await within(self._clock, max(0.001, seconds), client.wait_for_block(number))
            except TimeoutError:
                return False
        return True

    def _remaining_s(self, since: float) -> float:
        return since + self._limits.no_block_s - self._clock.monotonic()

    @asynccontextmanager
    async def _spare(self) -> AsyncIterator[Connection]:
        """Open a second connection for one signature."""
        if self._connection.closed:
            raise ChainUnreachableError("the connection was closed")
        connection = self._connect(stubborn=False)
        try:
            yield connection
        finally:
            await connection.close()

    def _connect(self, *, stubborn: bool) -> Connection:
        return Connection(
            lambda: open_client(self._endpoints, self.netuid, self._substrate, self._limits, stubborn=stubborn),
            self._clock,
            self._limits.call_s,
            self._endpoints,
        )

    def _node(self, what: str) -> AbstractAsyncContextManager[Node]:
        return self._connection.node(what)

    async def _read_genesis(self, connection: Connection) -> str:
        """Return the genesis, read from the state: the node may answer a call for block 0 from its memory."""
        async with connection.node("genesis") as node:
            return self._same_chain(await node.query(*_GENESIS))

    def _index(self, mechid: int) -> int:
        return mechid * _MAX_SUBNETS + self.netuid

    async def _block(self, view: View) -> Head:
        """Return the view's block (NoSubnetError, OtherChainError, BehindError: as `head`)."""
        netuid = self.netuid
        planned, values = await asyncio.gather(
            self._next_epoch(view),
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
        genesis_hash = _plain(genesis)
        if not _HASH.fullmatch(genesis_hash):
            raise ChainError(f"the chain shows no genesis: {printable(genesis_hash, 80)}")
        if self._genesis is None:
            self._genesis = genesis_hash
            self.expect(genesis_hash)
        if genesis_hash != self._genesis:
            raise OtherChainError(f"its genesis is {genesis_hash}, not {self._genesis}; check chain.endpoints")
        return genesis_hash

    def _require(self, there: object) -> None:
        """Raise NoSubnetError without a subnet, for which the chain returns default values."""
        if not there:
            raise NoSubnetError(f"netuid {self.netuid}; check validator.netuid and chain.endpoints")

    def _not_behind(self, number: int) -> int:
        if number < self._endpoints.highest - MOST_BEHIND:
            behind = self._endpoints.highest - number
            raise BehindError(
                f"block {number}, {behind:,} blocks behind block {self._endpoints.highest}, which was seen before"
            )
        self._endpoints.highest = max(self._endpoints.highest, number)
        return number

    def _snapshot(self, head: Head, graph: Any, tls: Collection[str]) -> MetagraphSnapshot:
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
        return MetagraphSnapshot(self.netuid, *at, graph.tempo, owner, neurons)

    async def _next_epoch(self, view: View) -> Any:
        return await self._optional("get_next_epoch_start_block", view.runtime(_NEXT_EPOCH, [self.netuid]), None)

    async def _certificates(self, view: View) -> list[tuple[Any, Any]]:
        read = view.query_map(*_item("NeuronCertificates", self.netuid))
        return await self._optional("NeuronCertificates", read, [])

    def _slot(self, uid: int) -> tuple[Item, Item]:
        return _item("SubnetworkN", self.netuid), _item("BlockAtRegistration", self.netuid, max(0, uid))

    async def _optional(self, name: str, read: Awaitable[T], otherwise: T) -> T:
        try:
            return await read
        except ValueError as error:
            if not is_missing(error):
                raise
        return self._or(name, MISSING, otherwise)

    def _or(self, name: str, value: Any, otherwise: T) -> T:
        """Return the value, or the substitute if the runtime does not have the item."""
        if value is not MISSING:
            return cast("T", value)
        if name not in self._missing:
            self._missing.add(name)
            _log.warning("chain_old_runtime", netuid=self.netuid, missing=name)
        return otherwise


def numbered_epoch(block: int, netuid: int, tempo: int, registered: int) -> tuple[int, int | None]:
    """Return the epoch's index and its last block, for a runtime in which the block's number decides.

    The index is D-22's count of lengths since the subnet was registered, which does not know where the chain steps: as
    a rule it changes within what is between two steps. It falls if the tempo is raised.

    Args:
        block: the block whose state is meant, its step included.
        netuid: the subnet, from 0 to 65,535.
        tempo: as of that block, from 0 to 65,535; with 0 there is epoch 0 without an end.
        registered: the block at which the subnet was registered.
    """
    if tempo == 0:
        return 0, None
    length = tempo + 1
    next_step = ((block + netuid + 2) // length + 1) * length - netuid - 2
    return max(0, block - registered) // length, next_step - 1


def planned_end(block: int, planned: int | None, since_step: int) -> int | None:
    """Return the epoch's last block, for a runtime with a schedule; None without a plan.

    Args:
        block: the block whose state is meant, its step included.
        planned: the block of the next step as the runtime names it; not past `block` if it is overdue.
        since_step: blocks since the last step that was carried out.
    """
    if planned is None:
        return None
    return max(block, min(planned - 1, block + MAX_TEMPO - since_step))


def _registered_at(uid: int, size: Any, block: Any) -> int:
    if not 0 <= uid < int(size or 0):
        raise ChainError(f"no neuron has uid {uid}")
    return int(block)


def _plain(block_hash: Any) -> str:
    return str(block_hash).removeprefix("0x").lower()


def _item(name: str, *keys: Any) -> Item:
    return "SubtensorModule", name, list(keys)


def _axon(announced: str | None, tls: bool) -> Axon | None:
    """Return the axon of `ip:port`; an IPv6 address is in brackets."""
    if announced is None:
        return None
    ip, _, port = announced.rpartition(":")
    return Axon(ip.strip("[]"), int(port), tls) if int(port) else None
