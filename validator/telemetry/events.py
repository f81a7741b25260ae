"""Every event that is logged. docs/reference/events.md is made from the catalogue, a file per subject.

A test holds both against the source: an event or a field that is logged and not named here fails.
"""

from enum import StrEnum, auto
from typing import Final

from validator.telemetry.catalogue import SUBJECTS

_ENTRIES: Final = {name: entry for subject in SUBJECTS.values() for name, entry in subject.items()}


class Event(StrEnum):
    """An event's name; its entry in the catalogue says the rest.

    Attributes:
        meaning: one line.
        fields: what it may carry beside time and level.
        folds: the fields that tell one from another where a line that comes again is counted, not written; None for
            events of which every line counts. Such a line may carry `repeats`.
        todo: what an operator does about it; empty: nothing.
    """

    meaning: str
    fields: frozenset[str]
    folds: tuple[str, ...] | None
    todo: str

    def __init__(self, name: str) -> None:
        """Take the rest from the catalogue."""
        entry = _ENTRIES[name]
        self.meaning, self.todo = entry.meaning, entry.todo
        self.folds = None if entry.folds is None else tuple(entry.folds.split())
        self.fields = frozenset(entry.fields.split() + ([] if entry.folds is None else ["repeats"]))

    # The process
    DAEMON_STARTED = auto()
    DAEMON_STOPPING = auto()
    DAEMON_DRAINING = auto()
    DAEMON_STOPPED = auto()
    DAEMON_FAILED = auto()
    DAEMON_PARKED = auto()
    DAEMON_CUT_OFF = auto()
    PRECONDITION = auto()
    STORE_CHAIN_ADOPTED = auto()
    STORE_LOST = auto()
    CONDITION_RAISED = auto()
    CONDITION_CLEARED = auto()
    STALLED = auto()
    LOOP_LAG = auto()

    # Servers
    ACCEPT_FAILED = auto()
    REQUEST_MALFORMED = auto()
    REQUEST_FAILED = auto()

    # Rounds
    ROUND_STARTED = auto()
    DISPATCH = auto()
    WORKFLOW_RAN = auto()
    DISPATCH_VOIDED = auto()
    DISPATCH_FAILED = auto()
    JUDGING_BUDGET = auto()
    WORKER_ENDED = auto()
    WORKERS_UNAVAILABLE = auto()
    ROUND_SETTLED = auto()
    ROUND_ENDED = auto()
    ROUND_RESUMED = auto()
    ROUND_ABANDONED = auto()
    ROUND_FAILED = auto()

    # Waiting work
    WORK_ENDED = auto()
    WORK_POSTPONED = auto()
    WORK_HANDED_BACK = auto()
    WORK_FAILED = auto()
    SANDBOX_LEFT = auto()
    QUEUE_FAILED = auto()
    WORKER_STARTED = auto()
    WORKER_ALIVE = auto()
    WORKER_STOPPED = auto()

    # Tasks and miners
    TASK_REFUSED = auto()
    CANARY_FAILED = auto()
    CANARY_BUILT_IN = auto()
    TASKS_RETIRED = auto()
    TASK_SOURCE_FAILED = auto()
    CAPABILITIES_REFRESHED = auto()
    FLAG_RAISED = auto()
    MINER_STARTED = auto()
    MINER_ANNOUNCED = auto()
    LOCAL_RUN_FAILED = auto()
    RETENTION_POSTPONED = auto()
    RETENTION_PRUNED = auto()

    # Chain and weights
    CHAIN_UNREACHABLE = auto()
    CHAIN_OLD_RUNTIME = auto()
    CHAIN_BACK = auto()
    STANDING_LOST = auto()
    STANDING_BACK = auto()
    WEIGHTS_SUBMITTED = auto()
    WEIGHTS_BLOCKED = auto()
    WEIGHTS_UNBLOCKED = auto()
    WEIGHTS_FOUND = auto()
    WEIGHTS_PLANNED = auto()
    WEIGHTS_EXPIRED = auto()
    WEIGHTS_MARKED = auto()
    WEIGHTS_MODE = auto()
    LOG_ANCHORED = auto()
    LOG_ANCHOR_BLOCKED = auto()
    LOG_ANCHOR_REPLACED = auto()
    WEIGHTS_FAILED = auto()
