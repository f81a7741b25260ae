"""Whether a running validator does its work: a value that its services update and the health endpoint reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from validator.conditions import Board, Standing
from validator.protocol.reasons import Reason
from validator.protocol.times import format_time
from validator.scoring import VERSIONS
from validator.sources import Clock

# The last deadline of the standard profile: until then a round in hand has every right to be silent (SPEC 1).
LONGEST_DEADLINE_S: Final = max(
    rules.windows.of("primary").deadline for known in VERSIONS.values() for rules in known.rules.types.values()
)
# For all of a round that is not waiting for miners: declarations, fetching tasks, gates, settling.
SLACK_S: Final = 300.0
# A loop that runs nothing for so long starves the deadlines of dispatches.
LOOP_LIMIT_S: Final = 10.0
CHAIN_LIMIT_S: Final = 600.0


class QueueSeen(NamedTuple):
    """How a queue of waiting work stands.

    Attributes:
        states: how many there are in each state.
        oldest: when the oldest that is pending or running was queued; None without any.
        at_once: how many tries this process makes at a time; 0: none.
    """

    states: Mapping[str, int]
    oldest: datetime | None
    at_once: int


@dataclass(frozen=True, slots=True)
class HealthReport:
    """What /healthz says.

    Attributes:
        status: `ok`, `degraded` (somebody should look), `stopping` (asked to stop) or `unhealthy`; the last of these
            that applies.
        conditions: what stands, the worst first; notes change no status.
        checks: name to facts; `ok` is true or false where the check decides, null where it only informs.
        started_at: when the validator started.
        version: of the program.
    """

    status: str
    conditions: tuple[Standing, ...]
    checks: dict[str, dict[str, Any]]
    started_at: datetime
    version: str

    @property
    def healthy(self) -> bool:
        """Whether it can do its work."""
        return self.status != "unhealthy"

    def document(self) -> dict[str, Any]:
        """Return the report as plain JSON data."""
        return {
            "status": self.status,
            "started_at": format_time(self.started_at),
            "version": self.version,
            "conditions": [
                {
                    "name": each.condition.name,
                    "severity": each.condition.severity,
                    "seconds": round(each.seconds, 3),
                    "detail": each.detail,
                    "meaning": each.condition.meaning,
                    "advice": each.condition.advice,
                }
                for each in self.conditions
            ],
            "checks": self.checks,
        }


@dataclass(slots=True)
class HealthState:
    """What the services did last. All methods are for the event loop's thread.

    Without word of rounds that start, silence may last a pause, the longest deadline and some slack; with it, a pause
    and the slack between rounds, and the round's own longest deadline and the slack while one is in hand.

    Args:
        clock: what is measured with.
        interval_s: pause between the starts of two rounds.
        version: of the program.
        board: the conditions.
        deadline_s: longest deadline where a round does not tell its own.
        slack_s: for everything else in a round.
    """

    clock: Clock
    interval_s: float
    version: str
    board: Board
    deadline_s: float = LONGEST_DEADLINE_S
    slack_s: float = SLACK_S
    started_at: datetime = field(init=False)
    stopping: bool = field(init=False, default=False)
    block: int | None = field(init=False, default=None)
    chain_problem: str | None = field(init=False, default=None)
    missing: Reason | None = field(init=False, default=None)
    paused: bool = field(init=False, default=False)
    queues: dict[str, QueueSeen] = field(init=False, default_factory=dict)
    _active: float = field(init=False)
    _beaten: float = field(init=False)
    _block_seen: float = field(init=False, default=0.0)
    _chain_lost: float = field(init=False, default=0.0)
    _in_hand: tuple[str, float] | None = field(init=False, default=None)
    _ended: tuple[str, datetime] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.started_at = self.clock.now()
        self._active = self._beaten = self.clock.monotonic()

    def round_started(self, round_id: str, deadline_s: float | None = None) -> None:
        """Note a round in hand; `deadline_s` is its longest deadline (tasks may carry their own windows)."""
        self._active = self.clock.monotonic()
        self._in_hand = (round_id, max(self.deadline_s, deadline_s or 0.0))

    def round_ended(self, round_id: str) -> None:
        """Note that a round ended, however it did."""
        self._active = self.clock.monotonic()
        self._in_hand = None
        self._ended = (round_id, self.clock.now())

    def waits(self) -> None:
        """Note that rounds wait for something on this machine, which a condition of its own names."""
        self._active = self.clock.monotonic()

    def saw_block(self, number: int) -> None:
        """Note the newest block."""
        self.block = number
        self.chain_problem = None
        self._block_seen = self.clock.monotonic()

    def lost_chain(self, problem: str) -> None:
        """Note why no block can be seen; until one is."""
        if self.chain_problem is None:
            self._chain_lost = self.clock.monotonic()
        self.chain_problem = problem

    def saw_standing(self, missing: Reason | None, paused: bool) -> None:
        """Note what the hotkey lacks on the subnet, and whether rounds wait for it: then their silence is meant."""
        self.missing, self.paused = missing, paused
        if paused:
            self._active = self.clock.monotonic()

    def saw_queue(self, name: str, seen: QueueSeen) -> None:
        """Note how a queue of waiting work stands."""
        self.queues[name] = seen

    def beat(self) -> None:
        """Note that the event loop runs."""
        self._beaten = self.clock.monotonic()

    def report(self) -> HealthReport:
        """Return how things stand now."""
        checks = self.look()
        conditions = self.board.standing()
        found = {each.condition.severity for each in conditions}
        worst = "unhealthy" if "unhealthy" in found else "degraded" if "degraded" in found else "ok"
        status = "stopping" if self.stopping and worst != "unhealthy" else worst
        return HealthReport(status, conditions, checks, self.started_at, self.version)

    def look(self) -> dict[str, dict[str, Any]]:
        """Return the checks, and raise or clear the conditions that follow from them."""
        checks = {
            "rounds": self._rounds(),
            "loop": self._loop(),
            "store": self._store(),
            "chain": self._chain(),
            "standing": self._standing(),
            **{name: self._queue(seen) for name, seen in self.queues.items()},
        }
        for name, failed, detail in (
            ("rounds_silent", checks["rounds"]["ok"] is False, f"silent for {checks['rounds']['silent_s']:.0f} s"),
            ("loop_stuck", checks["loop"]["ok"] is False, f"for {checks['loop']['silent_s']:.0f} s"),
            ("chain_away", self._chain_lost_s() > CHAIN_LIMIT_S, self.chain_problem or ""),
        ):
            (self.board.raise_(name, detail) if failed else self.board.clear(name))
        self.board.tick()
        return checks

    def _rounds(self) -> dict[str, Any]:
        silent = self.clock.monotonic() - self._active
        limit = self._in_hand[1] + self.slack_s if self._in_hand else self.interval_s + self.deadline_s + self.slack_s
        return {
            "ok": silent <= limit,
            "silent_s": round(silent, 3),
            "limit_s": limit,
            "in_hand": self._in_hand[0] if self._in_hand else None,
            "last_ended": self._ended[0] if self._ended else None,
            "last_ended_at": format_time(self._ended[1]) if self._ended else None,
        }

    def _loop(self) -> dict[str, Any]:
        silent = self.clock.monotonic() - self._beaten
        return {"ok": silent <= LOOP_LIMIT_S, "silent_s": round(silent, 3), "limit_s": LOOP_LIMIT_S}

    def _store(self) -> dict[str, Any]:
        return {"ok": not (self.board.stands("store_away") or self.board.stands("store_no_write"))}

    def _chain(self) -> dict[str, Any]:
        age = None if self.block is None else round(self.clock.monotonic() - self._block_seen, 3)
        return {"ok": None, "block": self.block, "age_s": age, "problem": self.chain_problem}

    def _chain_lost_s(self) -> float:
        return 0.0 if self.chain_problem is None else self.clock.monotonic() - self._chain_lost

    def _queue(self, seen: QueueSeen) -> dict[str, Any]:
        oldest = None if seen.oldest is None else round((self.clock.now() - seen.oldest).total_seconds(), 3)
        return {"ok": None, **seen.states, "oldest_s": oldest, "at_once": seen.at_once}

    def _standing(self) -> dict[str, Any]:
        return {"ok": None, "missing": None if self.missing is None else str(self.missing), "paused": self.paused}
