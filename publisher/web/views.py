"""Reads behind the API: cached and bounded, from store (one transaction each), chain and health endpoint."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from publisher.publish import Answer, Published, Publisher
from sssa.protocol.errors import ValidatorError
from sssa.sources import Clock
from validator.cancellation import ended, within
from validator.chain.interface import Chain
from validator.chain.opening import reading_chain
from validator.health.client import HealthAnswer, ask_health
from validator.health.status import Observer, Overview
from validator.settings.model import Settings
from validator.store import Store, Transaction, open_store
from validator.store.connections import Handles, ThreadedConnection, connect
from validator.store.identity import require_chain, require_known_version
from validator.weights.plan import mechanisms
from validator.weights.preview import PlanView, planned_weights

T = TypeVar("T")
_READING: Final = 4
_WAITING: Final = 64
_HEALTH_S: Final = 2.0
_LOOK_S: Final = 2.0
_PLAN_S: Final = 12.0  # a block's time
_HEALTH_TIMEOUT_S: Final = 3.0
_CHAIN_S: Final = 60.0
_ATTESTED_S: Final = 2.0
_ATTESTED: Final = 1_024  # a statement has 1 MiB at most, a usual one 4 KiB
_ATTESTED_BYTES: Final = 64 * 1024 * 1024
_FIRST_S: Final = 10.0
_AGAIN_S: Final = 1.0


class TooBusyError(ValidatorError):
    """Too many readers wait for the store."""


class NoRoundYetError(ValidatorError):
    """The chain is not asked before this validator's first round: its hotkey is not known."""


class NotYetError(ValidatorError):
    """This has been asked for; ask again in some seconds."""


class Recent(Generic[T]):
    """A cached answer, renewed once for all readers when it is older than `lasts_s`; errors are cached as long.

    Readers thus never take more of the validator's and the chain's time than one. While the new answer takes longer
    than a second, the old one is given.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], lasts_s: float, clock: Clock) -> None:
        self._ask, self._lasts_s, self._clock = ask, lasts_s, clock
        self._asking: asyncio.Task[None] | None = None
        self._until = float("-inf")
        self._answer: tuple[T] | Exception | None = None

    async def get(self) -> T:
        """Return the answer, or raise the last renewal's error (NotYetError: the first one takes more than 10 s)."""
        if self._asking is None and self._clock.monotonic() >= self._until:
            self._asking = asyncio.create_task(self._renew())
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=_FIRST_S if self._answer is None else _AGAIN_S)
        if isinstance(self._answer, tuple):
            return self._answer[0]
        raise self._answer or NotYetError()

    async def close(self) -> None:
        """Stop asking."""
        await ended([self._asking] if self._asking is not None else [])

    async def _renew(self) -> None:
        try:
            self._answer = (await self._ask(),)
        except (ValidatorError, OSError) as error:
            self._answer = error
        finally:
            self._until, self._asking = self._clock.monotonic() + self._lasts_s, None


def _to_read(file: str) -> str:
    return f"file:{quote(str(Path(file).resolve()))}?mode=ro"


async def _connect_to_read(file: str, **options: Any) -> ThreadedConnection:
    return await connect(_to_read(file), uri=True, **options)


class Attested:
    """Attestations as they were up to 2 s ago: so long a revocation may take to be seen."""

    def __init__(self, publisher: Publisher, clock: Clock) -> None:
        self.publisher, self._clock = publisher, clock
        self._kept: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._bytes = 0

    def get(self, sha256: str) -> Answer | None:
        """Return the cached answer on a bundle, None if there is none."""
        until, answer = self._kept.get(sha256, (0.0, None))
        return answer if until > self._clock.monotonic() else None

    async def read(self, tx: Transaction, sha256: str) -> Answer:
        """Return the answer on a bundle, from the cache or the store; the newest answers are cached."""
        known = self.get(sha256)
        return known or self._keep(sha256, await self.publisher.attestation_of(tx, sha256))

    def _keep(self, sha256: str, answer: Answer) -> Answer:
        if (old := self._kept.pop(sha256, None)) is not None:
            self._bytes -= _size(old[1])
        self._kept[sha256] = self._clock.monotonic() + _ATTESTED_S, answer
        self._bytes += _size(answer)
        while len(self._kept) > _ATTESTED or self._bytes > _ATTESTED_BYTES:
            _, (_, gone) = self._kept.popitem(last=False)
            self._bytes -= _size(gone)
        return answer


