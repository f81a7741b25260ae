"""Status of one validator, `validator status`: its store, its health report, the chain; each of them may be missing."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy.exc import DBAPIError

from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Neuron
from sssa.protocol.text import printable
from sssa.sources import Clock, SystemClock
from validator.audit.views import MinerView, miner_list, round_list
from validator.cancellation import within
from validator.chain.interface import Chain, Head
from validator.chain.opening import reading_chain
from validator.chain.wallet import WalletError, load_signer
from validator.health.client import HealthAnswer, ask_health
from validator.settings.model import Settings, StoreSettings
from validator.store import Store, Transaction, open_store
from validator.store.connections import Handles
from validator.store.errors import DamagedError
from validator.store.identity import require_known_version
from validator.store.rows import LogHead, RoundRecord, WeightsRecord
from validator.store.size import DiskUse, disk_use
from validator.store.urls import parse_url
from validator.weights.chain_view import ChainReader, due_block
from validator.weights.figures import OwnFigures, own_figures
from validator.weights.plan import mechanisms

_ROUNDS: Final = 8
_HEALTH_S: Final = 3.0
_CHAIN_S: Final = 60.0  # all of it; each call has its own limit
_FRESH_S: Final = 12.0  # a block's time: so long is what the chain said good enough
_PROBLEM: Final = 300


@dataclass(frozen=True, slots=True)
class OnChainWeights:
    """The row of this hotkey for one mechanism: last update (None without a slot), u16 by uid, open commitments."""

    mechid: int
    last_update: int | None = None
    row: Mapping[int, int] = field(default_factory=dict)
    commits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OnChain:
    """The subnet at one moment.

    Attributes:
        due_block: from which on the epoch's weights are sent.
        me: this hotkey's slot; None without one.
        weights: by mechanism.
        latency_s: how long the newest answer took; None where it took no time that could be measured.
        endpoint: the one that was asked; empty for a simulated chain.
        endpoints_left: why other endpoints are not used, by their shown url.
        figures: of this hotkey as a validator; None without a permit.
    """

    netuid: int
    head: Head
    due_block: int
    neurons: int
    me: Neuron | None
    min_stake_tao: float
    weights: tuple[OnChainWeights, ...]
    latency_s: float | None = None
    endpoint: str = ""
    unhealthy_endpoints: Mapping[str, str] = field(default_factory=dict)
    figures: OwnFigures | None = None


async def on_chain(chain: Chain, clock: Clock, settings: Settings, hotkey: str) -> OnChain:
    """Return the chain's current state (ChainError, TimeoutError: it could not be read)."""
    wanted = tuple(mechanisms(settings.weights))
    looks = asyncio.gather(*(ChainReader(chain, clock, hotkey, mechid).look() for mechid in wanted))
    head, views, validators = await asyncio.gather(chain.head(), looks, chain.validators())
    snapshot, parameters, _ = views[-1]
    slots = [view.slot for view in views]
    return OnChain(
        netuid=snapshot.netuid,
        head=head,
        due_block=due_block(head, settings.weights.blocks_before_epoch_end),
        neurons=len(snapshot.neurons),
        me=snapshot.by_hotkey(hotkey),
        min_stake_tao=parameters.min_stake_tao,
        weights=tuple(
            OnChainWeights(mechid, slot.last_update, dict(slot.weights), tuple(slot.commits))
            if slot
            else OnChainWeights(mechid)
            for mechid, slot in zip(wanted, slots, strict=True)
        ),
        latency_s=chain.latency_s,
        endpoint=chain.endpoint_use.used,
        unhealthy_endpoints=chain.endpoint_use.unhealthy,
        figures=own_figures(validators, snapshot.by_hotkey(hotkey), parameters),
    )


@dataclass(frozen=True, slots=True)
class Miners:
    """Number of hotkeys of each kind; a hotkey may be of several.

    `declaring` and `scored` are of those that are registered; `ejected` are in no group for their flags.
    """

    seen: int
    registered: int
    declaring: int
    scored: int
    flagged: int
    ejected: int


@dataclass(frozen=True, slots=True)
class Stored:
    """Content of the store at one moment.

    Attributes:
        rounds: the newest ones, newest first; `in_hand` is the newest that is open.
        weights: the newest submission of each mechanism that has one.
        confirmed: the newest epoch whose weights are on chain, by mechanism to which weights are sent; None without.
        unpaid: how many windows would not be paid now, by reason (SPEC 11, D-23).
        locked: why weights are locked in the store; None if they are not.
        log: the newest receipt; None before the first, and where it is damaged.
    """

    rounds: tuple[RoundRecord, ...]
    in_hand: RoundRecord | None
    weights: tuple[WeightsRecord, ...]
    confirmed: Mapping[int, int | None]
    miners: Miners
    flags: int
    unpaid: Mapping[Reason, int]
    executions: Mapping[str, int]
    locked: str | None
    log: LogHead | None


async def stored(tx: Transaction, settings: Settings, now: datetime) -> Stored:
    """Return the store's current content."""
    pays, netuid = mechanisms(settings.weights), settings.validator.netuid
    sends = pays if settings.weights.enabled and not settings.weights.dry_run else ()
    newest = [await tx.weights.newest(netuid, mechid) for mechid in pays]
    everyone = await miner_list(tx, now, pays)
    rounds = await round_list(tx, _ROUNDS)
    lock, head = await tx.weight_guard.locked(), None
    with suppress(DamagedError):  # `validator doctor` says so; the rest can still be shown
        head = await tx.receipts.head()
    return Stored(
        rounds=rounds,
        in_hand=next((one for one in rounds if one.state == "open"), None),
        weights=tuple(one for one in newest if one is not None),
        confirmed={mechid: await tx.weights.confirmed_epoch(netuid, mechid) for mechid in sends},
        miners=_miners(everyone),
        flags=sum(miner.flags for miner in everyone),
        unpaid=dict(Counter(one.reason for miner in everyone for one in miner.unpaid).most_common()),
        executions=await tx.executions.counts(),
        locked=None if lock is None else lock.seen,
        log=head,
    )


