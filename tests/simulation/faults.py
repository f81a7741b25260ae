"""The faults of one history: drawn from its seed, in a list that can be shortened, counted where they act. No I/O."""

from collections import Counter
from collections.abc import Callable, Collection
from random import Random
from typing import Final, NamedTuple

from simulation.loop import Time

BRIEF: Final = 1_000_000  # seeds above it: the same faults in less time, fewer rounds

WINDOWS: Final = (  # active from `at` for `value` seconds
    "chain_away",
    "chain_lags",
    "chain_behind",
    "chain_forks",
    "other_chain",
    "source_away",
    "miners_out",
    "disk_full",
    "busy",
    "no_permit",
)
EVENTS: Final = (
    "clock_step",
    "stall",
    "uid_changes_hands",
    "subnet_shrinks",
    "retention",
    "intruder",
)  # at one moment
SUBMISSIONS: Final = (
    "unsent",
    "sent_then_broken",
    "lost_answer",
    "delayed",
    "pool_lost",
    "refused",
)  # the first one from `at`
KILLS: Final = ("before_commit", "after_commit", "before_handover", "after_handover", "any_step")
CUTS: Final = ("cancel_at_commit", "cancel_at_handover")  # cancelled in the middle of a last write
STOPS: Final = ("stop", "stop_twice", "drain", "cancel", *CUTS)
OWN: Final = ("no_resources", "no_route")  # what this machine lacks when a miner is called
ANSWERS: Final = ("late", "broken", "missing", "doubled", "refused_answer", "false_signature")
WORK: Final = ("execution_fails", "execution_hangs", "check_fails", "check_hangs", "step_fails")
ROWS: Final = ("reveal_fails", "row_altered")  # the first row from `at` that comes into force
ALWAYS: Final = ("version_switch", "two_mechanisms", "miners_over_http", "canary", "anchor", "long_windows")
AIMS: Final = ("receipts", "weight_submissions", "waiting_work", "dispatches", "rounds", "weight_marks")
"""Tables: a kill or a cancellation at a commit is for one of a transaction that wrote to it, or of any. A cancellation
at a hand-over with an aim comes when what is known of it afterwards is written."""
KINDS: Final = (*WINDOWS, *EVENTS, *SUBMISSIONS, *ROWS, *KILLS, *STOPS, *OWN, *ANSWERS, *WORK, *ALWAYS)


class Fault(NamedTuple):
    """One fault of a history.

    Attributes:
        kind: one of `KINDS`; of answers and waiting work how many in a hundred (`value`).
        at: virtual seconds from which it may act.
        value: seconds that it lasts, its size, or how many moments of its kind pass before it acts.
        aim: of what acts at a commit the table that is written; any where it is empty.
    """

    kind: str
    at: float
    value: float
    aim: str = ""


def span_of(seed: int) -> tuple[float, float]:
    """Return the seconds within which faults begin, and those that a window lasts at most; then the history is calm."""
    return (40.0, 15.0) if seed <= BRIEF else (10.0, 6.0)


def draw(seed: int) -> list[Fault]:
    """Return the faults of a seed, in the order in which they may act."""
    random, (horizon_s, longest_s) = Random(f"{seed}|faults"), span_of(seed)

    def moment() -> float:
        return round(horizon_s * random.random(), 3)

    faults = [
        Fault(random.choice(WINDOWS), moment(), 3 + (longest_s - 3) * random.random())
        for _ in range(random.randint(0, 4))
    ]
    for _ in range(random.randint(0, 3)):
        kind = random.choice(EVENTS)
        step, stall = random.choice((-300.0, -20.0, -2.0, 15.0, 200.0)), 1 + 2 * longest_s * random.random()
        size = {"clock_step": step, "stall": stall}
        faults.append(Fault(kind, moment(), size.get(kind, float(random.randint(1, 3)))))
    faults += [Fault(random.choice(SUBMISSIONS), moment(), 1.0) for _ in range(random.randint(0, 3))]
    for _ in range(random.randint(1, 3)):
        kind = random.choice((*KILLS, *KILLS, *STOPS))
        aim = random.choice(("", *AIMS)) if kind in KILLS else random.choice(("", *AIMS[:3])) if kind in CUTS else ""
        aim = aim if kind.endswith("commit") or kind == "cancel_at_handover" else ""
        most = 1_500 if kind == "any_step" else 1 if not kind.endswith("commit") else 3 if aim else 25
        faults.append(Fault(kind, moment(), float(random.randint(1, most)), aim))
    faults += [
        Fault(kind, 0.0, float(random.choice((5, 15, 40)))) for kind in (*OWN, *ANSWERS, *WORK) if random.random() < 0.4
    ]
    rows = Random(f"{seed}|rows")  # a stream of its own: what was drawn before stays
    count = rows.choice((0, 1, 2))
    faults += [Fault(rows.choice(ROWS), round(horizon_s * rows.random(), 3), 1.0) for _ in range(count)]
    return sorted(faults, key=lambda one: (one.at, one.kind, one.value))