def _size(answer: Answer) -> int:
    return len(answer.document) if isinstance(answer, Published) else 0


class Views:
    """The sources of all answers; close them. The store is only read: a SQLite file is opened so."""

    def __init__(self, settings: Settings, clock: Clock, store: Store, handles: Handles) -> None:
        self.settings, self.clock, self.store = settings, clock, store
        self.mechanisms = mechanisms(settings.weights)
        self._handles = handles
        self._slots = asyncio.Semaphore(_READING)
        self._readers = 0
        self._observer: Observer | None = None
        self.health = Recent(self._ask_health, _HEALTH_S, clock)
        self.overview = Recent(self._look, _LOOK_S, clock)
        self.plan = Recent(self._plan, _PLAN_S, clock)
        self.attested = Attested(Publisher.of(settings, clock), clock)

    @classmethod
    @asynccontextmanager
    async def opened(cls, settings: Settings, clock: Clock) -> AsyncIterator["Views"]:
        """Open the store that the settings name (StoreError: it cannot be read; UnknownScoringVersionError)."""
        handles = Handles(_connect_to_read)
        async with open_store(settings.store.url.reveal(), handles=handles) as store:
            async with store.read() as tx:
                await require_known_version(tx)
            views = cls(settings, clock, store, handles)
            try:
                yield views
            finally:
                await views._close()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """Read in one transaction; four readers at a time (TooBusyError: 64 wait already)."""
        if self._readers >= _READING + _WAITING:
            raise TooBusyError
        self._readers += 1
        try:
            async with self._slots, self.store.read() as tx:
                yield tx
        finally:
            self._readers -= 1

    async def attestation_of(self, sha256: str) -> Answer:
        """Return the answer on a bundle."""
        known = self.attested.get(sha256)
        if known is None:
            async with self.read() as tx:
                return await self.attested.read(tx, sha256)
        return known

    async def _close(self) -> None:
        for one in (self.health, self.overview, self.plan):
            await one.close()
        if self._observer is not None:
            await self._observer.close()

    async def _ask_health(self) -> HealthAnswer:
        return await asyncio.to_thread(ask_health, self.settings.health, _HEALTH_TIMEOUT_S)

    async def _look(self) -> Overview:
        if self._observer is None:
            hotkey = await self._hotkey()
            observer = Observer(
                self.settings, hotkey is not None, self.clock, hotkey or "unknown before its first round", self._handles
            )
            if hotkey is None:
                try:
                    return await observer.look()
                finally:
                    await observer.close()
            self._observer = observer
        return await self._observer.look()

    async def _plan(self) -> tuple[PlanView, ...]:
        hotkey = await self._hotkey()
        if hotkey is None:
            raise NoRoundYetError
        chain = reading_chain(self.settings, self.clock)
        try:
            return await within(self.clock, _CHAIN_S, self._planned(chain, hotkey))
        finally:
            await chain.close()

    async def _planned(self, chain: Chain, hotkey: str) -> tuple[PlanView, ...]:
        async with self.read() as tx:
            if (known := await tx.chain.get()) is not None:
                chain.expect(known.genesis)
        genesis = await chain.genesis()
        async with self.read() as tx:
            await require_chain(tx, genesis, self.settings.validator.netuid)
            return await planned_weights(tx, self.settings, chain, self.clock, hotkey)

    async def _hotkey(self) -> str | None:
        """Return the validator's hotkey from its newest round: this process reads no wallet."""
        async with self.read() as tx:
            newest = await tx.rounds.newest_frozen()
            stored = None if newest is None else await tx.rounds.get(newest.round_id)
        return None if stored is None or stored.input is None else stored.input.validator_hotkey
