"""One submission: written down, signed and sent, and its fate written down."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog

from validator.cancellation import complete
from validator.chain.base import Chain, ChainError, ChainUnreachableError
from validator.chain.weight_rows import to_u16
from validator.protocol.reasons import Reason
from validator.protocol.text import printable
from validator.sources import Clock, within
from validator.store import Store
from validator.store.errors import AlreadyPreparedError, WrongStateError
from validator.store.repositories.weights import PlannedWeights, refused_for_good
from validator.store.rows import WeightMark, WeightsRecord, WeightsState
from validator.telemetry import Event
from validator.weights.plan import Vector
from validator.weights.sight import Sight
from validator.weights.told import WeightsLog

_STOPPED: Final = "the validator stopped before the chain answered"
_MAX_MESSAGE: Final = 500
_log = structlog.get_logger()


class Fate(NamedTuple):
    """What became of a submission.

    Attributes:
        state: as stored.
        reason: weights_sent, weights_rejected or weights_unknown.
        message: the chain's words or ours.
        block: of inclusion.
        extrinsic: the chain's id.
    """

    state: WeightsState
    reason: Reason
    message: str
    block: int | None = None
    extrinsic: str | None = None


@dataclass(frozen=True, slots=True)
class Submitter:
    """Sends vectors, each epoch's once.

    Args:
        store, chain, clock: the world.
        hotkey: the validator's own.
        told: the log, of which vector.
        timeout_s: after this long the chain's answer no longer counts.
    """

    store: Store
    chain: Chain
    clock: Clock
    hotkey: str
    told: WeightsLog
    timeout_s: float

    @property
    def _key(self) -> tuple[int, int]:
        return self.told.netuid, self.told.mechid

    async def done(self, epoch: int) -> bool:
        """Whether nothing more is sent for the epoch: its weights were taken, or refused too often."""
        async with self.store.read() as tx:
            record = await tx.weights.of_epoch(*self._key, epoch)
        return record is not None and (record.state == "confirmed" or refused_for_good(record))

    async def submit(self, sight: Sight, vector: Vector, valid_blocks: int) -> Fate | None:
        """Write the submission down, send it, write down what became of it; None if somebody else was faster.

        Args:
            sight: the subnet as the vector was made for it; nothing may stand in the way.
            vector: what is sent.
            valid_blocks: for how many blocks past the head it may be included.

        Raises:
            ChainUnreachableError: certainly not sent; the row is prepared again.
            StoreError: it could not be written down; then nothing was sent, or the row says that it may have been.
        """
        plan = PlannedWeights(vector.weights, vector.scores, vector.unallocated, to_u16(vector.uids), vector.link)
        epoch, head = sight.snapshot.epoch, sight.snapshot.block
        lifetime = self.chain.submission_lifetime(valid_blocks)
        try:
            async with self.store.begin() as tx:
                for link in await tx.weights.outdated(*self._key, epoch):
                    await self.told.fate(tx, link, "expired")
                prepared = await tx.weights.prepare(*self._key, epoch, plan, self.clock.now())
            async with self.store.begin() as tx:
                await tx.weights.submit(prepared, plan, signed_block=head, lifetime=lifetime, at=self.clock.now())
        except (AlreadyPreparedError, WrongStateError):
            return None
        started = self.clock.monotonic()
        fate = Fate("unknown", Reason.WEIGHTS_UNKNOWN, _STOPPED)
        try:
            fate = await self._send(vector, valid_blocks)
        except ChainUnreachableError as error:
            fate = Fate("prepared", Reason.WEIGHTS_CHAIN_DOWN, printable(str(error), _MAX_MESSAGE))
            raise
        finally:
            # Also when this task is cancelled: what is known must be written, and told once.
            await complete(self._note(prepared, sight, vector, fate, started))
        return fate

    async def _send(self, vector: Vector, valid_blocks: int) -> Fate:
        sending = self.chain.set_weights(self.told.mechid, vector.uids, valid_blocks=valid_blocks)
        try:
            result = await within(self.clock, self.timeout_s, sending)
        except ChainUnreachableError:
            raise
        except (ChainError, TimeoutError) as error:
            return Fate("unknown", Reason.WEIGHTS_UNKNOWN, printable(str(error), _MAX_MESSAGE))
        message = printable(result.message, _MAX_MESSAGE)
        if not result.accepted:
            return Fate("rejected", Reason.WEIGHTS_REJECTED, message, result.block, result.extrinsic)
        if result.block is None:
            return Fate("unknown", Reason.WEIGHTS_UNKNOWN, message or "taken, in a block not told", None)
        return Fate("confirmed", Reason.WEIGHTS_SENT, message, result.block, result.extrinsic)

    async def _note(self, submission: WeightsRecord, sight: Sight, vector: Vector, fate: Fate, started: float) -> None:
        await self._write(submission, sight, fate)
        if fate.state != "prepared":
            self._log_fate(sight, vector, fate, submission.attempts + 1, self.clock.monotonic() - started)

    async def _write(self, submission: WeightsRecord, sight: Sight, fate: Fate) -> None:
        now, message = self.clock.now(), fate.message or None
        async with self.store.begin() as tx:
            if fate.state == "unknown":
                await tx.weights.lose(submission.id, None, now, message)
                await self.told.fate(tx, submission.link, "unknown")
                return
            await tx.weights.update(
                submission.id, fate.state, now, block=fate.block, message=message, extrinsic=fate.extrinsic
            )
            if fate.state in ("confirmed", "rejected"):
                await self.told.fate(tx, submission.link, fate.state, fate.block, fate.extrinsic)
            if fate.state == "confirmed" and fate.block is not None and sight.slot is not None:
                mark = WeightMark(sight.slot.neuron.uid, fate.block, fate.block)
                await tx.weight_guard.set_mark(*self._key, self.hotkey, mark, now)

    def _log_fate(self, sight: Sight, vector: Vector, fate: Fate, attempt: int, seconds: float) -> None:
        """Write the epoch's canonical line."""
        fields: dict[str, Any] = {
            "netuid": self.told.netuid,
            "mechid": self.told.mechid,
            "epoch": sight.snapshot.epoch,
            "attempt": attempt,
            "block": fate.block,
            "extrinsic": fate.extrinsic,
            "reason": str(fate.reason),
            "message": fate.message,
            "seconds": round(seconds, 3),
            **vector.told(),
        }
        if fate.state == "confirmed":
            _log.info(Event.WEIGHTS_SUBMITTED, **fields)
        else:
            _log.warning(Event.WEIGHTS_SUBMITTED, **fields)
