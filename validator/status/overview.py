"""The three sides put together; one that is missing says why and holds up none of the others for long."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from validator.chain.base import Chain, ChainError
from validator.chain.simulated import SimulatedChain
from validator.chain.state import load_state
from validator.chain.subnet import SimulatedSubnet
from validator.chain.wallet import WalletError, load_signer
from validator.chain.within import within
from validator.daemon.chains import real_chain
from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.settings import Settings
from validator.sources import Clock, SystemClock
from validator.status.disk import Disk, disk_of
from validator.status.onchain import OnChain, on_chain
from validator.status.stored import Stored, stored
from validator.store import Store, open_store
from validator.store.known import require_known_version
from validator.web.asking import HealthAnswer, ask_health

_HEALTH_S: Final = 3.0
_CHAIN_S: Final = 60.0  # all of it; each call has its own limit
_FRESH_S: Final = 12.0  # a block's time: so long is what the chain said good enough
_PROBLEM: Final = 300


@dataclass(frozen=True, slots=True)
class Running:
    """What the validator says of itself.

    Attributes:
        address: where it was asked; empty where the settings leave that to chance.
        answers: whether one answered.
        status: `ok`, `degraded`, `stopping`, `unhealthy` with what stands; or why there is no answer.
        conditions: a line for each that somebody should look at, with advice.
        report: all of it; None without an answer.
    """

    address: str
    answers: bool
    status: str
    conditions: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """One look.

    Attributes:
        at: when.
        netuid: of the settings.
        hotkey: the validator's own, None where the wallet cannot be read; `hotkey_problem` says why.
        running: the validator itself.
        stored, disk, stored_problem: the store and its size, or why there is none.
        chain, chain_problem: the chain, or why there is none.
    """

    at: datetime
    netuid: int
    hotkey: str | None
    hotkey_problem: str
    running: Running
    stored: Stored | None
    disk: Disk | None
    stored_problem: str
    chain: OnChain | None
    chain_problem: str


@dataclass
class Observer:
    """Looks, once or again and again; what it connects to is kept. Use it from one event loop, and close it.

    Args:
        settings: the operator's.
        with_chain: whether the chain is asked.
        clock: local time.
    """

    settings: Settings
    with_chain: bool = True
    clock: Clock = field(default_factory=SystemClock)
    _signer: Signer | None = field(init=False, default=None)
    _signer_problem: str = field(init=False, default="")
    _store: Store | None = field(init=False, default=None)
    _chain: Chain | None = field(init=False, default=None)
    _seen: tuple[float, OnChain] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        try:
            self._signer = load_signer(self.settings.wallet)
        except WalletError as error:
            self._signer_problem = _said(error)

    async def look(self) -> Overview:
        """Return how things are; takes some 30 s where the chain does not answer."""
        running, (of_store, disk, store_problem), (of_chain, chain_problem) = await asyncio.gather(
            asyncio.to_thread(self._running), self._stored(), self._on_chain()
        )
        return Overview(
            at=self.clock.now(),
            netuid=self.settings.validator.netuid,
            hotkey=None if self._signer is None else self._signer.hotkey,
            hotkey_problem=self._signer_problem,
            running=running,
            stored=of_store,
            disk=disk,
            stored_problem=store_problem,
            chain=of_chain,
            chain_problem=chain_problem,
        )

    async def close(self) -> None:
        """Let go of store and chain."""
        if self._store is not None:
            await self._store.close()
        if self._chain is not None:
            await self._chain.close()

    def _running(self) -> Running:
        health = self.settings.health
        if health.port == 0:
            return Running("", answers=False, status="health.port is 0: it can be anywhere")
        answer = ask_health(health, _HEALTH_S)
        return Running(answer.address, answer.report is not None, answer.status, _standing(answer), answer.report)

    async def _stored(self) -> tuple[Stored | None, Disk | None, str]:
        try:
            if self._store is None:
                self._store = await open_store(self.settings.store.url.reveal())
            now = self.clock.now()
            async with self._store.read() as tx:
                await require_known_version(tx)
                found = await stored(tx, self.settings, now)
            return found, await disk_of(self._store, self.settings, now), ""
        except (ValidatorError, DBAPIError, OSError) as error:
            problem = _said(error) if isinstance(error, ValidatorError) else type(error).__name__
        if self._store is not None:  # the next look opens it anew
            await self._store.close()
            self._store = None
        return None, None, problem

    async def _on_chain(self) -> tuple[OnChain | None, str]:
        if not self.with_chain:
            return None, "not asked"
        if self._signer is None:
            return None, "not asked: the hotkey cannot be read"
        now = self.clock.monotonic()
        if self._seen is not None and now - self._seen[0] < _FRESH_S:
            return self._seen[1], ""
        try:
            chain = self._opened(self._signer)
            if chain is None:
                return None, "the simulated chain is made by the first `validator run`"
            found = await within(self.clock, _CHAIN_S, on_chain(chain, self.clock, self.settings, self._signer.hotkey))
        except (ChainError, TimeoutError) as error:
            return None, _said(error)
        self._seen = now, found
        return found, ""

    def _opened(self, signer: Signer) -> Chain | None:
        settings = self.settings
        if settings.chain.kind == "bittensor":
            self._chain = self._chain or real_chain(settings, signer, self.clock)
            return self._chain
        if settings.chain.state is None or not settings.chain.state.exists():
            return None
        # Read anew each time, and never written: the validator that runs keeps the file.
        return SimulatedChain(SimulatedSubnet(load_state(settings.chain.state), self.clock), signer.hotkey)


def _standing(answer: HealthAnswer) -> tuple[str, ...]:
    """Return the conditions that somebody should look at: notes are how it was set up."""
    listed = (answer.report or {}).get("conditions")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(line for one, line in zip(found, answer.conditions, strict=True) if one.get("severity") != "note")


def _said(error: Exception) -> str:
    return printable(str(error) or type(error).__name__, _PROBLEM)
