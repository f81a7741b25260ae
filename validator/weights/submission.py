"""One submission: written down, signed and sent, and its fate written down and told in the log (SPEC 11, D-28)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog
from msgspec import UNSET

from validator.cancellation import complete, within
from validator.chain.base import Chain, ChainError, ChainUnreachableError
from validator.protocol.reasons import Reason
from validator.protocol.receipt import (
    FateLink,
    FateState,
    Owner,
    WeightedMiner,
    WeightsDocument,
    WeightsLink,
    line,
    line_digest,
)
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import Kind
from validator.protocol.text import printable
from validator.sources import Clock, RandomBytes
from validator.store import Store, Transaction
from validator.store.errors import AlreadyPreparedError, WrongStateError
from validator.store.log import append_link, open_log
from validator.store.repositories.weight_submissions import PlannedWeights, refused_for_good
from validator.store.rows import WeightMark, WeightsRecord, WeightsState
from validator.store.vector_inputs import Basis
from validator.telemetry import Event
from validator.weights.chain_view import Sight
from validator.weights.plan import Vector, owner_of

_MOST_UNSENT: Final = 8  # vectors of a mechanism and an epoch that are told and not sent
_MAX_EXTRINSIC: Final = 128


@dataclass(frozen=True, slots=True)
class WeightsLog:
    """The receipts of one mechanism's vectors, written in the caller's transactions.

    `random` is for the first salt, where the log is not opened yet; `kinds` are those that the mechanism pays for.
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
        """Tell a vector, with the reason why it is not sent, and return the number of its receipt.

        None if it is one too many.

        What was said last of the epoch is not said again: then that receipt is the vector's. Of vectors that are not
        sent only so many are told. The windows were read in the same transaction.
        """
        key = (self.netuid, self.mechid, snapshot.epoch)
        told = line("weights", document_of(snapshot, basis, vector, self.kinds))
        sha256 = line_digest(told)
        last = await tx.weight_links.newest(*key)
        if last is not None and (last.sha256, last.reason) == (sha256, reason):
            return last.sequence
        if reason is not None and await tx.weight_links.unsent(*key) >= _MOST_UNSENT:
            return None
        await self._open(tx)
        block, version = snapshot.block, vector.scoring_version
        link = WeightsLink(*key, block, snapshot.block_hash, version, None if reason is None else str(reason), sha256)
        sequence = await append_link(tx, self.signer, self.clock.now(), link)
        await tx.weight_links.add(sequence, link, told)
        return sequence

    async def fate(
        self,
        tx: Transaction,
        link: int | None,
        state: FateState,
        block: int | None = None,
        extrinsic: str | None = None,
    ) -> None:
        """Tell the result of weights that were sent; nothing of those that the log does not know."""
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
    """Return what the log says of a vector."""
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
        pool=UNSET if vector.tallied is None else vector.tallied.told_pool(),
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
            parts=UNSET if tallied is None else tallied.told_parts(hotkey),
            entries=UNSET if tallied is None else tallied.entries.get(hotkey, UNSET),
            factor=UNSET if tallied is None else tallied.factors.get(hotkey, UNSET),
        )
        for hotkey in sorted(vector.scores)
    )


_STOPPED: Final = "the validator stopped before the chain answered"
_MAX_MESSAGE: Final = 500
_log = structlog.get_logger()


class Fate(NamedTuple):
    """The fate of a submission: stored state, reason for the log, words of the chain or ours, block of inclusion."""

    state: WeightsState
    reason: Reason
    message: str
    block: int | None = None
    extrinsic: str | None = None


@dataclass(frozen=True, slots=True)
class Submitter:
    """The sender of vectors, each epoch's once; after `timeout_s` the chain's answer no longer counts."""

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
        """Return whether the epoch is finished: its weights were accepted, or refused too often."""
        async with self.store.read() as tx:
            record = await tx.weights.of_epoch(*self._key, epoch)
        return record is not None and (record.state == "confirmed" or refused_for_good(record))

    async def submit(self, sight: Sight, vector: Vector, valid_blocks: int) -> Fate | None:
        """Write the submission down, send it, write down the result of it; None if somebody else was faster.

        Nothing may be in the way in `sight`. It may be included for `valid_blocks` past the head.

        Raises:
            ChainUnreachableError: certainly not sent; the row is prepared again.
            StoreError: it could not be written down; then nothing was sent, or the row says that it may have been.
        """
        plan = PlannedWeights(vector.weights, vector.scores, vector.unallocated, vector.row, vector.link)
        epoch, head = sight.snapshot.epoch, sight.snapshot.block
        lifetime = self.chain.submission_lifetime(valid_blocks)
        try:
            async with self.store.begin() as tx:
                for link in await tx.weights.outdated(*self._key, epoch):
                    await self.told.fate(tx, link, "expired")
                prepared = await tx.weights.prepare(*self._key, epoch, plan, self.clock.now())
            async with self.store.begin() as tx:
                # Another mechanism's may have been found past this head since the look: the node went back.
                if (await tx.weights.highest_confirmed(self.told.netuid) or 0) > head:
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
            # Also when this task is cancelled: what is known must be written, and told once.
            await complete(self._note(prepared, sight, vector, fate, started))
        return fate

    async def _send(self, row: Mapping[int, int], valid_blocks: int, head: int) -> Fate:
        sending = self.chain.set_weights(self.told.mechid, row, valid_blocks=valid_blocks, head=head)
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
                await tx.weights.lose(submission.id, now, message)
                await self.told.fate(tx, submission.link, "unknown")
                return
            hidden = sight.parameters.commit_reveal and fate.state == "confirmed"
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
