"""Submission of one vector: stored, signed, sent, and its fate stored and written to the log (SPEC 11, D-28)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog
from msgspec import UNSET

from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import (
    FateLink,
    FateState,
    Owner,
    WeightedMiner,
    WeightsDocument,
    WeightsLink,
    line,
    line_digest,
)
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import Kind
from sssa.protocol.text import printable
from sssa.sources import Clock, RandomBytes
from validator.cancellation import complete, within
from validator.chain.interface import Chain, ChainError, ChainUnreachableError
from validator.store import Store, Transaction
from validator.store.errors import AlreadyPreparedError, WrongStateError
from validator.store.log import append_link, open_log
from validator.store.repositories.weight_submissions import PlannedWeights, refused_for_good
from validator.store.rows import WeightMark, WeightsRecord, WeightsState
from validator.store.vector_inputs import Basis
from validator.telemetry import Event
from validator.weights.chain_view import ChainView
from validator.weights.plan import Vector, owner_of

_MOST_UNSENT: Final = 8  # receipts of unsent vectors per mechanism and epoch
_MAX_EXTRINSIC: Final = 128


@dataclass(frozen=True, slots=True)
class WeightsLog:
    """The receipts of one mechanism's vectors, written in the caller's transactions.

    `random` makes the first salt if the log is not open yet; `kinds` are the kinds that the mechanism pays.
    """

    signer: Signer
    clock: Clock
    random: RandomBytes
    netuid: int
    mechid: int
    kinds: Sequence[Kind]

    async def vector(
        self, tx: Transaction, snapshot: MetagraphSnapshot, basis: Basis, vector: Vector, reason: Reason | None
    ) -> int | None:
        """Append the receipt of a vector, with the reason if it is not sent; return the receipt's number.

        A vector that equals the epoch's last one keeps that receipt. None: the epoch already has `_MOST_UNSENT`
        receipts of unsent vectors. The caller read the windows in the same transaction.
        """
        key = (self.netuid, self.mechid, snapshot.epoch)
        document = line("weights", document_of(snapshot, basis, vector, self.kinds))
        sha256 = line_digest(document)
        last = await tx.weight_links.newest(*key)
        if last is not None and (last.sha256, last.reason) == (sha256, reason):
            return last.sequence
        if reason is not None and await tx.weight_links.unsent(*key) >= _MOST_UNSENT:
            return None
        await self._open(tx)
        block, version = snapshot.block, vector.scoring_version
        link = WeightsLink(*key, block, snapshot.block_hash, version, None if reason is None else str(reason), sha256)
        sequence = await append_link(tx, self.signer, self.clock.now(), link)
        await tx.weight_links.add(sequence, link, document)
        return sequence

    async def fate(
        self,
        tx: Transaction,
        link: int | None,
        state: FateState,
        block: int | None = None,
        extrinsic: str | None = None,
    ) -> None:
        """Append the fate of weights that were sent; without `link` the log does not have them."""
        if link is None:
            return
        shown = None if extrinsic is None else printable(extrinsic, _MAX_EXTRINSIC)
        await append_link(tx, self.signer, self.clock.now(), FateLink(link, state, shown, block))

    async def _open(self, tx: Transaction) -> None:
        """Open the log of a store that has none: its first round is the first that has not ended."""
        if await tx.receipts.count():
            return
        unfinished = await tx.rounds.unfinished()
        first = unfinished[0].record.round_id if unfinished else await tx.rounds.next_id()
        await open_log(tx, self.signer, self.clock.now(), self.random, first)


def document_of(snapshot: MetagraphSnapshot, basis: Basis, vector: Vector, kinds: Sequence[Kind]) -> WeightsDocument:
    """Return the log's document of a vector."""
    unpaid: dict[str, dict[str, str]] = {}
    for one in vector.unpaid:
        unpaid.setdefault(one.hotkey, {})[one.skill_type] = str(one.reason)
    owner = owner_of(snapshot)
    return WeightsDocument(
        kinds=tuple(kinds),
        round_id=None if basis.round_id is None else str(basis.round_id),
        next_round=str(basis.next_round),
        since_round=None if basis.since_round is None else str(basis.since_round),
        owner=None if owner is None else Owner(owner.hotkey, owner.uid),
        miners=_miners(snapshot, vector, unpaid),
        workflow_share=vector.workflow_share,
        unallocated=vector.unallocated,
        row=tuple(vector.row.items()),
        pool=UNSET if vector.tallied is None else vector.tallied.pool_document(),
    )


def _miners(
    snapshot: MetagraphSnapshot, vector: Vector, unpaid: Mapping[str, dict[str, str]]
) -> tuple[WeightedMiner, ...]:
    uids, tallied = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}, vector.tallied
    return tuple(
        WeightedMiner(
            hotkey=hotkey,
            uid=uids[hotkey],
            assessments=vector.assessments[hotkey],
            workflows=vector.workflows[hotkey],
            weight=vector.weights.get(hotkey, 0.0),
            unpaid=unpaid.get(hotkey, UNSET),
            parts=UNSET if tallied is None else tallied.paid_types(hotkey),
            entries=UNSET if tallied is None else tallied.entries.get(hotkey, UNSET),
            factor=UNSET if tallied is None else tallied.factors.get(hotkey, UNSET),
        )
        for hotkey in sorted(vector.scores)
    )


