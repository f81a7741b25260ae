"""Health report of a running validator, `/readyz`: services update a state, the report is a view of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from sssa.protocol.reasons import Reason
from sssa.protocol.times import format_time
from sssa.scoring import VERSIONS
from sssa.sources import Clock
from validator.chain.interface import SLOW_S
from validator.health.board import ActiveCondition, Board
from validator.health.catalogue import CHECKS, Condition
from validator.store.rows import LogHead

# The last deadline of the standard profile: until then a round in hand has every right to be silent (SPEC 1).
LONGEST_DEADLINE_S: Final = max(
    rules.windows.of("primary").deadline for known in VERSIONS.values() for rules in known.rules.types.values()
)
# For all of a round that is not waiting for miners: declarations, fetching tasks, gates, settling.
SLACK_S: Final = 300.0
# A loop that runs nothing for so long starves the deadlines of dispatches.
LOOP_LIMIT_S: Final = 10.0
# Between two heads that were read: a pause, and one call that ended without an answer.
CHAIN_LIMIT_S: Final = 45.0
# 25 blocks: no healthy chain leaves so many out.
STALE_S: Final = 300.0

_WRONG: Final = ("subnet_gone", "other_chain", "chain_behind")  # a chain that answers, and is not what it should be
_STUCK: Final = ("loop_stuck", "rounds_silent")


def checked(seen: Mapping[str, Mapping[str, Any]], board: Board) -> dict[str, dict[str, Any]]:
    """Return the report's rows by check: `ok`, the sentence, the advice if the check fails, and its fields."""
    active = [each.condition for each in board.active()]  # the worst first
    return {name: _row(name, seen.get(name), active) for name in CHECKS}


