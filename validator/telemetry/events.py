"""Every event that is logged, with its meaning and its fields. docs/reference/events.md is made from this.

A test holds it against the source: an event or a field that is logged and not named here fails.
"""

from enum import StrEnum
from typing import Self

_ROUND = "round_id"
_SCORES = "mean_quality mean_consensus flags unpaid"
_LINE = f"{_ROUND} reason seconds beyond_s tasks dispatches most_open void_tasks advice {_SCORES}"


class Event(StrEnum):
    """An event's name.

    Attributes:
        meaning: one line.
        fields: what it may carry beside time and level.
        folds: the fields that tell one from another where a line that comes again is counted, not written; None for
            events of which every line counts. Such a line may carry `repeats`.
    """

    meaning: str
    fields: frozenset[str]
    folds: tuple[str, ...] | None

    def __new__(cls, name: str, meaning: str = "", fields: str = "", folds: str | None = None) -> Self:
        """Make a member from its name, meaning and space-separated fields."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning = meaning
        member.folds = None if folds is None else tuple(folds.split())
        member.fields = frozenset(fields.split() + ([] if folds is None else ["repeats"]))
        return member

    # The process
    DAEMON_STARTED = "daemon_started", "All parts run.", "version scoring_version hotkey settings python"
    DAEMON_STOPPING = "daemon_stopping", "Asked to stop: the round in hand may finish within the grace time.", "grace_s"
    DAEMON_DRAINING = (
        "daemon_draining",
        "Asked to drain: the round in hand finishes, however long it takes, no other begins.",
    )
    DAEMON_STOPPED = "daemon_stopped", "Everything is closed.", "finished seconds"
    DAEMON_FAILED = (
        "daemon_failed",
        "The validator ends because it cannot go on; `exit_code` is what its process ends with.",
        "reason exit_code exception",
    )
    DAEMON_CUT_OFF = (
        "daemon_cut_off",
        "The time to stop is over: the process ends where it stands, and the next start takes up what was open.",
        "requests",
    )
    PRECONDITION = (
        "precondition",
        "What the chain asks of this validator's weights, a line for each at the start; a reason: none can be sent.",
        "name reason detail",
    )
    STORE_CHAIN_ADOPTED = (
        "store_chain_adopted",
        "The store belongs to this chain and this subnet from now on; a start on another one is refused.",
        "genesis netuid",
    )
    STORE_LOST = (
        "store_lost",
        "The store must not be used any more: the validator stops, nothing is written.",
        "reason detail",
    )
    CONDITION_RAISED = (
        "condition_raised",
        "Something keeps the validator from its work: said when it appears, with what was seen and what to do.",
        "condition severity detail advice changes",
    )
    CONDITION_CLEARED = (
        "condition_cleared",
        "A condition is over; `changes` counts how often it went and came since the last line.",
        "condition seconds changes",
    )
    STALLED = (
        "stalled",
        "The validator stood still for so long; what miners lost by it does not count against them (D-26).",
        "seconds",
    )
    LOOP_LAG = "loop_lag", "The event loop was blocked for longer than it should be.", "seconds"

    # Servers
    ACCEPT_FAILED = (
        "accept_failed",
        "A server cannot take a connection, mostly for want of a file descriptor; tried again every second, said once.",
        "server reason repeats",
    )
    REQUEST_MALFORMED = (
        "request_malformed",
        "What reached a server's port was no HTTP request; said once an hour, `repeats` counts the others.",
        "server peer reason repeats",
    )
    REQUEST_FAILED = (
        "request_failed",
        "An error of the validator while it answered a request; said once per change.",
        "server reason repeats exception",
    )

    # Rounds
    ROUND_STARTED = (
        "round_started",
        "A round's input is frozen and stored; its dispatches go out.",
        f"{_ROUND} block epoch tasks dispatches",
    )
    DISPATCH = (
        "dispatch",
        "What one dispatch came to: the canonical line of a (round, task, miner).",
        f"{_ROUND} task_id skill_type hotkey role reason gate seconds http_status detail",
        "hotkey reason",
    )
    WORKFLOW_RAN = (
        "workflow_ran",
        "A miner's plan was run on the step services; the quality is absent while it is deferred.",
        f"{_ROUND} task_id hotkey run_id reason quality steps completed cost_tao seconds timeouts hard_failures",
        "hotkey reason",
    )
    DISPATCH_VOIDED = (
        "dispatch_voided",
        "A dispatch that was charged to its miner is void after all: the validator stood still before its deadline.",
        f"{_ROUND} task_id hotkey reason detail",
        "reason",
    )
    DISPATCH_FAILED = (
        "dispatch_failed",
        "An error of the validator: the dispatch is void.",
        f"{_ROUND} task_id hotkey exception",
        "exception",
    )
    JUDGING_BUDGET = (
        "judging_budget",
        "What judging one answer may cost from now on: CPU seconds, measured in a worker, and bytes of memory.",
        "cpu_s memory",
    )
    WORKER_ENDED = (
        "worker_ended",
        "A worker died, or ran out of what one answer may cost; the call is made `again` once, then given up.",
        "task_id hotkey reached detail again cpu_s memory",
        "hotkey reached",
    )
    WORKERS_UNAVAILABLE = (
        "workers_unavailable",
        "No worker process can be started; answers wait until one can.",
        "reason",
    )
    ROUND_SETTLED = (
        "round_settled",
        "A round is scored and stored: its canonical line.",
        _LINE,
    )
    ROUND_ENDED = (
        "round_ended",
        "A round ended without scores: skipped or void, the reason says which.",
        _LINE,
    )
    ROUND_RESUMED = (
        "round_resumed",
        "A round that a crash left open was settled from what was stored.",
        f"{_ROUND} settled void_tasks tasks",
    )
    ROUND_ABANDONED = "round_abandoned", "A round that a crash left open could not be settled.", f"{_ROUND} reason"
    ROUND_FAILED = (
        "round_failed",
        "An error of the validator ended a round; said once per change.",
        "reason repeats exception",
    )

    # Reruns
    RERUN_ENDED = (
        "rerun_ended",
        "What one rerun came to, the canonical line of an answer that was run again: an event, or inconclusive.",
        f"rerun_id {_ROUND} task_id skill_type hotkey outcome reason detail attempts seconds",
    )
    RERUN_POSTPONED = (
        "rerun_postponed",
        "A try told nothing of the miner: it is made again after so many seconds.",
        f"rerun_id {_ROUND} task_id skill_type hotkey reason detail attempts seconds",
    )
    RERUNS_FAILED = (
        "reruns_failed",
        "An error of the validator in a rerun, which is tried again; said once per change.",
        "reason repeats exception",
    )
    WORK_HANDED_BACK = (
        "work_handed_back",
        "A worker had to stop in the middle of a try: it is as if the try had not begun.",
        f"rerun_id {_ROUND} task_id skill_type hotkey attempts",
    )
    QUEUE_FAILED = (
        "queue_failed",
        "An error of the validator over the jobs of waiting work; said once per change.",
        "reason repeats exception",
    )
    WORKER_STARTED = (
        "worker_started",
        "A worker process takes jobs from now on.",
        "version name queues concurrency",
    )
    WORKER_ALIVE = (
        "worker_alive",
        "What a worker process does and has done so far; every minute.",
        "name queues ready running done",
    )
    WORKER_STOPPED = "worker_stopped", "A worker process ends.", "name done seconds"

    # Code of plans
    CODE_CHECKED = (
        "code_checked",
        "What judging one plan's code came to, its canonical line: judged, or inconclusive.",
        f"check_id {_ROUND} task_id skill_type hotkey outcome reason detail attempts seconds",
    )
    CODE_POSTPONED = (
        "code_postponed",
        "A try told nothing of the code: it is made again after so many seconds.",
        f"check_id {_ROUND} task_id skill_type hotkey reason detail attempts seconds",
    )
    CODE_FAILED = (
        "code_failed",
        "An error of the validator in judging code, which is tried again; said once per change.",
        "reason repeats exception",
    )

    # Tasks and miners
    TASK_REFUSED = "task_refused", "A task is not used.", "task bundle_sha256 reason"
    TASK_SOURCE_FAILED = (
        "task_source_failed",
        "A task source gave nothing.",
        "source skill_type reason",
        "source reason",
    )
    CAPABILITIES_REFRESHED = (
        "capabilities_refreshed",
        "The miners were asked what they can do.",
        "asked valid refused reasons seconds",
    )
    FLAG_RAISED = (
        "flag_raised",
        "A miner agrees with its fellow primaries far more than with auditors.",
        f"{_ROUND} hotkey skill_type mean_with_primaries mean_with_auditors samples flags",
    )
    MINER_STARTED = ("miner_started", "A reference miner listens.", "hotkey host port behaviour")
    MINER_ANNOUNCED = ("miner_announced", "A reference miner's address stands on chain.", "netuid uid ip port")
    LOCAL_RUN_FAILED = "local_run_failed", "A miner of the local network could not run a bundle.", "detail"
    RETENTION_POSTPONED = "retention_postponed", "The store was busy; retention tries again in an hour.", "reason"
    RETENTION_PRUNED = "retention_pruned", "Raw answers and bundles past their time were removed.", "answers bundles"

    # Chain and weights
    CHAIN_UNREACHABLE = "chain_unreachable", "The chain does not answer; said once until it does.", "reason"
    CHAIN_OLD_RUNTIME = (
        "chain_old_runtime",
        "The chain's runtime lacks something newer, which is done without; said once for each.",
        "netuid missing",
    )
    CHAIN_BACK = "chain_back", "The chain answers again.", "block seconds"
    STANDING_LOST = (
        "standing_lost",
        "This hotkey has no slot or no permit any more; said once per change, with what rounds do meanwhile.",
        "block reason rounds",
    )
    STANDING_BACK = ("standing_back", "This hotkey has its slot and its permit again.", "block")
    WEIGHTS_SUBMITTED = (
        "weights_submitted",
        "What one submission came to: the canonical line of an epoch.",
        (
            "netuid mechid epoch attempt block extrinsic reason message seconds scoring_version"
            " weights uids scores unpaid unallocated owner"
        ),
    )
    WEIGHTS_BLOCKED = (
        "weights_blocked",
        "Weights cannot be sent now; said once per change of the reason.",
        "netuid mechid epoch block reason detail",
    )
    WEIGHTS_UNBLOCKED = (
        "weights_unblocked",
        "The chain or the store answers the weights loop again.",
        "netuid mechid block seconds",
    )
    WEIGHTS_FOUND = (
        "weights_found",
        "The chain shows that a submission of unknown fate had arrived.",
        "netuid mechid epoch block",
    )
    WEIGHTS_PLANNED = (
        "weights_planned",
        "A dry run: what would have been sent now.",
        "netuid mechid epoch block reason scoring_version weights uids scores unpaid unallocated owner",
    )
    WEIGHTS_EXPIRED = (
        "weights_expired",
        "A submission of unknown fate can no longer arrive; the epoch may be served again.",
        "netuid mechid epoch attempt block",
    )
    WEIGHTS_MARKED = (
        "weights_marked",
        "The chain's last update of this hotkey is taken for known: the first look, or a new registration.",
        "netuid mechid block uid detail",
    )
    WEIGHTS_MODE = (
        "weights_mode",
        "The subnet now has weights committed first and revealed later, or set in the open again.",
        "netuid mechid block commit_reveal",
    )
    WEIGHTS_FAILED = "weights_failed", "An error of the validator; said once per change.", "reason repeats exception"
