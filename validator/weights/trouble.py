"""What keeps weights from being sent: said once per change, and shown on the board."""

from collections.abc import Mapping
from typing import Final

import structlog

from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.text import printable
from validator.sources import Clock
from validator.store.errors import StoreAwayError
from validator.telemetry import Event
from validator.telemetry.repetition import Once, Outage, place_of
from validator.telemetry.reports import Reports
from validator.weights.submission import Fate

_QUIET_S: Final = 60.0
_log = structlog.get_logger()


class Trouble:
    """Of one mechanism.

    Args:
        clock: for how long it lasted.
        board: told of failures; None tells nobody.
        identity: netuid and mechid, for every line.
    """

    def __init__(self, clock: Clock, board: Reports | None, identity: Mapping[str, int]) -> None:
        self._clock = clock
        self._board = board
        self._identity = identity
        self._of = f"mechanism {identity['mechid']}"
        self._said = Once(clock)
        self._blocked: Reason | None = None
        self._chain_away = Outage(clock)
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
        """Note that the epoch's weights went out, or would have: whatever stands in the way next is news."""
        self._blocked = None

    def answered(self, fate: Fate | None) -> None:
        """Show the chain's refusal of a vector, until it takes one."""
        if self._board is None or fate is None:
            return
        if fate.state == "rejected":
            self._board.raise_("weights_refused", f"{self._of}: {fate.message}", self._of)
        elif fate.state == "confirmed":
            self._board.clear("weights_refused", self._of)

    def chain_lost(self, error: Exception) -> None:
        """Say that the chain did not do its part."""
        if self._chain_away.begun():
            self.block(None, Reason.WEIGHTS_CHAIN_DOWN, str(error))

    def chain_back(self, block: int) -> None:
        """Say that it does again, if it did not."""
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