_STOPPED: Final = "the validator stopped before the chain answered"
_MAX_MESSAGE: Final = 500
_log = structlog.get_logger()


class Fate(NamedTuple):
    """The fate of a submission: stored state, reason code, message of the chain or ours, block of inclusion."""

    state: WeightsState
    reason: Reason
    message: str
    block: int | None = None
    extrinsic: str | None = None


@dataclass(frozen=True, slots=True)
class Submitter:
    """Sender of vectors, one per epoch; after `timeout_s` seconds the chain's answer is unknown."""

    store: Store
    chain: Chain
    clock: Clock
    hotkey: str
    weights_log: WeightsLog
    timeout_s: float

    @property
    def _key(self) -> tuple[int, int]:
        return self.weights_log.netuid, self.weights_log.mechid

    async def done(self, epoch: int) -> bool:
        """Return whether the epoch is finished: its weights were accepted, or refused too often."""
        async with self.store.read() as tx:
            record = await tx.weights.of_epoch(*self._key, epoch)
        return record is not None and (record.state == "confirmed" or refused_for_good(record))

    async def submit(self, view: ChainView, vector: Vector, valid_blocks: int) -> Fate | None:
        """Store the submission, send it, store its fate; None if another process was faster.

        Nothing may block weights in `view`. The chain may include it for `valid_blocks` past the head.

        Raises:
            ChainUnreachableError: certainly not sent; the row is prepared again.
            StoreError: it could not be stored; nothing was sent, or the stored row says that it may have been.
        """
        plan = PlannedWeights(vector.weights, vector.scores, vector.unallocated, vector.row, vector.link)
        epoch, head = view.snapshot.epoch, view.snapshot.block
        lifetime = self.chain.submission_lifetime(valid_blocks)
        try:
            async with self.store.begin() as tx:
                for link in await tx.weights.outdated(*self._key, epoch):
                    await self.weights_log.fate(tx, link, "expired")
                prepared = await tx.weights.prepare(*self._key, epoch, plan, self.clock.now())
            async with self.store.begin() as tx:
                # Another mechanism's may have been found past this head since the look: the node went back.
                if (await tx.weights.highest_confirmed(self.weights_log.netuid) or 0) > head:
                    return None
                await tx.weights.submit(prepared, plan, signed_block=head, lifetime=lifetime, at=self.clock.now())
        except (AlreadyPreparedError, WrongStateError):
            return None
        started = self.clock.monotonic()
        fate = Fate("unknown", Reason.WEIGHTS_UNKNOWN, _STOPPED)
        try:
            fate = await self._send(plan.sent, valid_blocks, head)
        except ChainUnreachableError as error:
            fate = Fate("prepared", Reason.WEIGHTS_CHAIN_DOWN, printable(str(error), _MAX_MESSAGE))
            raise
        finally:
            # Also when this task is cancelled: the fate must be stored and logged once.
            await complete(self._note(prepared, view, vector, fate, started))
        return fate

    async def _send(self, row: Mapping[int, int], valid_blocks: int, head: int) -> Fate:
        sending = self.chain.set_weights(self.weights_log.mechid, row, valid_blocks=valid_blocks, head=head)
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
            return Fate("unknown", Reason.WEIGHTS_UNKNOWN, message or "accepted, block unknown", None)
        return Fate("confirmed", Reason.WEIGHTS_SENT, message, result.block, result.extrinsic)

    async def _note(
        self, submission: WeightsRecord, view: ChainView, vector: Vector, fate: Fate, started: float
    ) -> None:
        await self._write(submission, view, fate)
        if fate.state != "prepared":
            self._log_fate(view, vector, fate, submission.attempts + 1, self.clock.monotonic() - started)

    async def _write(self, submission: WeightsRecord, view: ChainView, fate: Fate) -> None:
        now, message = self.clock.now(), fate.message or None
        async with self.store.begin() as tx:
            if fate.state == "unknown":
                await tx.weights.lose(submission.id, now, message)
                await self.weights_log.fate(tx, submission.link, "unknown")
                return
            hidden = view.parameters.commit_reveal and fate.state == "confirmed"
            await tx.weights.update(
                submission.id,
                fate.state,
                now,
                block=fate.block,
                message=message,
                extrinsic=fate.extrinsic,
                row_state="committed" if hidden else None,
            )
            if fate.state in ("confirmed", "rejected"):
                await self.weights_log.fate(tx, submission.link, fate.state, fate.block, fate.extrinsic)
            if fate.state == "confirmed" and fate.block is not None and view.slot is not None:
                mark = WeightMark(view.slot.neuron.uid, fate.block, fate.block)
                await tx.weight_guard.set_mark(*self._key, self.hotkey, mark, now)

    def _log_fate(self, view: ChainView, vector: Vector, fate: Fate, attempt: int, seconds: float) -> None:
        """Write the epoch's canonical line."""
        fields: dict[str, Any] = {
            "netuid": self.weights_log.netuid,
            "mechid": self.weights_log.mechid,
            "epoch": view.snapshot.epoch,
            "attempt": attempt,
            "block": fate.block,
            "extrinsic": fate.extrinsic,
            "reason": str(fate.reason),
            "message": fate.message,
            "seconds": round(seconds, 3),
            **vector.log_fields(),
        }
        if fate.state == "confirmed":
            _log.info(Event.WEIGHTS_SUBMITTED, **fields)
        else:
            _log.warning(Event.WEIGHTS_SUBMITTED, **fields)