class Faults:
    """The faults of one history while it is played.

    Args:
        faults: what is left of the list.
        time: of the history.
        span: as `span_of` returns it.

    Attributes:
        counts: how often each kind acted.
        cancel: cancels the life in hand.
        end: the fault that ends the life in hand, once its moment has come; None before.
    """

    def __init__(self, faults: Collection[Fault], time: Time, span: tuple[float, float]) -> None:
        self._time, self._horizon_s, self.calm_from = time, span[0], sum(span)
        self._windows = [one for one in faults if one.kind in WINDOWS]
        self._submissions = [one for one in faults if one.kind in SUBMISSIONS]
        self._rows = [one for one in faults if one.kind in ROWS]
        self.events = [one for one in faults if one.kind in EVENTS]
        self.ends = [one for one in faults if one.kind in (*KILLS, *STOPS)]
        self._shares = {one.kind: one.value for one in faults if one.kind in (*OWN, *ANSWERS, *WORK)}
        self.counts: Counter[str] = Counter()
        self.end: Fault | None = None
        self.cancel: Callable[[], object] = lambda: None
        self._remaining = 0

    def windows(self, kind: str) -> list[Fault]:
        """Return the windows of this kind."""
        return [one for one in self._windows if one.kind == kind]

    def window(self, kind: str) -> Fault | None:
        """Return the window of this kind that is open now."""
        now = self._time.now
        return next((one for one in self._windows if one.kind == kind and one.at <= now < one.at + one.value), None)

    def active(self, kind: str) -> bool:
        """Return whether a window of this kind is open now."""
        return self.window(kind) is not None

    def lately(self, kind: str, seconds: float) -> bool:
        """Return whether a window of this kind was open in the last seconds."""
        now = self._time.now
        return any(one.at <= now < one.at + one.value + seconds for one in self.windows(kind))

    def acts(self, kind: str) -> bool:
        """Return whether a window is open now, and count it."""
        if not self.active(kind):
            return False
        self.count(kind)
        return True

    def count(self, kind: str) -> None:
        """Count one effect."""
        self.counts[kind] += 1

    def arm(self, end: Fault) -> None:
        """Let a kill wait for its moment."""
        self.end, self._remaining = end, int(end.value)

    def disarm(self) -> None:
        """Let the life in hand continue."""
        self.end = None

    def kills(self, point: str, tables: Collection[str] = ()) -> bool:
        """Return whether the life ends at this point, where these tables have been written."""
        if self.end is None or self.end.kind != point or (self.end.aim and self.end.aim not in tables):
            return False
        self._remaining -= 1
        if self._remaining > 0:
            return False
        self.count(point)
        return True

    def submission(self) -> str | None:
        """Take the fault of the submission that is handed over now."""
        return self._taken(self._submissions) if self._time.now < self.calm_from else None

    def row(self) -> str | None:
        """Take the fault of the row that comes into force now; in the calm time, too: it ends nothing."""
        return self._taken(self._rows)

    def _taken(self, faults: list[Fault]) -> str | None:
        due = next((one for one in faults if one.at <= self._time.now), None)
        if due is None:
            return None
        faults.remove(due)
        self.count(due.kind)
        return due.kind

    def drawn(self, kinds: Collection[str], random: Random) -> str | None:
        """Draw which of the kinds happens to one answer or piece of work, None for none of them."""
        for kind in kinds:
            if self._time.now < self._horizon_s and 100 * random.random() < self._shares.get(kind, 0.0):
                self.count(kind)
                return kind
        return None
