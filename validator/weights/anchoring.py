"""Daily anchor: writes the digest of the log's newest receipt to the chain, and never delays weights (SPEC 16, D-28).

The store keeps nothing of it: the service reads the chain before it signs. It sends nothing while a submission of
unknown fate, of this process or an earlier one, can still arrive.
"""

import asyncio
from typing import Final

import structlog

from sssa.protocol.receipt import Anchor, anchor_of
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.interface import (
    Chain,
    ChainError,
    ChainUnreachableError,
    Commitment,
    Head,
    MissingError,
    WeightsResult,
)
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.errors import DamagedError, StoreAwayError, StoreLostError
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.telemetry.repetition import Once
from validator.weights.chain_view import due_block
from validator.weights.watch import WeightsLock, WeightsLockedError

EVERY_BLOCKS: Final = 7_200  # a day of 12 s
ROOM_BLOCKS: Final = 25  # that must be left before weights are due: more than a submission takes
_REFUSED_BLOCKS: Final = 300  # an hour: a refusal is not tried again sooner
_LONGEST_S: Final = 180.0
_READ_S: Final = 60.0
_EVERY_S: Final = 60.0
_MAX_MESSAGE: Final = 300
_log = structlog.get_logger()


class AnchorService:
    """Anchors the log; a service of the daemon.

    Args:
        chain: where the digest goes, as the validator's hotkey.
        settings: of weights: when they are due, and how long a submission may take.
        lock: shared by everything that signs with this hotkey.
        signing: also shared; nothing is anchored while another service holds it.
        metrics: receives the age of the anchor.
    """

    def __init__(  # noqa: PLR0913 - the world, each by name
        self,
        *,
        store: Store,
        chain: Chain,
        clock: Clock,
        hotkey: str,
        netuid: int,
        settings: WeightsSettings,
        lock: WeightsLock,
        signing: asyncio.Lock,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._chain = chain
        self._clock = clock
        self._hotkey = hotkey
        self._netuid = netuid
        self._settings = settings
        self._lock = lock
        self._signing = signing
        self._metrics = metrics
        self._failures = Once(clock)
        self._not_before: int | None = None  # block; until then an earlier submission may still arrive

    async def run(self) -> None:
        """Anchor until cancelled; return if the chain's runtime keeps no commitments.

        Raises:
            StoreLostError: another process writes to the store now, or it is damaged.
        """
        while True:
            try:
                await self.step()
            except MissingError as error:
                self._blocked("missing", error.detail or str(error))
                return
            except (ChainError, TimeoutError) as error:
                self._blocked("chain", str(error))
            except WeightsLockedError as error:
                self._blocked("locked", error.detail)
            except (StoreAwayError, DamagedError) as error:
                self._blocked("store", error.detail)
            except StoreLostError:
                raise
            except Exception as error:  # noqa: BLE001 - an anchor that fails must not end rounds and weights
                self._blocked("failed", f"{type(error).__name__}: {error}")
            await self._clock.sleep(_EVERY_S)

    async def step(self) -> None:
        """Anchor the newest receipt if it is due and nothing prevents it.

        Raises:
            ChainError, TimeoutError: the chain did not do its part.
            StoreError: the store did not.
            WeightsLockedError: another program uses the hotkey.
        """
        head = await within(self._clock, _READ_S, self._chain.head())
        if self._not_before is None:
            self._hold_until_expired(head)
        current = await within(self._clock, _READ_S, self._chain.commitment(self._hotkey))
        newest = await self._due_anchor(head, current)
        if newest is None or not self._has_room(head) or self._signing.locked():
            return
        async with self._signing:
            await self._lock.check()
            await self._send(head, current, newest)

    async def _due_anchor(self, head: Head, current: Commitment | None) -> Anchor | None:
        """Return the anchor that is due; None while the one on chain is recent enough, or is not an anchor of ours."""
        anchored = anchor_of(None if current is None else current.content)
        if current is not None and anchored is None:
            self._blocked("foreign", f"block {current.block} has a commitment of this hotkey that is no anchor")
            return None
        age = None if current is None else max(0, head.number - current.block)
        if age is not None:
            self._metrics.anchor_age.set(age)
        if (age is not None and age < EVERY_BLOCKS) or head.number <= (self._not_before or 0):
            return None
        async with self._store.read() as tx:
            newest = await tx.receipts.head()
        if newest is None or (anchored is not None and anchored.digest == newest.digest):
            return None
        return Anchor(newest.sequence, newest.digest)

    def _has_room(self, head: Head) -> bool:
        """Return whether no weights come due while a submission is in progress."""
        due = due_block(head, self._settings.blocks_before_epoch_end)
        return head.epoch_end is not None and head.number + ROOM_BLOCKS <= due

    async def _send(self, head: Head, current: Commitment | None, anchor: Anchor) -> None:
        await self._check_replaced(current, anchor)
        # From here on the chain's answer may get lost: wait for what was signed in any case.
        self._hold_until_expired(head)
        sending = self._chain.set_commitment(anchor.content(), valid_blocks=self._settings.valid_blocks)
        try:
            result = await within(self._clock, min(_LONGEST_S, self._settings.timeout_s), sending)
        except (ChainUnreachableError, MissingError):
            self._not_before = head.number  # certainly not sent
            raise
        except (ChainError, TimeoutError) as error:
            self._blocked("unknown", str(error))
            return
        self._report(head, anchor, result)

    async def _check_replaced(self, current: Commitment | None, anchor: Anchor) -> None:
        """Log a warning if the anchor that is replaced does not belong to this store's log."""
        before = anchor_of(None if current is None else current.content)
        if current is None or before is None:
            return
        async with self._store.read() as tx:
            record = await tx.receipts.get(before.sequence)
        if record is None or record.sha256 != before.digest:
            replaced = {"sequence": before.sequence, "digest": before.digest, "block": current.block}
            _log.warning(Event.LOG_ANCHOR_REPLACED, netuid=self._netuid, **replaced, by=anchor.sequence)

    def _report(self, head: Head, anchor: Anchor, result: WeightsResult) -> None:
        if not result.accepted:
            self._not_before = head.number + _REFUSED_BLOCKS
            self._blocked("refused", result.message)
            return
        self._failures.over()
        fields = {"sequence": anchor.sequence, "digest": anchor.digest}
        _log.info(Event.LOG_ANCHORED, netuid=self._netuid, **fields, block=result.block, extrinsic=result.extrinsic)
        self._metrics.anchor_age.set(0)

    def _hold_until_expired(self, head: Head) -> None:
        """Send nothing until a submission that may be on its way has arrived or expired."""
        self._not_before = head.number + self._chain.submission_lifetime(self._settings.valid_blocks)

    def _blocked(self, cause: str, detail: str) -> None:
        repeats = self._failures.fresh(cause)
        if repeats is not None:
            shown = printable(detail, _MAX_MESSAGE)
            _log.warning(Event.LOG_ANCHOR_BLOCKED, netuid=self._netuid, cause=cause, detail=shown, repeats=repeats)
