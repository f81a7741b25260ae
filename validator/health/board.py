"""Board of the active conditions: services raise and clear them; health, metrics and the log show them. In memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.health.catalogue import CONDITIONS, Condition
from validator.rounds.facts import RoundFacts

ROUNDS: Final = 3
_DETAIL: Final = 500
_WORST_FIRST: Final = ("unhealthy", "degraded", "note")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ActiveCondition:
    """An active condition, with its detail and its age in seconds."""

    condition: Condition
    detail: str
    seconds: float


@dataclass(slots=True)
class _State:
    since: float | None = None  # None: it is not active
    detail: str = ""
    causes: dict[str, str] = field(default_factory=dict)  # by the part that it is active for
    logged_causes: set[str] = field(default_factory=set)  # that the log has of it
    logged: bool = False  # as what the log has it
    raised_at: float | None = None  # said last
    changes: int = 0  # that the log does not have
    rounds: int = 0  # in a row that show it


class Board:
    """The conditions of one validator. All methods are for the event loop's thread; none raises but for a wrong name.

    A condition of rounds is active after `ROUNDS` rounds in a row. `tell` is called with the name of each condition and
    whether it is active: at once, and at every change.
    """

    def __init__(self, clock: Clock, tell: Callable[[str, bool], None] | None = None) -> None:
        self._clock = clock
        self._tell = tell
        self._states = {name: _State() for name in CONDITIONS}
        for name in CONDITIONS:
            if tell is not None:
                tell(name, False)  # so that metrics show it from the start

    def raise_(self, name: str, detail: str = "", of: str = "", cause: str = "") -> None:
        """Raise the condition; see `Reports`. The detail is escaped here."""
        state = self._states[name]
        state.causes[of] = cause
        state.detail = printable(detail, _DETAIL)
        if state.since is None:
            state.since = self._clock.monotonic()
            self._changed(name, state)
        else:
            self._say(name, state)

    def clear(self, name: str, of: str = "") -> None:
        """Clear the condition; for this part only, where several report."""
        state = self._states[name]
        state.causes.pop(of, None)
        if state.since is not None and not state.causes:
            state.since = None
            self._changed(name, state)

    def mark(self, name: str, detail: str | None, of: str = "", cause: str = "") -> None:
        """Raise the condition, or clear it if the detail is None; see `Reports`."""
        if detail is None:
            self.clear(name, of)
        else:
            self.raise_(name, detail, of, cause)

    def is_active(self, name: str) -> bool:
        """Return whether the condition is active."""
        return self._states[name].since is not None

    def record_round(self, facts: RoundFacts) -> None:
        """Raise or clear the conditions of a round that ended."""
        for name, condition in CONDITIONS.items():
            if condition.in_round is None:
                continue
            state, detail = self._states[name], condition.in_round(facts)
            if detail is None:
                state.rounds = 0
                self.clear(name)
                continue
            state.rounds += 1
            if state.rounds >= ROUNDS:
                self.raise_(name, detail)

    def tick(self) -> None:
        """Log changes that have waited long enough; to be called every few seconds."""
        for name, state in self._states.items():
            self._say(name, state)

    def active(self) -> tuple[ActiveCondition, ...]:
        """Return the active conditions, the worst first."""
        now = self._clock.monotonic()
        conditions = [
            ActiveCondition(CONDITIONS[name], state.detail, now - state.since)
            for name, state in self._states.items()
            if state.since is not None
        ]
        return tuple(sorted(conditions, key=lambda each: _WORST_FIRST.index(each.condition.severity)))

    def _changed(self, name: str, state: _State) -> None:
        state.changes += 1
        if self._tell is not None:
            self._tell(name, state.since is not None)
        self._say(name, state)

    def _say(self, name: str, state: _State) -> None:
        """Log a change of the condition; a condition that returns soon waits, and so does a changed cause."""
        now, condition = self._clock.monotonic(), CONDITIONS[name]
        active, causes = state.since is not None, set(state.causes.values())
        if active == state.logged and causes <= state.logged_causes:
            return
        if active and state.raised_at is not None and now - state.raised_at < condition.quiet_s:
            return
        changes, state.logged, state.changes, state.logged_causes = state.changes, active, 0, causes
        if active:
            state.raised_at = now
            (_log.info if condition.severity == "note" else _log.warning)(
                "condition_raised",
                condition=name,
                severity=condition.severity,
                detail=state.detail,
                advice=condition.advice,
                changes=changes,
            )
        else:
            seconds = None if state.raised_at is None else round(now - state.raised_at, 3)
            _log.info("condition_cleared", condition=name, seconds=seconds, changes=changes)


def advice_on(facts: RoundFacts) -> dict[str, str]:
    """Return one round's conditions with advice, one line each; the board waits for a second round."""
    details = ((one, one.in_round(facts)) for one in CONDITIONS.values() if one.in_round is not None)
    return {one.name: f"{one.name}: {detail}. {one.advice}" for one, detail in details if detail is not None}
