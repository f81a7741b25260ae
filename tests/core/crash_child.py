"""The process that is killed: weights and anchors on a chain behind a socket, with places at which it kills itself."""

import asyncio
import logging
import os
import pickle
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from validator.chain.base import Commitment, EndpointUse, Head, SubnetParameters, ValidatorFigures, WeightsResult
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.settings.model import WeightsSettings
from validator.sources import SystemClock, SystemRandom
from validator.store import open_store
from validator.store.errors import StoreLockedError
from validator.store.repositories.weight_submissions import WeightSubmissions
from validator.telemetry.metrics import Metrics
from validator.weights import anchoring
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.submission import Submitter, WeightsLog
from validator.weights.watch import WeightsLock, WeightsLockedError

PLACES = (
    "told uncommitted",
    "told",
    "before prepare",
    "prepare uncommitted",
    "prepared",
    "submit uncommitted",
    "submitted",
    "sent",
    "answered",
    "note uncommitted",
    "noted",
)
ANCHOR_PLACES = ("before anchor", "anchor submitted", "anchor sent", "anchor answered")
_SENT = {"set_weights": "sent", "set_commitment": "anchor sent"}
LOCKED, BUSY = 15, 16


class Life(NamedTuple):
    """One process.

    Attributes:
        url, socket, stop_file: store, chain and lock.
        key: derivation uri of the validator's hotkey.
        place: where it kills itself; None nowhere by name.
        call: at which call of the chain it does; 0 at none.
        writer: whether it takes the store's lock.
        before_end, valid_blocks: settings.
        anchor_every: blocks from one anchor of the log to the next; 0: it is not anchored.
    """

    url: str
    socket: str
    stop_file: str
    key: str
    place: str | None = None
    call: int = 0
    writer: bool = True
    before_end: int = 40
    valid_blocks: int = 4
    anchor_every: int = 0


def live(life: Life) -> None:
    """Run until killed; exit 15 when weights are locked, 16 when another process writes to the store."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        asyncio.run(_live(life))
    except WeightsLockedError:
        os._exit(LOCKED)
    except StoreLockedError:
        os._exit(BUSY)


async def _live(life: Life) -> None:
    def here(place: str) -> None:
        if place == life.place:
            os.kill(os.getpid(), signal.SIGKILL)

    _arm(here)
    chain = RemoteChain(life.socket, here, life.call)
    settings = WeightsSettings(blocks_before_epoch_end=life.before_end, valid_blocks=life.valid_blocks)
    async with open_store(life.url, writer=life.writer) as store:
        clock, signer, signing = SystemClock(), Signer.from_uri(life.key), asyncio.Lock()
        lock = WeightsLock(store, clock, Path(life.stop_file))
        weights = WeightService(
            store=store,
            chain=chain,
            clock=clock,
            signer=signer,
            random=SystemRandom(),
            netuid=1,
            mechid=0,
            kinds=mechanisms(settings)[0],
            settings=settings,
            lock=lock,
            signing=signing,
        )
        if not life.anchor_every:
            await weights.run()
        anchoring.EVERY_BLOCKS = life.anchor_every  # type: ignore[misc]
        anchors = anchoring.AnchorService(
            store=store,
            chain=chain,
            clock=clock,
            hotkey=signer.hotkey,
            netuid=1,
            settings=settings,
            lock=lock,
            signing=signing,
            metrics=Metrics(clock, "0"),
        )
        await asyncio.gather(weights.run(), _each_block(anchors, chain))


async def _each_block(anchors: anchoring.AnchorService, chain: "RemoteChain") -> None:
    """Take a step at each block: blocks come while nobody computes, and real time tells nothing of them."""
    while True:
        head = await chain.head()
        await anchors.step()
        await chain.wait_for_block(head.number + 1)


def _arm(here: Callable[[str], None]) -> None:
    """Put the places around what the guard does; what it does stays as it is."""
    _around(WeightsLog, "vector", None, lambda: here("told uncommitted"))
    _around(WeightService, "_compute", None, lambda: here("told"))
    _around(Submitter, "submit", lambda: here("before prepare"), None)
    _around(WeightSubmissions, "prepare", None, lambda: here("prepare uncommitted"))
    _around(WeightSubmissions, "submit", lambda: here("prepared"), lambda: here("submit uncommitted"))
    _around(WeightSubmissions, "update", None, lambda: here("note uncommitted"))
    _around(Submitter, "_note", None, lambda: here("noted"))
    _around(anchoring.AnchorService, "_send", lambda: here("before anchor"), None)


def _around(owner: type, name: str, before: Callable[[], None] | None, after: Callable[[], None] | None) -> None:
    inner = getattr(owner, name)

    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before is not None:
            before()
        result = await inner(*args, **kwargs)
        if after is not None:
            after()
        return result

    setattr(owner, name, wrapped)


class RemoteChain:
    """The Chain protocol over a Unix socket, one connection per call."""

    latency_s: float | None = None
    endpoint_use = EndpointUse()

    def __init__(self, socket: str, here: Callable[[str], None], last_call: int) -> None:
        self._socket = socket
        self._here = here
        self._calls_left = last_call

    def expect(self, genesis: str) -> None:
        """There is one chain."""

    async def genesis(self) -> str:
        found: str = await self._call("genesis")
        return found

    async def head(self) -> Head:
        found: Head = await self._call("head")
        return found

    async def wait_for_block(self, number: int) -> Head:
        found: Head = await self._call("wait_for_block", number)
        return found

    async def snapshot(self) -> MetagraphSnapshot:
        found: MetagraphSnapshot = await self._call("snapshot")
        return found

    async def parameters(self) -> SubnetParameters:
        found: SubnetParameters = await self._call("parameters")
        return found

    async def set_weights(
        self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int, head: int | None = None
    ) -> WeightsResult:
        self._here("submitted")
        found: WeightsResult = await self._call("set_weights", mechid, dict(weights), valid_blocks, head)
        self._here("answered")
        return found

    def submission_lifetime(self, valid_blocks: int) -> int:
        return max(4, valid_blocks)

    async def validators(self) -> Sequence[ValidatorFigures]:
        found: Sequence[ValidatorFigures] = await self._call("validators")
        return found

    async def last_update(self, mechid: int, uid: int) -> int:
        found: int = await self._call("last_update", mechid, uid)
        return found

    async def registered_at(self, uid: int) -> int:
        found: int = await self._call("registered_at", uid)
        return found

    async def commits(self, mechid: int) -> Sequence[int]:
        found: Sequence[int] = await self._call("commits", mechid)
        return found

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        found: Mapping[int, int] = await self._call("weights", mechid, uid)
        return found

    async def commitment(self, hotkey: str) -> Commitment | None:
        found: Commitment | None = await self._call("commitment", hotkey)
        return found

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        self._here("anchor submitted")
        found: WeightsResult = await self._call("set_commitment", content, valid_blocks)
        self._here("anchor answered")
        return found

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _call(self, name: str, *args: Any) -> Any:
        self._calls_left -= 1
        if self._calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        reader, writer = await asyncio.open_unix_connection(self._socket)
        try:
            request = pickle.dumps((name, args))
            writer.write(len(request).to_bytes(4, "big") + request)
            await writer.drain()
            if name in _SENT:
                self._here(_SENT[name])
            worked, found = pickle.loads(await reader.read())
        finally:
            writer.close()
        if not worked:
            raise found
        return found