def _row(name: str, seen: Mapping[str, Any] | None, active: Sequence[Condition]) -> dict[str, Any]:
    check, worst = CHECKS[name], next((one for one in active if one.check == name), None)
    known = check.known or (seen is not None and worst is None)
    return {
        "ok": False if worst is not None and worst.severity != "note" else True if known else None,
        "holds": check.holds,
        **({} if worst is None else {"condition": worst.name, "advice": worst.advice}),
        **(seen or {}),
    }


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Report of `/readyz`.

    Attributes:
        status: `ok`, `degraded` (somebody should look), `stopping` (asked to stop) or `unhealthy`; the last of these
            that applies.
        conditions: the active ones, the worst first; notes change no status.
        checks: by name, as `CHECKS` declares them; `ok` is null while nothing is known yet.
        log: the newest receipt, as last read: exports made later must reach it. None before it was read.
    """

    status: str
    conditions: tuple[ActiveCondition, ...]
    checks: dict[str, dict[str, Any]]
    started_at: datetime
    version: str
    log: LogHead | None = None

    @property
    def healthy(self) -> bool:
        """It can do its work."""
        return self.status != "unhealthy"

    @property
    def ready(self) -> bool:
        """No stop was requested, and no check fails except those that others can make fail."""
        failing = {name for name, row in self.checks.items() if row["ok"] is False}
        return self.status != "stopping" and all(CHECKS[name].theirs for name in failing)

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
            "log": None if self.log is None else asdict(self.log),
        }


@dataclass(slots=True)
class HealthState:
    """State of a running validator, kept by its services. All methods are for the event loop's thread.

    Without word of rounds that start, silence may last a pause, the longest deadline and some slack; with it, a pause
    and the slack between rounds, and the round's own longest deadline and the slack while one is in hand.
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
    epoch: int | None = field(init=False, default=None)
    chain_problem: str | None = field(init=False, default=None)
    log: LogHead | None = field(init=False, default=None)
    _active: float = field(init=False)
    _beaten: float = field(init=False)
    _block_seen: float = field(init=False, default=0.0)
    _head_at: float | None = field(init=False, default=None)
    _latencies: tuple[float, ...] = field(init=False, default=())
    _seen: dict[str, dict[str, Any]] = field(init=False, default_factory=dict)
    _in_hand: tuple[str, float, float] | None = field(init=False, default=None)
    _ended: tuple[str, datetime, Mapping[str, str]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.started_at = self.clock.now()
        self._active = self._beaten = self.clock.monotonic()

    def round_started(self, round_id: str, deadline_s: float | None = None) -> None:
        """Record the current round; `deadline_s` is its longest deadline (tasks may carry their own windows)."""
        self._active = self.clock.monotonic()
        self._in_hand = (round_id, max(self.deadline_s, deadline_s or 0.0), self._active)

    def round_ended(self, round_id: str, advice: Mapping[str, str] | None = None) -> None:
        """Record the end of a round, with or without an error, and its conditions, one line each."""
        self._active = self.clock.monotonic()
        self._in_hand = None
        self._ended = (round_id, self.clock.now(), advice or {})

    def waits(self) -> None:
        """Record that rounds wait for something on this machine, which another condition names."""
        self._active = self.clock.monotonic()

    def record(self, check: str, **facts: Any) -> None:
        """Record the fields that a check of `CHECKS` shows next to its verdict."""
        self._seen[check] = facts

    def record_block(self, number: int, epoch: int | None = None, latency_s: float | None = None) -> None:
        """Record the newest block, its epoch, and the duration of the chain's answer."""
        self.epoch = epoch if epoch is not None else self.epoch
        self._head_at = self.clock.monotonic()
        if number != self.block:
            self._block_seen = self._head_at
        self.block = number
        self.chain_problem = None
        self._latencies = (*self._latencies[-1:], latency_s or 0.0)

    def lost_chain(self, problem: str) -> None:
        """Record why no block can be read, until one is."""
        if self._head_at is None:
            self._head_at = self.clock.monotonic()
        self.chain_problem = problem

    def record_standing(self, missing: Reason | None, paused: bool) -> None:
        """Record what the hotkey lacks on the subnet, and whether rounds wait for it, so that none is expected."""
        self._seen["standing"] = {"missing": None if missing is None else str(missing), "paused": paused}
        if missing is None:
            self.board.clear("no_standing")
        else:
            self.board.raise_("no_standing", str(missing))
        if paused:
            self._active = self.clock.monotonic()

    def beat(self) -> None:
        """Record that the event loop runs."""
        self._beaten = self.clock.monotonic()

    @property
    def in_hand_s(self) -> float | None:
        """Age of the current round, seconds; None without one."""
        return None if self._in_hand is None else self.clock.monotonic() - self._in_hand[2]

    @property
    def block_age_s(self) -> float | None:
        """Age of the newest block, seconds since it was first read; None before the first."""
        return None if self.block is None else self.clock.monotonic() - self._block_seen

    def report(self) -> HealthReport:
        """Return the current report."""
        checks = self.look()
        conditions = self.board.active()
        severities = {each.condition.severity for each in conditions}
        worst = "unhealthy" if "unhealthy" in severities else "degraded" if "degraded" in severities else "ok"
        status = "stopping" if self.stopping and worst != "unhealthy" else worst
        return HealthReport(status, conditions, checks, self.started_at, self.version, self.log)

    def stuck(self) -> ActiveCondition | None:
        """Return what only a restart ends: an event loop or rounds that stopped; None while they continue."""
        self.look()
        return next((each for each in self.board.active() if each.condition.name in _STUCK), None)

    def look(self) -> dict[str, dict[str, Any]]:
        """Return the checks, and raise or clear the conditions that follow from them."""
        rounds, loop = self._rounds(), self._loop()
        head_s, age_s, call_s = self._head_s() or 0.0, self.block_age_s or 0.0, min(self._latencies, default=0.0)
        used = self._seen.get("endpoints", {}).get("used")
        away = head_s > CHAIN_LIMIT_S and not any(self.board.is_active(name) for name in _WRONG)
        for name, failed, detail in (
            ("rounds_silent", rounds["silent_s"] > rounds["limit_s"], f"silent for {rounds['silent_s']:.0f} s"),
            ("loop_stuck", loop["silent_s"] > loop["limit_s"], f"for {loop['silent_s']:.0f} s"),
            ("chain_away", away, f"for {head_s:.0f} s: {self.chain_problem or 'no answer yet'}"),
            ("chain_slow", call_s > SLOW_S, f"slow: {call_s:.1f} s a call{f' at {used}' if used else ''}"),
            (
                "chain_stale",
                self.chain_problem is None and age_s > STALE_S,
                f"block {self.block} for {age_s:.0f} s",
            ),
        ):
            self.board.mark(name, detail if failed else None)
        self.board.tick()
        return checked(self._seen | {"rounds": rounds, "loop": loop} | self._chain(), self.board)

    def _rounds(self) -> dict[str, Any]:
        silent = self.clock.monotonic() - self._active
        limit = self._in_hand[1] + self.slack_s if self._in_hand else self.interval_s + self.deadline_s + self.slack_s
        return {
            "silent_s": round(silent, 3),
            "limit_s": limit,
            "in_hand": self._in_hand[0] if self._in_hand else None,
            "last_ended": self._ended[0] if self._ended else None,
            "last_ended_at": format_time(self._ended[1]) if self._ended else None,
            "last_advice": dict(self._ended[2]) if self._ended else {},
        }

    def _loop(self) -> dict[str, Any]:
        silent = self.clock.monotonic() - self._beaten
        return {"silent_s": round(silent, 3), "limit_s": LOOP_LIMIT_S}

    def _chain(self) -> dict[str, dict[str, Any]]:
        if self._head_at is None:
            return {}
        facts = {"age_s": self.block_age_s, "read_s": self._head_s()}
        shown = {name: None if value is None else round(value, 3) for name, value in facts.items()}
        chain = {"chain": {"block": self.block, **shown, "problem": self.chain_problem}}
        return chain | ({"latency": {"call_s": round(self._latencies[-1], 3)}} if self._latencies else {})

    def _head_s(self) -> float | None:
        """Seconds since the last head was read; None before the first try."""
        return None if self._head_at is None else self.clock.monotonic() - self._head_at
