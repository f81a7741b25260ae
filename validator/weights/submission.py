"""One submission: written down, sent, and its fate written down; open fates are settled by reading the chain."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog

from validator.chain.base import Chain, ChainError, ChainUnreachableError, SubnetParameters
from validator.chain.quantize import to_u16
from validator.chain.within import within
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.text import printable
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import AlreadyPreparedError
from validator.store.records import WeightsRecord, WeightsState
from validator.telemetry import Event
from validator.weights.plan import Vector, resolve

_OPEN: Final = ("prepared", "submitted", "unknown")
_STOPPED: Final = "the validator stopped before the chain answered"
_MAX_MESSAGE: Final = 500
_log = structlog.get_logger()


class Fate(NamedTuple):
    """What became of a submission.

    Attributes:
        state: as stored.
        reason: weights_sent, weights_rejected, weights_chain_down (certain not to have been sent) or weights_unknown.
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
        netuid, mechid: which vector.
        timeout_s: after this long the chain's answer no longer counts.
    """

    store: Store
    chain: Chain
    clock: Clock
    hotkey: str
    netuid: int
    mechid: int
    timeout_s: float

    async def done(self, epoch: int) -> bool:
        """Whether the epoch has its submission, whatever became of it."""
        async with self.store.read() as tx:
            return await tx.weights.of_epoch(self.netuid, self.mechid, epoch) is not None

    async def submit(self, snapshot: MetagraphSnapshot, vector: Vector) -> Fate | None:
        """Write the submission down, send it once, write down what became of it; None if the epoch has one already.

        Raises:
            StoreError: it could not be written down; then nothing was sent, or its fate stays open until `settle_open`.
        """
        now = self.clock.now()
        try:
            async with self.store.begin() as tx:
                submission = await tx.weights.prepare(
                    self.netuid, self.mechid, snapshot.epoch, vector.weights, vector.scores, vector.unallocated, now
                )
                await tx.weights.update(submission, "prepared", now, block=snapshot.block)
        except AlreadyPreparedError:
            return None
        started = self.clock.monotonic()
        fate = Fate("unknown", Reason.WEIGHTS_UNKNOWN, _STOPPED)
        try:
            fate = await self._send(vector.uids)
        finally:
            # Also when this task is cancelled: what is known must be written.
            await asyncio.shield(self._note(submission, fate))
            self._log_fate(snapshot, vector, fate, self.clock.monotonic() - started)
        return fate

    async def settle_open(self, snapshot: MetagraphSnapshot, parameters: SubnetParameters) -> None:
        """Find out whether the newest submission, if its fate is open, is on chain; if not, it stays unknown.

        Raises:
            ChainError, TimeoutError: the chain could not be read.
        """
        record = await self.open_submission()
        if record is None:
            return
        block = await self._found_at(record, snapshot, parameters)
        state: WeightsState = "unknown" if block is None else "confirmed"
        if state != record.state:
            message = _STOPPED if block is None else None
            async with self.store.begin() as tx:
                await tx.weights.update(record.id, state, self.clock.now(), block=block, message=message)
        if block is not None:
            _log.info(Event.WEIGHTS_FOUND, netuid=self.netuid, mechid=self.mechid, epoch=record.epoch, block=block)

    async def open_submission(self) -> WeightsRecord | None:
        """Return the newest submission if its fate is open."""
        async with self.store.read() as tx:
            record = await tx.weights.latest(self.mechid)
        return record if record and record.netuid == self.netuid and record.state in _OPEN else None

    async def _found_at(
        self, record: WeightsRecord, snapshot: MetagraphSnapshot, parameters: SubnetParameters
    ) -> int | None:
        """Return the block at which the chain took the submission, None if it does not show.

        Hidden weights (commit-reveal) are told by the update alone; others must be those that were sent.
        """
        me = snapshot.by_hotkey(self.hotkey)
        if me is None or record.block is None or me.last_update < record.block:
            return None
        if not parameters.commit_reveal:
            stored = await within(self.clock, self.timeout_s, _weights(self.chain, self.mechid, me.uid))
            if stored != to_u16(resolve(record.vector, record.unallocated, snapshot)):
                return None
        return me.last_update

    async def _send(self, weights: Mapping[int, float]) -> Fate:
        try:
            result = await within(
                self.clock, self.timeout_s, self.chain.set_weights(self.mechid, weights, valid_blocks=8)
            )
        except ChainUnreachableError as error:
            return Fate("rejected", Reason.WEIGHTS_CHAIN_DOWN, printable(str(error), _MAX_MESSAGE))
        except (ChainError, TimeoutError) as error:
            return Fate("unknown", Reason.WEIGHTS_UNKNOWN, printable(str(error), _MAX_MESSAGE))
        message = printable(result.message, _MAX_MESSAGE)
        if not result.accepted:
            return Fate("rejected", Reason.WEIGHTS_REJECTED, message, result.block, result.extrinsic)
        return Fate("confirmed", Reason.WEIGHTS_SENT, message, result.block, result.extrinsic)

    async def _note(self, submission: int, fate: Fate) -> None:
        async with self.store.begin() as tx:
            await tx.weights.update(
                submission,
                fate.state,
                self.clock.now(),
                block=fate.block,
                message=fate.message or None,
                extrinsic=fate.extrinsic,
            )

    def _log_fate(self, snapshot: MetagraphSnapshot, vector: Vector, fate: Fate, seconds: float) -> None:
        """Write the epoch's canonical line."""
        fields: dict[str, Any] = {
            "netuid": self.netuid,
            "mechid": self.mechid,
            "epoch": snapshot.epoch,
            "block": fate.block,
            "extrinsic": fate.extrinsic,
            "reason": str(fate.reason),
            "message": fate.message,
            "seconds": round(seconds, 3),
            "weights": vector.weights,
            "uids": {str(uid): weight for uid, weight in sorted(vector.uids.items())},
            "scores": vector.scores,
            "unallocated": vector.unallocated,
            "owner": vector.owner,
        }
        if fate.state == "confirmed":
            _log.info(Event.WEIGHTS_SUBMITTED, **fields)
        else:
            _log.warning(Event.WEIGHTS_SUBMITTED, **fields)


async def _weights(chain: Chain, mechid: int, uid: int) -> dict[int, int]:
    return dict(await chain.weights(mechid, uid))