def _miners(everyone: tuple[MinerView, ...]) -> Miners:
    registered = [miner for miner in everyone if miner.registered]
    return Miners(
        seen=len(everyone),
        registered=len(registered),
        declaring=sum(bool(miner.skill_types) for miner in registered),
        scored=sum(miner.score > 0 for miner in registered),
        flagged=sum(miner.flags > 0 for miner in everyone),
        ejected=sum(miner.ejected for miner in everyone),
    )


async def disk_of(tx: Transaction, settings: StoreSettings, now: datetime) -> DiskUse:
    """Return size and growth of the store (OSError, StoreError: it cannot be read)."""
    kept = {"answers": settings.retention_raw_days, "bundles": settings.retention_bundles_days}
    return await disk_use(tx.connection, parse_url(settings.url.reveal()).path, kept, now)


@dataclass(frozen=True, slots=True)
class Overview:
    """One look; hotkey, store, disk and chain are None where they cannot be read, and `problems` says why.

    `weights_epochs` is the limit of the settings: weights that are older are `weights_old`.
    """

    at: datetime
    netuid: int
    hotkey: str | None
    running: HealthAnswer
    store: Stored | None
    disk: DiskUse | None
    chain: OnChain | None
    problems: Mapping[str, str]
    weights_epochs: int


@dataclass
class Observer:
    """Source of looks, which keeps its connections. Use it from one event loop, and close it.

    `hotkey` is the validator's, None: that of the wallet; `handles` open the store, None: as usual.
    """

    settings: Settings
    with_chain: bool = True
    clock: Clock = field(default_factory=SystemClock)
    hotkey: str | None = None
    handles: Handles | None = None
    _hotkey: str | None = field(init=False, default=None)
    _wallet_problem: str = field(init=False, default="")
    _store: Store | None = field(init=False, default=None)
    _chain: Chain | None = field(init=False, default=None)
    _seen: tuple[float, OnChain] | None = field(init=False, default=None)
    _genesis: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        try:
            self._hotkey = self.hotkey or load_signer(self.settings.wallet).hotkey
        except WalletError as error:
            self._wallet_problem = _error_text(error)

    async def look(self) -> Overview:
        """Return a look; takes about 30 s if the chain does not answer."""
        running, ((of_store, disk, store_problem), (of_chain, chain_problem)) = await asyncio.gather(
            asyncio.to_thread(self._running), self._read()
        )
        problems = {"wallet": self._wallet_problem, "store": store_problem, "chain": chain_problem}
        netuid, epochs = self.settings.validator.netuid, self.settings.health.weights_epochs
        return Overview(self.clock.now(), netuid, self._hotkey, running, of_store, disk, of_chain, problems, epochs)

    async def close(self) -> None:
        """Close store and chain."""
        for one in (self._store, self._chain):
            if one is not None:
                await one.close()

    def _running(self) -> HealthAnswer:
        health = self.settings.health
        if health.port == 0:
            return HealthAnswer(healthy=False, address="", status="health.port is 0: it can be anywhere")
        return ask_health(health, _HEALTH_S)

    async def _read(self) -> tuple[tuple[Stored | None, DiskUse | None, str], tuple[OnChain | None, str]]:
        """Read the store, which knows its chain, then the chain."""
        return await self._stored(), await self._on_chain()

    async def _stored(self) -> tuple[Stored | None, DiskUse | None, str]:
        try:
            if self._store is None:
                self._store = await open_store(self.settings.store.url.reveal(), handles=self.handles)
            now = self.clock.now()
            async with self._store.read() as tx:
                await require_known_version(tx)
                known = await tx.chain.get()
                self._genesis = None if known is None else known.genesis
                store_view = await stored(tx, self.settings, now)
                return store_view, await disk_of(tx, self.settings.store, now), ""
        except (ValidatorError, DBAPIError, OSError) as error:
            problem = _error_text(error) if isinstance(error, ValidatorError) else type(error).__name__
        if self._store is not None:  # the next look opens it anew
            await self._store.close()
            self._store = None
        return None, None, problem

    async def _on_chain(self) -> tuple[OnChain | None, str]:
        if not self.with_chain:
            return None, "not asked"
        if self._hotkey is None:
            return None, "not asked: the hotkey cannot be read"
        now = self.clock.monotonic()
        if self._seen is not None and now - self._seen[0] < _FRESH_S:
            return self._seen[1], ""
        try:
            chain = self._chain or reading_chain(self.settings, self.clock)
            if self.settings.chain.kind == "bittensor":  # the simulated one is read anew from its file each time
                self._chain = chain
            if self._genesis is not None:
                chain.expect(self._genesis)
            chain_view = await within(self.clock, _CHAIN_S, on_chain(chain, self.clock, self.settings, self._hotkey))
        except (ValidatorError, TimeoutError) as error:
            return None, _error_text(error)
        self._seen = now, chain_view
        return chain_view, ""


def _error_text(error: Exception) -> str:
    return printable(str(error) or type(error).__name__, _PROBLEM)
