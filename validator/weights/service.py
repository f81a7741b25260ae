"""The weights loop: once per epoch, late in it, never past its end nor before the rate limit (SPEC 11)."""

from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import structlog

from validator.chain.base import Chain, ChainError, Head, SubnetParameters
from validator.chain.within import within
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.text import printable
from validator.settings import WeightsSettings
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreLockLostError
from validator.telemetry import Event, Metrics
from validator.weights.plan import plan_vector
from validator.weights.submission import Submitter
from validator.weights.timing import due_block, hindrance

_READ_S: Final = 60.0  # a read that takes longer has stalled
_WAIT_S: Final = 600.0  # so has a wait for at most so many blocks:
_STEP_BLOCKS: Final = 5
_RETRY_S: Final = 2.0

T = TypeVar("T")
_log = structlog.get_logger()


class WeightService:
    """Sets this validator's weights.

    Args:
        store: windows are read from it, submissions written to it.
        chain: where weights go, as `hotkey`.
        clock: for waiting and time limits.
        hotkey: the validator's own.
        netuid: the subnet.
        mechid: the mechanism.
        settings: whether, when, and how long the chain may take.
        metrics: told which blocks are seen; None tells nobody.
    """

    def __init__(  # noqa: PLR0913 - the world and which vector, each by name
        self,
        *,
        store: Store,
        chain: Chain,
        clock: Clock,
        hotkey: str,
        netuid: int,
        mechid: int,
        settings: WeightsSettings,
        metrics: Metrics | None = None,
    ) -> None:
        self._store = store
        self._chain = chain
        self._clock = clock
        self._hotkey = hotkey
        self._mechid = mechid
        self._settings = settings
        self._metrics = metrics
        self._submitter = Submitter(store, chain, clock, hotkey, netuid, mechid, settings.timeout_s)
        self._identity = {"netuid": netuid, "mechid": mechid}
        self._done_epoch: int | None = None
        self._settled_epoch: int | None = None
        self._blocked: Reason | None = None
        self._lost_at = 0.0
        self._last_update: int | None = None

    async def run(self) -> None:
        """Send each epoch's weights until cancelled; return at once when the settings say that none are sent.

        Raises:
            StoreLockLostError: another process writes to the store now.
        """
        while self._settings.enabled:
            try:
                await self.step()
            except (ChainError, TimeoutError) as error:
                self._lost(error)
                await self._clock.sleep(_RETRY_S)
            except StoreLockLostError:
                raise
            except Exception:  # noqa: BLE001 - one bad epoch must not end months of good ones
                _log.exception(Event.WEIGHTS_FAILED, reason=str(Reason.BUG_INTERNAL))
                await self._clock.sleep(_RETRY_S)

    async def step(self) -> None:
        """Do what the newest block asks for, then wait until something can have changed.

        Raises:
            ChainError, TimeoutError: the chain did not do its part.
            StoreError: the store did not.
        """
        head = await self._read(self._chain.head())
        self._saw(head)
        await self._settle_open(head)
        due = due_block(head, self._settings.blocks_before_epoch_end)
        if await self._done(head.epoch):
            next_block = head.number + 1 if head.epoch_end is None else head.epoch_end + 1
        elif head.number < due:
            next_block = due
        else:
            next_block = await self._attempt(head)
        await self._wait(head, next_block)

    async def _attempt(self, head: Head) -> int:
        """Send if nothing stands in the way; return the block at which to look again."""
        snapshot, parameters = await self._look()
        soon = snapshot.block + 1
        if snapshot.epoch != head.epoch or (head.epoch_end is not None and snapshot.block >= head.epoch_end):
            return soon  # too late: sent now, they would land in the next epoch
        if found := hindrance(snapshot, parameters, self._hotkey, self._mechid):
            self._block(snapshot, found.reason, found.detail)
            return found.retry
        async with self._store.read() as tx:
            windows = await tx.windows.all()
        vector = plan_vector(windows, snapshot, self._hotkey)
        if vector is None:
            self._block(snapshot, Reason.WEIGHTS_NONE_POSITIVE, "")
            return soon
        fate = await self._submitter.submit(snapshot, vector)
        self._done_epoch = snapshot.epoch
        self._blocked = None
        if fate is not None and fate.state == "confirmed":
            self._last_update = fate.block or snapshot.block
        return soon

    async def _done(self, epoch: int) -> bool:
        if self._done_epoch != epoch and await self._submitter.done(epoch):
            self._done_epoch = epoch
        return self._done_epoch == epoch

    async def _settle_open(self, head: Head) -> None:
        """Once per epoch and at the start, look for a submission whose fate is open."""
        if self._settled_epoch != head.epoch:
            if await self._submitter.open_submission() is not None:
                await self._submitter.settle_open(*await self._look())
            self._settled_epoch = head.epoch

    async def _look(self) -> tuple[MetagraphSnapshot, SubnetParameters]:
        snapshot = await self._read(self._chain.snapshot())
        me = snapshot.by_hotkey(self._hotkey)
        self._last_update = None if me is None else me.last_update
        return snapshot, await self._read(self._chain.parameters())

    async def _read(self, call: Coroutine[Any, Any, T]) -> T:
        return await within(self._clock, _READ_S, call)

    async def _wait(self, head: Head, number: int) -> None:
        target = min(number, head.number + _STEP_BLOCKS)
        if target > head.number:
            self._saw(await within(self._clock, _WAIT_S, self._chain.wait_for_block(target)))

    def _saw(self, head: Head) -> None:
        if self._blocked == Reason.WEIGHTS_CHAIN_DOWN:
            seconds = round(self._clock.monotonic() - self._lost_at, 3)
            _log.info(Event.WEIGHTS_UNBLOCKED, **self._identity, block=head.number, seconds=seconds)
            self._blocked = None
        if self._metrics is not None:
            self._metrics.saw_block(head.number)
            if self._last_update is not None:
                self._metrics.weights_age.set(max(0, head.number - self._last_update))

    def _lost(self, error: Exception) -> None:
        if self._blocked != Reason.WEIGHTS_CHAIN_DOWN:
            self._lost_at = self._clock.monotonic()
        self._block(None, Reason.WEIGHTS_CHAIN_DOWN, str(error))

    def _block(self, snapshot: MetagraphSnapshot | None, reason: Reason, detail: str) -> None:
        """Say why nothing is sent, once per change."""
        if reason == self._blocked:
            return
        self._blocked = reason
        _log.warning(
            Event.WEIGHTS_BLOCKED,
            **self._identity,
            epoch=None if snapshot is None else snapshot.epoch,
            block=None if snapshot is None else snapshot.block,
            reason=str(reason),
            detail=printable(detail, 500),
        )
