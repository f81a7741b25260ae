"""The weights loop: once per epoch, late in it, never past its end nor before the rate limit (SPEC 11)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from validator.cancellation import within
from validator.chain.base import BehindError, Chain, ChainError, Head
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import Kind
from validator.protocol.text import printable
from validator.scoring import UnknownScoringVersionError
from validator.settings.model import WeightsSettings
from validator.sources import Clock, RandomBytes
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.rows import VectorRecord, WeightsRecord
from validator.store.vector_inputs import Basis, basis_of
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.telemetry.repetition import Once, Outage, place_of
from validator.telemetry.reports import Reports
from validator.weights.chain_view import Eyes, Hindrance, Sight, due_block, hindrance, validity
from validator.weights.guard import WRONG_ROWS
from validator.weights.pay_watch import PayWatch
from validator.weights.plan import Vector, plan_vector
from validator.weights.submission import Fate, Submitter, WeightsLog
from validator.weights.watch import Checked, Watch, WeightsLock, WeightsLockedError

_QUIET_S: Final = 60.0
_log = structlog.get_logger()


class Trouble:
    """The trouble of one mechanism, which `identity` names in every line."""

    def __init__(self, clock: Clock, board: Reports | None, identity: Mapping[str, int]) -> None:
        self._clock = clock
        self._board = board
        self._identity = identity
        self._of = f"mechanism {identity['mechid']}"
        self._said = Once(clock)
        self._blocked: Reason | None = None
        self._chain_away = Outage(clock)
        self._unsent = False  # a submission failed for the chain's trouble, and none has succeeded since
        self._store_said: float | None = None

    def block(self, snapshot: MetagraphSnapshot | None, reason: Reason, detail: str) -> None:
        """Say why nothing is sent, unless it is why nothing was sent before."""
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

    def served(self) -> None:
        """Note that the epoch's weights went out, or would have: whatever is in the way next is news."""
        self._blocked = None

    def _show(self, name: str, detail: str | None) -> None:
        """Show a condition of this mechanism; None: it is over."""
        if self._board is not None:
            self._board.mark(name, None if detail is None else f"{self._of}: {detail}", self._of)

    def answered(self, fate: Fate | None) -> None:
        """Show the chain's refusal of a vector, until it takes one."""
        if fate is not None and fate.state in ("confirmed", "rejected"):
            self._show("weights_refused", fate.message if fate.state == "rejected" else None)
        if fate is not None and fate.state == "confirmed":
            self.delivered()

    def compared(self, row: WeightsRecord) -> None:
        """Show how the newest row that was compared is on chain."""
        for state, name in WRONG_ROWS.items():
            self._show(name, f"weights of epoch {row.epoch}" if row.row_state == state else None)

    def too_few(self, found: Hindrance | None) -> None:
        """Show that the row has fewer weights than the subnet asks for, where that is what is in the way."""
        self._show("weights_too_few", found.detail if found and found.reason is Reason.WEIGHTS_TOO_FEW else None)

    def chain_lost(self, error: Exception, *, sending: bool) -> None:
        """Say that the chain did not do its part; `sending`: of a submission."""
        self._unsent |= sending
        if self._chain_away.begun():
            self.block(None, Reason.WEIGHTS_CHAIN_DOWN, str(error))

    def delivered(self) -> None:
        """Note that the chain has taken the epoch's weights."""
        self._unsent = False

    def chain_back(self, block: int) -> None:
        """Say that it does again, if it did not; after a failed submission only once one has succeeded."""
        if self._unsent:
            return
        if (seconds := self._chain_away.over()) is not None:
            _log.info(Event.WEIGHTS_UNBLOCKED, **self._identity, block=block, seconds=seconds)
        if self._blocked == Reason.WEIGHTS_CHAIN_DOWN:
            self._blocked = None

    def store_away(self, error: StoreAwayError) -> None:
        """Say so, not more than once a minute: some steps need no write and work in between."""
        now = self._clock.monotonic()
        if self._store_said is None or now - self._store_said >= _QUIET_S:
            self._store_said = now
            self.block(None, Reason.WEIGHTS_STORE_AWAY, error.detail)

    def failed(self, error: Exception) -> None:
        """Write a traceback once per change; for an `except` block."""
        repeats = self._said.fresh(place_of(error))
        if repeats is not None:
            _log.exception(Event.WEIGHTS_FAILED, reason=str(Reason.BUG_INTERNAL), repeats=repeats)
        if self._board is not None:
            self._board.raise_("weights_failing", f"{type(error).__name__}: {error}", self._of)

    def step_done(self, *, attempt_failed: bool) -> None:
        """Note a step without an error; `attempt_failed`: the newest attempt to send ended with one."""
        self._said.over()
        if self._blocked == Reason.WEIGHTS_STORE_AWAY:
            _log.info(Event.WEIGHTS_UNBLOCKED, **self._identity)
            self._blocked = None
        if self._board is not None and not attempt_failed:  # an epoch that ends unserved mends nothing
            self._board.clear("weights_failing", self._of)


