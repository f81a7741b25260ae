"""The round loop: prepare, dispatch, gates, settle; one round after the other until a stop is requested."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, RoundOutcome
from sssa.protocol.signatures import Signer
from sssa.sources import Clock
from validator.cancellation import complete, unless_set
from validator.chain.interface import Chain, ChainError
from validator.miners.directory import CapabilityDirectory
from validator.rounds.dispatch import Dispatcher
from validator.rounds.facts import EndedRound, RoundFacts, RoundListener, facts_of, round_line
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.prepare import Prepared, Preparer, Skipped
from validator.rounds.readiness import Missing, Readiness, RoundsPausedError, RoundsWaitError, Standing
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import Returned, settle_round, void_round
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.tasks.source import TaskSource
from validator.telemetry import Event
from validator.telemetry.repetition import Once, Outage, place_of
from validator.telemetry.reports import Reports

_RETRY_S = 5.0
_log = structlog.get_logger()


@dataclass(slots=True)
class RoundService:
    """The service that runs rounds.

    Args:
        gates: where stored answers are judged again after a crash.
        interval_s: pause between the starts of two rounds.
        refresh_s: how often miners are asked what they can do.
        standing: looks at every snapshot before a round begins on it.
        readiness: asked before a round starts.
        advice: returns what to say of a round that is odd, a line by condition.
        unpaid: tells how many windows the newest vectors do not pay; None before the first.
        listeners: called when rounds start and end.

    Attributes:
        in_hand: whether there is a round to finish, one that a crash left included.
    """

    store: Store
    chain: Chain
    source: TaskSource
    clock: Clock
    signer: Signer
    directory: CapabilityDirectory
    preparer: Preparer
    dispatcher: Dispatcher
    gates: Gatekeeper
    interval_s: float
    refresh_s: float
    standing: Standing
    readiness: Readiness
    board: Reports
    advice: Callable[[RoundFacts], Mapping[str, str]] = lambda _: {}
    unpaid: Callable[[], int | None] = lambda: None
    listeners: Sequence[RoundListener] = ()
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    in_hand: bool = field(init=False, default=False)
    _refreshed: float | None = None
    _unfinished: Reason = Reason.BUG_CRASH
    _logged: Once = field(init=False)
    _chain_away: Outage = field(init=False)

    def __post_init__(self) -> None:
        self._logged, self._chain_away = Once(self.clock), Outage(self.clock)

    async def run(self) -> None:
        """Finish what a crash left, then run rounds until `stopping` is set; the round in hand is finished first.

        Cancelled, it leaves the round in hand to the next start, unless its settling had begun: then that ends first.
        """
        while not self.stopping.is_set():
            started = self.clock.monotonic()
            pause = self.interval_s
            self.in_hand = True
            try:
                await self._next()
            except asyncio.CancelledError as cancelled:
                if cancelled.__cause__ is not None:
                    _log.exception("round_failed", reason=Reason.BUG_INTERNAL)
                raise
            except ChainError as error:
                self._chain_lost(error)
                pause = _RETRY_S
            except RoundsWaitError:
                pause = 0.0  # it has waited
            except RoundsPausedError:
                pause = max(self.interval_s, _RETRY_S)
            except StoreLostError:
                raise
            except StoreAwayError:  # the failed write or probe reported it
                self._unfinished = Reason.LOCAL_STORE_AWAY
                pause = _RETRY_S
            except Exception as error:  # noqa: BLE001 - one bad round must not end months of good ones; it is resumed
                self._failed(error)
                pause = max(self.interval_s, _RETRY_S)
            self.in_hand = False
            await self._pause(started + pause - self.clock.monotonic())

    async def _next(self) -> None:
        """Finish what a crash left, then run a round, unless a stop is asked for before the store takes a write."""
        await resume_rounds(
            self.store,
            self.clock,
            self.signer,
            self.gates,
            self._reachable,
            self._unfinished,
        )
        self._unfinished = Reason.BUG_CRASH
        self.in_hand = False
        if await unless_set(self.stopping, self.store.probe):
            self.in_hand = True
            await self.one_round()
            self._logged.over()
            self.board.clear("rounds_failing")

    async def one_round(self) -> EndedRound:
        """Run one round from snapshot to settlement.

        Raises:
            ChainError: no snapshot could be had; nothing was stored.
            RoundsPausedError: the settings want none now; the same.
            RoundsWaitError: something was missing on this machine; the same. It exists now, or a stop was asked for.
        """
        started = self.clock.monotonic()
        snapshot = await self.chain.snapshot()
        self._chain_back(snapshot)
        self.standing.check(snapshot)
        await self._until_ready(snapshot)
        await self._refresh_capabilities(snapshot)
        if self.stopping.is_set():
            raise RoundsWaitError("a stop was requested while declarations were fetched")
        prepared = await self.preparer.prepare(snapshot)
        if isinstance(prepared, Skipped):
            return self._end(EndedRound(prepared.round_id, prepared.reason, self._since(started)), None)
        _log.info(
            "round_started",
            round_id=prepared.frozen.round_id,
            block=snapshot.block,
            epoch=snapshot.epoch,
            tasks=len(prepared.plan.groups),
            dispatches=sum(len(group.members) for group in prepared.plan.groups),
        )
        for listener in self.listeners:
            listener.started(prepared)
        returned = await self.dispatcher.dispatch(prepared)
        offline = bool(returned.judged) and not returned.any_response and not await self._reachable()
        # a cancellation must interrupt neither the last write of a round nor its reports
        return await complete(self._finish(prepared, returned, started, offline=offline))

    async def _until_ready(self, snapshot: MetagraphSnapshot) -> None:
        """Wait for as long as this machine lacks something for a round; then the snapshot is an old one."""
        waited: Missing | None = None
        while not self.stopping.is_set() and (missing := self.readiness.missing(snapshot)):
            waited = missing
            await self._pause(_RETRY_S)
        if waited is not None:
            raise RoundsWaitError(f"{waited.reason}: {waited.detail}")

    async def _finish(self, prepared: Prepared, returned: Returned, started: float, *, offline: bool) -> EndedRound:
        reason, outcome = await self._settle(prepared, returned, offline=offline)
        self.in_hand = False
        end = EndedRound(prepared.frozen.round_id, reason, self._since(started), outcome, returned)
        return self._end(end, prepared)

    async def _settle(
        self, prepared: Prepared, returned: Returned, *, offline: bool
    ) -> tuple[Reason, RoundOutcome | None]:
        if offline:
            await void_round(self.store, self.clock, self.signer, prepared.frozen, prepared.plan, Reason.VOID_OFFLINE)
            return Reason.VOID_OFFLINE, None
        outcome = await settle_round(self.store, self.clock, self.signer, prepared.frozen, prepared.plan, returned)
        return (Reason.SETTLED if outcome else next(iter(returned.void.values()))), outcome

    async def _reachable(self) -> bool:
        """Return whether chain, task source and network are all there, so that silence is the miners' own (D-6)."""
        try:
            await self.chain.head()
        except ChainError:
            return False
        return await self.source.reachable() and not await self.dispatcher.away()

    def _failed(self, error: Exception) -> None:
        """Write a traceback once per change."""
        repeats = self._logged.fresh(place_of(error))
        if repeats is not None:
            _log.exception("round_failed", reason=Reason.BUG_INTERNAL, repeats=repeats)
        self.board.raise_("rounds_failing", f"{type(error).__name__}: {error}")

    def _chain_lost(self, error: ChainError) -> None:
        if self._chain_away.begun():
            _log.warning("chain_unreachable", reason=str(error))

    def _chain_back(self, snapshot: MetagraphSnapshot) -> None:
        if (seconds := self._chain_away.over()) is not None:
            _log.info("chain_back", block=snapshot.block, seconds=seconds)

    async def _refresh_capabilities(self, snapshot: MetagraphSnapshot) -> None:
        now = self.clock.monotonic()
        if self._refreshed is None or now - self._refreshed >= self.refresh_s:
            await self.directory.refresh(snapshot)
            self._refreshed = now

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until `stopping` is set."""
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            await unless_set(self.stopping, lambda: self.clock.sleep(seconds))

    def _since(self, started: float) -> float:
        return self.clock.monotonic() - started

    def _end(self, end: EndedRound, prepared: Prepared | None) -> EndedRound:
        """Write the round's canonical line and tell the listener."""
        fields = round_line(end, prepared, self.unpaid(), self.advice(facts_of(end, prepared)))
        if end.outcome:
            _log.info(Event.ROUND_SETTLED, **fields)
        else:
            _log.info(Event.ROUND_ENDED, **fields)
        for flag in end.outcome.flags if end.outcome else ():
            _log.warning(
                "flag_raised",
                round_id=end.round_id,
                hotkey=flag.hotkey,
                skill_type=str(flag.skill_type),
                mean_with_primaries=flag.mean_with_primaries,
                mean_with_auditors=flag.mean_with_auditors,
                mean_own=flag.mean_own,
                mean_witnesses=flag.mean_witnesses,
                samples=flag.samples,
            )
        for listener in self.listeners:
            listener.ended(end)
        return end
