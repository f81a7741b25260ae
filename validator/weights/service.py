"""The weights loop: once per epoch, late in it, never past its end nor before the rate limit (SPEC 11)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import Kind
from sssa.protocol.text import printable
from sssa.scoring import UnknownScoringVersionError
from sssa.sources import Clock, RandomBytes
from validator.cancellation import within
from validator.chain.interface import BehindError, Chain, ChainError, Head
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.rows import VectorRecord, WeightsRecord
from validator.store.vector_inputs import Basis, basis_of
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.telemetry.repetition import Once, Outage, place_of
from validator.telemetry.reports import Reports
from validator.weights.chain_view import Blocker, ChainReader, ChainView, chain_blocker, due_block, validity
from validator.weights.guard import WRONG_ROWS
from validator.weights.pay_watch import PayWatch
from validator.weights.plan import Vector, plan_vector
from validator.weights.submission import Fate, Submitter, WeightsLog
from validator.weights.watch import Watch, WatchResult, WeightsLock, WeightsLockedError

_QUIET_S: Final = 60.0
_log = structlog.get_logger()


class Trouble:
    """Log lines and conditions of one mechanism, which `identity` names in every line."""

    def __init__(self, clock: Clock, board: Reports | None, identity: Mapping[str, int]) -> None:
        self._clock = clock
        self._board = board
        self._identity = identity
        self._of = f"mechanism {identity['mechid']}"
        self._failures = Once(clock)
        self._blocked: Reason | None = None
        self._chain_away = Outage(clock)
        self._unsent = False  # a submission failed for the chain's trouble, and none has succeeded since
        self._store_reported_at: float | None = None

    def block(self, snapshot: MetagraphSnapshot | None, reason: Reason, detail: str) -> None:
        """Log why nothing is sent, unless the reason is the same as before."""
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
        """Note that the epoch's weights were sent, or would have been: the next reason is logged again."""
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
        """Show the conditions of the newest row that was compared."""
        for state, name in WRONG_ROWS.items():
            self._show(name, f"weights of epoch {row.epoch}" if row.row_state == state else None)

    def too_few(self, blocker: Blocker | None) -> None:
        """Show `weights_too_few` if that is what blocks the row."""
        self._show("weights_too_few", blocker.detail if blocker and blocker.reason is Reason.WEIGHTS_TOO_FEW else None)

    def chain_lost(self, error: Exception, *, sending: bool) -> None:
        """Report a failed call of the chain; `sending`: it was part of a submission."""
        self._unsent |= sending
        if self._chain_away.begun():
            self.block(None, Reason.WEIGHTS_CHAIN_DOWN, str(error))

    def delivered(self) -> None:
        """Note that the chain has taken the epoch's weights."""
        self._unsent = False

    def chain_back(self, block: int) -> None:
        """Report that the chain answers again; after a failed submission only once one has succeeded."""
        if self._unsent:
            return
        if (seconds := self._chain_away.over()) is not None:
            _log.info(Event.WEIGHTS_UNBLOCKED, **self._identity, block=block, seconds=seconds)
        if self._blocked == Reason.WEIGHTS_CHAIN_DOWN:
            self._blocked = None

    def store_away(self, error: StoreAwayError) -> None:
        """Report that the store is away, at most once a minute: steps without a write succeed in between."""
        now = self._clock.monotonic()
        if self._store_reported_at is None or now - self._store_reported_at >= _QUIET_S:
            self._store_reported_at = now
            self.block(None, Reason.WEIGHTS_STORE_AWAY, error.detail)

    def failed(self, error: Exception) -> None:
        """Log a traceback once per change; for an `except` block."""
        repeats = self._failures.fresh(place_of(error))
        if repeats is not None:
            _log.exception(Event.WEIGHTS_FAILED, reason=str(Reason.BUG_INTERNAL), repeats=repeats)
        if self._board is not None:
            self._board.raise_("weights_failing", f"{type(error).__name__}: {error}", self._of)

    def step_done(self, *, attempt_failed: bool) -> None:
        """Note a step without an error; `attempt_failed`: the newest attempt to send ended with one."""
        self._failures.over()
        if self._blocked == Reason.WEIGHTS_STORE_AWAY:
            _log.info(Event.WEIGHTS_UNBLOCKED, **self._identity)
            self._blocked = None
        if self._board is not None and not attempt_failed:  # an epoch that ends without weights mends nothing
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
        settings: of weights: whether and when they are sent, and the chain's timeout.
        lock: kept by all services of one hotkey.
        clock_fault: returns what is wrong with the clock; None if nothing is (SPEC 16, D-26).
        signing: held from the look at the chain to its answer: two submissions of one hotkey at once share a nonce.
        metrics: receives the newest blocks, or None.
        board: receives conditions, or None.
        pay: checks each vector before it is sent, or None.
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
        self._reader = ChainReader(chain, clock, hotkey, mechid)
        self._weights_log = WeightsLog(signer, clock, random, netuid, mechid, kinds)
        self._watch = Watch(store, self._reader, lock, netuid, self._weights_log)
        self._submitter = Submitter(store, chain, clock, hotkey, self._weights_log, settings.timeout_s)
        self._identity = {"netuid": netuid, "mechid": mechid}
        self._trouble = Trouble(clock, board, self._identity)
        self._done_epoch: int | None = None
        self._served_end: int | None = None
        # The epoch whose vector was computed, and what blocked it.
        self._computed: tuple[int, Reason] | None = None
        self._looked_in: int | None = None  # the epoch
        self._trying = False  # an attempt is open, or ended with an error
        self._last_update: int | None = None
        self._hidden: bool | None = None

    async def run(self) -> None:
        """Send each epoch's weights until cancelled; return at once if the settings disable weights.

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
        """Do the work of the newest block, then wait until something can have changed.

        Raises:
            WeightsLockedError: as `run`.
            ChainError, TimeoutError: a call of the chain failed.
            StoreError: the store failed.
        """
        head = await self._reader.read(self._chain.head())
        self._record_head(head)
        again = await self._turn(head)
        self._trouble.chain_back(head.number)
        await self._wait(head, again)

    async def _turn(self, head: Head) -> int:
        """Do the work of the block; return the block at which to look again."""
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

        True at the start, while a submission is open, while a row is not compared, and at the beginning of each epoch
        while a commitment waits for its reveal.
        """
        if self._looked_in is None:
            return True
        known = await self._watch.known()
        states = {row.row_state for row in known.rows}
        begun = "committed" in states and self._looked_in != head.epoch
        return known.open is not None or None in states or begun

    async def _attempt(self, head: Head) -> int:
        """Send unless something blocks it; return the block at which to look again."""
        view = await self._look()
        if view is None:
            return head.number + 1
        snapshot = view.snapshot
        soon = snapshot.block + 1
        if snapshot.epoch != head.epoch or (head.epoch_end is not None and snapshot.block >= head.epoch_end):
            return soon  # too late: sent now, they would land in the next epoch
        self._trying = True
        again = await self._serve(head, view)
        self._trying = False
        return again

    async def _serve(self, head: Head, view: ChainView) -> int:
        """Compute and send; return the block at which to look again."""
        snapshot = view.snapshot
        soon = snapshot.block + 1
        vector = await self._payable(view)
        if isinstance(vector, Blocker):
            self._trouble.block(snapshot, vector.reason, vector.detail)
            return vector.retry
        if self._settings.dry_run:
            self._log_plan(snapshot, vector)
            self._done_epoch = snapshot.epoch
            self._trouble.served()
            return soon
        fate = await self._submitter.submit(view, vector, validity(head, snapshot.block, self._settings.valid_blocks))
        self._trouble.served()
        self._trouble.answered(fate)
        if fate is not None and fate.state == "confirmed":
            # An older runtime's epoch may change before its step: the next one's weights would only replace these.
            self._last_update, self._served_end = fate.block, head.epoch_end
        return soon

    async def _payable(self, view: ChainView) -> Vector | Blocker:
        """Return the vector, or why none is sent. The epoch's vector is computed even if it cannot be sent."""
        snapshot, blocker = view.snapshot, chain_blocker(view, self._mechid)
        if (fault := self._clock_fault()) is not None:
            return Blocker(Reason.LOCAL_CLOCK, fault, snapshot.block + 1)
        if blocker is not None and self._computed == (snapshot.epoch, blocker.reason):
            return blocker
        try:
            vector = await self._compute(view, blocker)
        except UnknownScoringVersionError as error:
            return Blocker(Reason.WEIGHTS_SCORING_VERSION, error.detail, snapshot.block + 1)
        except BehindError as error:
            return Blocker(Reason.WEIGHTS_CHAIN_BEHIND, error.detail, snapshot.block + 1)
        if self._pay is not None:
            await self._pay.check_vector(self._mechid, self._kinds, snapshot, vector)
        blocker = self._blocker(view, vector, blocker)
        self._trouble.too_few(blocker)
        return blocker or vector

    def _blocker(self, view: ChainView, vector: Vector, blocker: Blocker | None) -> Blocker | None:
        if blocker is None and not vector.positive:
            return Blocker(Reason.WEIGHTS_NONE_POSITIVE, "", view.snapshot.block + 1)
        return blocker or chain_blocker(view, self._mechid, vector.row)

    async def _compute(self, view: ChainView, blocker: Blocker | None) -> Vector:
        """Compute the epoch's vector and store it: the next vector starts from the rounds since then (D-23).

        The log's receipt is written in the same transaction, so the rounds before it are those that were used.

        Raises:
            BehindError: the snapshot is older than that of the mechanism's newest vector.
        """
        snapshot = view.snapshot
        async with self._store.begin() as tx:
            newest = await tx.vectors.newest(self._netuid, self._mechid)
            if newest is not None and snapshot.block < newest.block:
                raise BehindError(f"block {snapshot.block}, and weights were computed in block {newest.block}")
            basis = await basis_of(tx, self._netuid, self._mechid, snapshot.epoch, snapshot.block)
            vector = plan_vector(basis, snapshot, self._hotkey, self._kinds)
            blocked_by = self._blocker(view, vector, blocker)
            reason = blocked_by.reason if blocked_by else Reason.WEIGHTS_DRY_RUN if self._settings.dry_run else None
            link = await self._weights_log.vector(tx, snapshot, basis, vector, reason)
            vector = vector._replace(link=link)
            if link is not None:
                await tx.vectors.put(self._record(snapshot, basis, vector))
                await tx.state.pay((self._netuid, self._mechid), snapshot.epoch, basis.round_id)
        self._computed = None if blocker is None else (snapshot.epoch, blocker.reason)
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

    async def _look(self) -> ChainView | None:
        """Compare the chain with the store; log the reason and return None if nothing may be signed."""
        checked = WatchResult(await self._reader.look(), None) if self._settings.dry_run else await self._watch.check()
        view, blocker = checked.view, checked.blocker
        if checked.row is not None:
            self._trouble.compared(checked.row)
        self._last_update = None if view.slot is None else view.slot.last_update
        hidden = view.parameters.commit_reveal
        if self._hidden not in (None, hidden):
            _log.info(Event.WEIGHTS_MODE, **self._identity, block=view.snapshot.block, commit_reveal=hidden)
        self._hidden = hidden
        if blocker is not None:
            self._trouble.block(view.snapshot, blocker.reason, blocker.detail)
            return None
        return view

    async def _wait(self, head: Head, number: int) -> None:
        # A node's snapshot may be older than its head: never look twice within a block.
        target = max(head.number + 1, min(number, head.number + _STEP_BLOCKS))
        self._record_head(await within(self._clock, _WAIT_S, self._chain.wait_for_block(target)))

    def _record_head(self, head: Head) -> None:
        if self._metrics is not None:
            self._metrics.record_block(head.number)
            if self._last_update is not None:
                self._metrics.weights_age.set(max(0, head.number - self._last_update))

    def _log_plan(self, snapshot: MetagraphSnapshot, vector: Vector) -> None:
        """Log the vector that a dry run does not send."""
        _log.info(
            Event.WEIGHTS_PLANNED,
            **self._identity,
            epoch=snapshot.epoch,
            block=snapshot.block,
            reason=str(Reason.WEIGHTS_DRY_RUN),
            **vector.log_fields(),
        )