_WAIT_S: Final = 600.0  # a wait that takes longer has stalled; it is for at most so many blocks:
_STEP_BLOCKS: Final = 5
_RETRY_S: Final = 2.0


class WeightService:
    """The service that sets this validator's weights for one mechanism.

    Args:
        store: windows are read from it, submissions written to it.
        chain: where weights go, as the signer's hotkey.
        random: for the first salt, where the log is not opened yet.
        kinds: which kinds of task it pays.
        settings: whether, when, and how long the chain may take.
        lock: kept by all services of one hotkey.
        clock_fault: says what is wrong with the clock; None where nothing is (SPEC 16, D-26).
        signing: held from looking to the chain's answer: two submissions of one hotkey at once would share a nonce.
        metrics: told which blocks are seen; None tells nobody.
        board: told when it fails, or None.
        pay: shown each vector before it is sent, or None.
    """

    def __init__(  # noqa: PLR0913 - the world and which vector, each by name
        self,
        *,
        store: Store,
        chain: Chain,
        clock: Clock,
        signer: Signer,
        random: RandomBytes,
        netuid: int,
        mechid: int,
        kinds: Sequence[Kind],
        settings: WeightsSettings,
        lock: WeightsLock,
        clock_fault: Callable[[], str | None] = lambda: None,
        signing: asyncio.Lock | None = None,
        metrics: Metrics | None = None,
        board: Reports | None = None,
        pay: PayWatch | None = None,
    ) -> None:
        self._store = store
        self._chain = chain
        self._clock = clock
        self._hotkey = hotkey = signer.hotkey
        self._netuid = netuid
        self._mechid = mechid
        self._kinds = kinds
        self._settings = settings
        self._lock = lock
        self._clock_fault = clock_fault
        self._signing = signing or asyncio.Lock()
        self._metrics = metrics
        self._pay = pay
        self._eyes = Eyes(chain, clock, hotkey, mechid)
        self._told = WeightsLog(signer, clock, random, netuid, mechid, kinds)
        self._watch = Watch(store, self._eyes, lock, netuid, self._told)
        self._submitter = Submitter(store, chain, clock, hotkey, self._told, settings.timeout_s)
        self._identity = {"netuid": netuid, "mechid": mechid}
        self._trouble = Trouble(clock, board, self._identity)
        self._done_epoch: int | None = None
        self._served_end: int | None = None
        # The epoch whose vector was computed, and what stood in the way.
        self._computed: tuple[int, Reason] | None = None
        self._looked_in: int | None = None  # the epoch
        self._trying = False  # since the last attempt that ended without an error
        self._last_update: int | None = None
        self._hidden: bool | None = None

    async def run(self) -> None:
        """Send each epoch's weights until cancelled; return at once when the settings say that none are sent.

        Raises:
            WeightsLockedError: another program uses the hotkey; the lock stays until the operator clears it.
            StoreLostError: another process writes to the store now, or it is damaged.
        """
        if self._settings.enabled and not self._settings.dry_run:
            await self._lock.check()
        while self._settings.enabled:
            try:
                await self.step()
            except (ChainError, TimeoutError) as error:
                self._trouble.chain_lost(error, sending=self._trying)
                await self._clock.sleep(_RETRY_S)
            except StoreAwayError as error:
                self._trouble.store_away(error)
                await self._clock.sleep(_RETRY_S)
            except (StoreLostError, WeightsLockedError):
                raise
            except Exception as error:  # noqa: BLE001 - one bad epoch must not end months of good ones
                self._trouble.failed(error)
                await self._clock.sleep(_RETRY_S)
            else:
                self._trouble.step_done(attempt_failed=self._trying)

    async def step(self) -> None:
        """Do what the newest block asks for, then wait until something can have changed.

        Raises:
            WeightsLockedError: as `run`.
            ChainError, TimeoutError: the chain did not do its part.
            StoreError: the store did not.
        """
        head = await self._eyes.read(self._chain.head())
        self._saw(head)
        again = await self._turn(head)
        self._trouble.chain_back(head.number)
        await self._wait(head, again)

    async def _turn(self, head: Head) -> int:
        """Do what the block asks for; return the block at which to look again."""
        soon = head.number + 1
        async with self._store.read() as tx:
            if not await tx.weight_guard.present():
                self._trouble.block(None, Reason.WEIGHTS_GUARD_MISSING, "")
                return soon
        if not self._settings.dry_run and await self._has_to_look(head):
            await self._look()
            self._looked_in = head.epoch
        due = due_block(head, self._settings.blocks_before_epoch_end)
        if await self._done(head.epoch) or (head.epoch_end is not None and head.epoch_end == self._served_end):
            return soon if head.epoch_end is None else head.epoch_end + 1
        if head.number < due:
            return due
        async with self._signing:
            return await self._attempt(head)

    async def _has_to_look(self, head: Head) -> bool:
        """Return whether the chain may show something that the store does not know yet.

        At the start; while a submission is open; for a row that is not compared; at the beginning of each epoch for
        those that are revealed then.
        """
        if self._looked_in is None:
            return True
        known = await self._watch.known()
        states = {row.row_state for row in known.rows}
        begun = "committed" in states and self._looked_in != head.epoch
        return known.open is not None or None in states or begun

    async def _attempt(self, head: Head) -> int:
        """Send if nothing is in the way; return the block at which to look again."""
        sight = await self._look()
        if sight is None:
            return head.number + 1
        snapshot = sight.snapshot
        soon = snapshot.block + 1
        if snapshot.epoch != head.epoch or (head.epoch_end is not None and snapshot.block >= head.epoch_end):
            return soon  # too late: sent now, they would land in the next epoch
        self._trying = True
        again = await self._serve(head, sight)
        self._trying = False
        return again

    async def _serve(self, head: Head, sight: Sight) -> int:
        """Compute and send; return the block at which to look again."""
        snapshot = sight.snapshot
        soon = snapshot.block + 1
        vector = await self._payable(sight)
        if isinstance(vector, Hindrance):
            self._trouble.block(snapshot, vector.reason, vector.detail)
            return vector.retry
        if self._settings.dry_run:
            self._log_plan(snapshot, vector)
            self._done_epoch = snapshot.epoch
            self._trouble.served()
            return soon
        fate = await self._submitter.submit(sight, vector, validity(head, snapshot.block, self._settings.valid_blocks))
        self._trouble.served()
        self._trouble.answered(fate)
        if fate is not None and fate.state == "confirmed":
            # An older runtime's epoch may change before its step: the next one's weights would only replace these.
            self._last_update, self._served_end = fate.block, head.epoch_end
        return soon

    async def _payable(self, sight: Sight) -> Vector | Hindrance:
        """Return the vector, or why none is sent; it is computed for the epoch also when none can be."""
        snapshot, found = sight.snapshot, hindrance(sight, self._mechid)
        if (fault := self._clock_fault()) is not None:
            return Hindrance(Reason.LOCAL_CLOCK, fault, snapshot.block + 1)
        if found is not None and self._computed == (snapshot.epoch, found.reason):
            return found
        try:
            vector = await self._compute(sight, found)
        except UnknownScoringVersionError as error:
            return Hindrance(Reason.WEIGHTS_SCORING_VERSION, error.detail, snapshot.block + 1)
        except BehindError as error:
            return Hindrance(Reason.WEIGHTS_CHAIN_BEHIND, error.detail, snapshot.block + 1)
        if self._pay is not None:
            await self._pay.saw_vector(self._mechid, self._kinds, snapshot, vector)
        found = self._hindrance(sight, vector, found)
        self._trouble.too_few(found)
        return found or vector

    def _hindrance(self, sight: Sight, vector: Vector, found: Hindrance | None) -> Hindrance | None:
        if found is None and not vector.positive:
            return Hindrance(Reason.WEIGHTS_NONE_POSITIVE, "", sight.snapshot.block + 1)
        return found or hindrance(sight, self._mechid, vector.row)

    async def _compute(self, sight: Sight, found: Hindrance | None) -> Vector:
        """Compute the epoch's vector and write down that it was: the next epoch's asks what has come since (D-23).

        The log learns of it in the same transaction: the rounds in front of its receipt are those that were used.

        Raises:
            BehindError: the snapshot is older than that of the mechanism's newest vector.
        """
        snapshot = sight.snapshot
        async with self._store.begin() as tx:
            newest = await tx.vectors.newest(self._netuid, self._mechid)
            if newest is not None and snapshot.block < newest.block:
                raise BehindError(f"block {snapshot.block}, and weights were computed in block {newest.block}")
            basis = await basis_of(tx, self._netuid, self._mechid, snapshot.epoch, snapshot.block)
            vector = plan_vector(basis, snapshot, self._hotkey, self._kinds)
            in_the_way = self._hindrance(sight, vector, found)
            reason = in_the_way.reason if in_the_way else Reason.WEIGHTS_DRY_RUN if self._settings.dry_run else None
            link = await self._told.vector(tx, snapshot, basis, vector, reason)
            vector = vector._replace(link=link)
            if link is not None:
                await tx.vectors.put(self._record(snapshot, basis, vector))
                await tx.state.pay((self._netuid, self._mechid), snapshot.epoch, basis.round_id)
        self._computed = None if found is None else (snapshot.epoch, found.reason)
        if self._metrics is not None:
            self._metrics.pays(self._mechid, [one.reason for one in vector.unpaid])
        return vector

    def _record(self, snapshot: MetagraphSnapshot, basis: Basis, vector: Vector) -> VectorRecord:
        return VectorRecord(
            netuid=self._netuid,
            mechid=self._mechid,
            epoch=snapshot.epoch,
            round_id=basis.round_id,
            block=snapshot.block,
            scoring_version=vector.scoring_version,
            positive=vector.positive,
            unpaid=vector.unpaid,
            computed_at=self._clock.now(),
            link=vector.link,
        )

    async def _done(self, epoch: int) -> bool:
        if self._done_epoch != epoch and await self._submitter.done(epoch):
            self._done_epoch = epoch
            self._trouble.delivered()
        return self._done_epoch == epoch

    async def _look(self) -> Sight | None:
        """Compare the chain with the store; None if nothing may be signed, which is said."""
        checked = Checked(await self._eyes.look(), None) if self._settings.dry_run else await self._watch.check()
        sight, found = checked.sight, checked.hindrance
        if checked.row is not None:
            self._trouble.compared(checked.row)
        self._last_update = None if sight.slot is None else sight.slot.last_update
        hidden = sight.parameters.commit_reveal
        if self._hidden not in (None, hidden):
            _log.info(Event.WEIGHTS_MODE, **self._identity, block=sight.snapshot.block, commit_reveal=hidden)
        self._hidden = hidden
        if found is not None:
            self._trouble.block(sight.snapshot, found.reason, found.detail)
            return None
        return sight

    async def _wait(self, head: Head, number: int) -> None:
        # A node's snapshot may be older than its head, and so the block after it: never ask again within a block.
        target = max(head.number + 1, min(number, head.number + _STEP_BLOCKS))
        self._saw(await within(self._clock, _WAIT_S, self._chain.wait_for_block(target)))

    def _saw(self, head: Head) -> None:
        if self._metrics is not None:
            self._metrics.saw_block(head.number)
            if self._last_update is not None:
                self._metrics.weights_age.set(max(0, head.number - self._last_update))

    def _log_plan(self, snapshot: MetagraphSnapshot, vector: Vector) -> None:
        """Say what would have been sent."""
        _log.info(
            Event.WEIGHTS_PLANNED,
            **self._identity,
            epoch=snapshot.epoch,
            block=snapshot.block,
            reason=str(Reason.WEIGHTS_DRY_RUN),
            **vector.told(),
        )
