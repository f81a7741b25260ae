"""Every event that is logged; docs/reference/events.md is made from them.

A test compares them with the source: it fails if an event or a field is logged that is not named here.
"""

from enum import StrEnum
from typing import Final, Self

_ROUND: Final = "round_id"
_SCORES: Final = "mean_quality mean_consensus flags unpaid"
_LINE: Final = f"{_ROUND} reason seconds beyond_s tasks dispatches most_open void_tasks advice {_SCORES}"
_NAMED: Final = "kind work_id round_id task_id skill_type hotkeys attempts"


def _entry(
    name: str, meaning: str, fields: str = "", folds: str | None = None, *, todo: str = ""
) -> tuple[str, str, str, str | None, str]:
    return name, meaning, fields, folds, todo


class Event(StrEnum):
    """An event's name, with its line of the reference.

    An entry has `fields` and `folds` separated by spaces, and `todo` as a line of Markdown with links as from
    docs/reference. The comments are the headings of the reference.

    Attributes:
        fields: what it may carry in addition to time and level.
        folds: the fields that tell one from another where a line that comes again is counted, not written; None for
            events of which every line counts. Such a line may carry `repeats`.
        todo: what an operator does about it; empty: nothing.
    """

    meaning: str
    fields: frozenset[str]
    folds: tuple[str, ...] | None
    todo: str

    def __new__(cls, name: str, meaning: str, fields: str, folds: str | None, todo: str) -> Self:
        """Make a member of its entry."""
        event = str.__new__(cls, name)
        event._value_ = name
        event.meaning, event.todo = meaning, todo
        event.folds = None if folds is None else tuple(folds.split())
        event.fields = frozenset(fields.split() + ([] if folds is None else ["repeats"]))
        return event

    # The process
    DAEMON_STARTED = _entry("daemon_started", "All parts run.", "version scoring_version hotkey settings python")
    DAEMON_STOPPING = _entry(
        "daemon_stopping", "Asked to stop: the round in hand may finish within the grace time.", "grace_s"
    )
    DAEMON_DRAINING = _entry(
        "daemon_draining", "Asked to drain: the round in hand finishes, however long it takes, no other begins."
    )
    DAEMON_STOPPED = _entry("daemon_stopped", "Everything is closed.", "finished seconds")
    DAEMON_FAILED = _entry(
        "daemon_failed",
        "The validator ends because it cannot continue; `exit_code` is what its process ends with.",
        "reason exit_code exception",
        todo="Look up `exit_code` in [exit codes](conditions.md#exit-codes); with `exception`: report it.",
    )
    DAEMON_PARKED = _entry(
        "daemon_parked",
        "In a container: the program ended and a restart would end the same way, so it waits; logged once an hour.",
        "exit_code reason advice",
        todo="What `advice` says: [the container waits](../operators/stop.md#when-the-container-waits-for-you).",
    )
    DAEMON_CUT_OFF = _entry(
        "daemon_cut_off",
        "The time to stop is over: the process ends at once, and the next start resumes what was open.",
        "requests",
        todo="Nothing. Regularly: make the stop time-out ten seconds longer than `rounds.grace_s`.",
    )
    PRECONDITION = _entry(
        "precondition",
        "What the chain asks of this validator's weights, a line for each at the start; a reason: none can be sent.",
        "name reason detail",
        todo="With a `reason`: see [weights](../operators/weights.md#when-weights-are-sent); without one nothing.",
    )
    STORE_CHAIN_ADOPTED = _entry(
        "store_chain_adopted",
        "The store belongs to this chain and this subnet from now on; a start on another one is refused.",
        "genesis netuid",
    )
    STORE_LOST = _entry(
        "store_lost",
        "The store must not be used any more: the validator stops, nothing is written.",
        "reason detail",
        todo="`local_store_taken`: find the second validator. Else put a moved file back, or restore a backup.",
    )
    CONDITION_RAISED = _entry(
        "condition_raised",
        "Something keeps the validator from its work, or pay from miners: logged when it appears or has another cause, "
        "with what was seen and what to do.",
        "condition severity detail advice changes",
        todo="What `advice` in the line says.",
    )
    CONDITION_CLEARED = _entry(
        "condition_cleared",
        "A condition is over; `changes` counts how often it went and came since the last line.",
        "condition seconds changes",
    )
    STALLED = _entry(
        "stalled",
        "The process stood still for so long; deadlines are later by as much (D-26).",
        "seconds",
        todo="Look at the machine's load, its memory and swap, and the host of a virtual machine.",
    )
    LOOP_LAG = _entry(
        "loop_lag",
        "The event loop was blocked for longer than it should be; logged once an hour, `repeats` counts the others.",
        "seconds",
        "",
        todo="Look for what else uses processor and disk; steal time on a virtual machine.",
    )
    LIBRARY = _entry(
        "library",
        "A message of a library; warnings of one kind once an hour, with their number.",
        "library message exception",
        todo="Nothing, where a line of ours says the same. Else look at what `message` names.",
    )

    # Servers
    ACCEPT_FAILED = _entry(
        "accept_failed",
        "A server cannot take a connection, mostly for lack of a file descriptor; retried every second, logged once.",
        "server reason repeats exception",
        todo="Raise `ulimit -n`, and see what has the descriptors (`ls /proc/PID/fd`). With a traceback: report it.",
    )
    REQUEST_MALFORMED = _entry(
        "request_malformed",
        "What reached a server's port was no HTTP request; logged once an hour, `repeats` counts the others.",
        "server peer reason repeats",
        todo="Nothing; many `repeats`: find out who reaches that port, and why.",
    )
    REQUEST_FAILED = _entry(
        "request_failed",
        "An error of the validator while it answered a request; logged once per change.",
        "server reason repeats exception",
        todo="Report it with the traceback.",
    )

    # Rounds
    ROUND_STARTED = _entry(
        "round_started",
        "A round's input is frozen and stored; its dispatches go out.",
        f"{_ROUND} block epoch tasks dispatches",
    )
    DISPATCH = _entry(
        "dispatch",
        "Result of one dispatch: the canonical line of a (round, task, miner).",
        f"{_ROUND} task_id skill_type hotkey role reason gate seconds http_status detail",
        "hotkey reason",
        todo="Nothing for one miner. The same `reason` for all miners: look at this machine's network, clock and load.",
    )
    WORKFLOW_RAN = _entry(
        "workflow_ran",
        "A miner's plan was run on the step services; the quality is absent while it is deferred.",
        f"{_ROUND} task_id hotkey run_id reason quality steps completed cost_tao seconds timeouts hard_failures",
        "hotkey reason",
    )
    DISPATCH_VOIDED = _entry(
        "dispatch_voided",
        "A dispatch that was charged to its miner is void after all: it was ended while the validator stood still.",
        f"{_ROUND} task_id hotkey reason detail",
        "reason",
        todo="As for `stalled`.",
    )
    DISPATCH_FAILED = _entry(
        "dispatch_failed",
        "An error of the validator: the dispatch is void.",
        f"{_ROUND} task_id hotkey exception",
        "exception",
        todo="Report it with the traceback; the miner loses nothing.",
    )
    JUDGING_BUDGET = _entry(
        "judging_budget",
        "What judging one answer may cost from now on: CPU seconds, measured in a worker, and bytes of memory.",
        "cpu_s memory",
    )
    WORKER_ENDED = _entry(
        "worker_ended",
        "A worker died, or ran out of what an answer or a base of canaries may cost; made `again` once, then never.",
        "task_id hotkey reached detail again cpu_s memory",
        "hotkey reached",
        todo="`reached` cpu, memory, died: keep and report the answer, or remove the base. Else: memory, load, swap.",
    )
    WORKERS_UNAVAILABLE = _entry(
        "workers_unavailable",
        "No worker process can be started; answers wait until one can.",
        "reason",
        todo="Raise the limits of processes and memory (`ulimit -u`, the container's).",
    )
    ROUND_SETTLED = _entry(
        "round_settled",
        "A round is scored and stored: its canonical line.",
        _LINE,
        todo="Nothing, unless `advice` says something.",
    )
    ROUND_ENDED = _entry(
        "round_ended",
        "A round ended without scores: skipped or void, the reason says which.",
        _LINE,
        todo="`skipped_no_tasks`: `validator tasks check`; `void_offline`: this machine's network.",
    )
    ROUND_RESUMED = _entry(
        "round_resumed",
        "A round that a crash left open was settled from what was stored.",
        f"{_ROUND} settled void_tasks tasks",
        todo="Find out why the process ended within a round: memory, `kill -9`, a grace time that is too short.",
    )
    ROUND_ABANDONED = _entry(
        "round_abandoned",
        "A round that a crash left open could not be settled.",
        f"{_ROUND} reason",
        todo="`abandoned_version`: drain before the next upgrade. Else `validator db check`, and the disk.",
    )
    ROUND_FAILED = _entry(
        "round_failed",
        "An error of the validator ended a round; logged once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; a restart is safe.",
    )

    # Waiting work
    WORK_ENDED = _entry(
        "work_ended",
        "The end of an execution or a code check, its canonical line: done with a result, or inconclusive.",
        f"{_NAMED} outcome reason detail seconds",
        todo="Nothing; `validator waiting show` has the rest. Code that is inconclusive with `sandbox_tests`: correct"
        " the task.",
    )
    WORK_POSTPONED = _entry(
        "work_postponed",
        "A try showed nothing of any miner: it is made again after so many seconds, an execution only until the next"
        " round settles.",
        f"{_NAMED} reason detail seconds",
        todo="Look up `reason` in [the sandbox](../operators/sandbox.md) where it comes again and again.",
    )
    WORK_HANDED_BACK = _entry(
        "work_handed_back", "A worker had to stop in the middle of a try: it is as if the try had not begun.", _NAMED
    )
    WORK_FAILED = _entry(
        "work_failed",
        "An error of the validator in waiting work, which is tried again; logged once per change.",
        "kind reason repeats exception",
        todo="Report it with the traceback; it is tried again, and no miner loses anything by it.",
    )
    SANDBOX_CONTAINER_KEPT = _entry(
        "sandbox_container_kept",
        "The container engine does not remove what a run left; it is set aside, and bars no other run.",
        "name detail",
        todo="Remove it in the engine by this name; an engine that removes nothing wants to be restarted.",
    )
    QUEUE_FAILED = _entry(
        "queue_failed",
        "An error of the validator over the jobs of waiting work; logged once per change.",
        "reason repeats exception",
        todo="Look whether the database answers; with a traceback: report it. The jobs come again.",
    )
    WORKER_STARTED = _entry(
        "worker_started", "A worker process takes jobs from now on.", "version name queues concurrency"
    )
    WORKER_ALIVE = _entry(
        "worker_alive",
        "What a worker process does and has done so far; every minute.",
        "name queues ready running done",
    )
    WORKER_STOPPED = _entry("worker_stopped", "A worker process ends.", "name done seconds")

    # Readers
    WEB_STARTED = _entry(
        "web_started", "`validator serve` answers readers from now on.", "version addresses token_file"
    )
    WEB_STOPPED = _entry("web_stopped", "`validator serve` ends.", "")

    # Tasks and miners
    TASK_REFUSED = _entry(
        "task_refused",
        "A task is not used.",
        "task bundle_sha256 reason",
        todo="`validator tasks check` lists every fault of it: correct the task, or take it away.",
    )
    CANARY_FAILED = _entry(
        "canary_failed",
        "A canary could not be made: the slot goes to a task of the source.",
        "skill_type reason",
        todo="Look at the folder `tasks.bases`: `validator doctor` says what is wrong with it.",
    )
    CANARY_BUILT_IN = _entry(
        "canary_built_in",
        "`tasks.bases` has no usable base of a type: its canaries are made of built-in bundles, which miners can tell.",
        "skill_type",
        todo="Put a benign task of the type there; `task_refused` and `validator doctor` name those that are broken.",
    )
    TASKS_RETIRED = _entry(
        "tasks_retired",
        "A source holds tasks that are retired: they are passed over.",
        "skill_type skipped left",
        todo="Nothing. Once few are `left`, add tasks of the type; the retired ones may go.",
    )
    TASK_SOURCE_FAILED = _entry(
        "task_source_failed",
        "A task source gave nothing.",
        "skill_type reason",
        "reason",
        todo="A folder: can it be read? A server: is it up, is `tasks.server_hotkey` right, do the clocks agree?",
    )
    CAPABILITIES_REFRESHED = _entry(
        "capabilities_refreshed",
        "The miners were asked what they can do.",
        "queried valid refused reasons seconds",
        todo="Nothing; with few `valid` look at `reasons`: all of one kind means this machine's network or clock.",
    )
    DECLARATION_REFUSED = _entry(
        "declaration_refused",
        'Why one miner\'s declaration does not count; at level `debug` alone (`log.rooms = { miners = "debug" }`).',
        "hotkey address reason status detail",
        todo="Tell the miner; it is asked again every `rounds.capabilities_refresh_s`.",
    )
    FLAG_RAISED = _entry(
        "flag_raised",
        "A miner agrees with its fellow primaries far more than with auditors that are clearly more right.",
        f"{_ROUND} hotkey skill_type mean_with_primaries mean_with_auditors mean_own mean_witnesses samples flags",
        todo="Look at their answers and decide: [flags](../operators/miners.md#flags).",
    )
    MINER_STARTED = _entry("miner_started", "A reference miner listens.", "hotkey host port")
    MINER_ANNOUNCED = _entry("miner_announced", "A reference miner's address is on chain.", "netuid uid ip port")
    LOCAL_RUN_FAILED = _entry(
        "local_run_failed",
        "A miner of the local network could not run a bundle.",
        "detail",
        todo="Look at `detail`: the miner's machine lacks what the bundle needs. No validator is concerned.",
    )
    RETENTION_POSTPONED = _entry(
        "retention_postponed",
        "The store was busy; retention tries again in an hour.",
        "reason",
        todo="Nothing; often: look for a long transaction in the database.",
    )
    RETENTION_PRUNED = _entry(
        "retention_pruned", "Raw answers and bundles past their time were removed.", "answers bundles"
    )

    # Chain and weights
    CHAIN_UNREACHABLE = _entry(
        "chain_unreachable",
        "The chain does not answer; logged once until it does.",
        "reason",
        todo="Look at the endpoint, the network and the firewall; name a second one in `chain.endpoints`.",
    )
    CHAIN_OLD_RUNTIME = _entry(
        "chain_old_runtime",
        "The chain's runtime lacks something newer, which is done without; logged once for each.",
        "netuid missing",
        todo="Nothing; on a public network: is it the right endpoint?",
    )
    CHAIN_ENDPOINT_UNHEALTHY = _entry(
        "chain_endpoint_unhealthy",
        "An endpoint of the chain is not used for some minutes: it refuses, is silent, answers nonsense or is behind.",
        "endpoint reason seconds",
        todo="Mend or replace the endpoint; the others are used meanwhile.",
    )
    CHAIN_ENDPOINT_HEALTHY = _entry(
        "chain_endpoint_healthy", "An endpoint that was not used is healthy again.", "endpoint"
    )
    CHAIN_BACK = _entry("chain_back", "The chain answers again.", "block seconds")
    STANDING_LOST = _entry(
        "standing_lost",
        "This hotkey has no slot or no permit any more; logged once per change, with what rounds do meanwhile.",
        "block reason rounds",
        todo="Register the hotkey, or see to its stake: [weights](../operators/weights.md#when-weights-are-sent).",
    )
    STANDING_BACK = _entry("standing_back", "This hotkey has its slot and its permit again.", "block")
    WEIGHTS_SUBMITTED = _entry(
        "weights_submitted",
        "Result of one submission: the canonical line of an epoch.",
        "netuid mechid epoch attempt block extrinsic reason message seconds scoring_version"
        " weights uids scores unpaid unallocated owner",
        todo="`weights_rejected`: read `message`; version key, mechanism, balance. Else nothing.",
    )
    WEIGHTS_BLOCKED = _entry(
        "weights_blocked",
        "Weights cannot be sent now; logged once per change of the reason.",
        "netuid mechid epoch block reason detail",
        todo="Its `reason` has a row in [At three in the morning](../operators/three-in-the-morning.md).",
    )
    WEIGHTS_UNBLOCKED = _entry(
        "weights_unblocked",
        "The chain or the store answers the weights loop again; where a submission failed, once one has succeeded.",
        "netuid mechid block seconds",
    )
    WEIGHTS_CONFIRMED_LATE = _entry(
        "weights_confirmed_late",
        "The chain shows that a submission of unknown fate had arrived.",
        "netuid mechid epoch block",
    )
    WEIGHTS_PLANNED = _entry(
        "weights_planned",
        "A dry run: what would have been sent now.",
        "netuid mechid epoch block reason scoring_version weights uids scores unpaid unallocated owner",
    )
    WEIGHTS_EXPIRED = _entry(
        "weights_expired",
        "A submission of unknown fate can no longer arrive; the epoch may be served again.",
        "netuid mechid epoch attempt block",
        todo="Nothing: the epoch is served again if there is room. Often: another endpoint.",
    )
    WEIGHTS_MARKED = _entry(
        "weights_marked",
        "The chain's last update of this hotkey is taken for known: the first look, or a new registration.",
        "netuid mechid block uid detail",
        todo="Nothing; on an old store: was the hotkey registered again?",
    )
    WEIGHTS_ROW = _entry(
        "weights_row",
        "The row on chain was compared with the one that was sent; `different` counts the weights that differ.",
        "netuid mechid epoch block state different",
        todo="`altered`, `reveal_failed`: see [conditions](conditions.md). Else nothing.",
    )
    WEIGHTS_MODE = _entry(
        "weights_mode",
        "The subnet now has weights committed first and revealed later, or set in the open again.",
        "netuid mechid block commit_reveal",
    )
    LOG_ANCHORED = _entry(
        "log_anchored",
        "The digest of the log's newest receipt is on chain.",
        "netuid sequence digest block extrinsic",
    )
    LOG_ANCHOR_BLOCKED = _entry(
        "log_anchor_blocked",
        "The log is not anchored now (`audit.anchor`); logged once per change of the cause.",
        "netuid cause detail repeats",
        todo="Its `cause` has a row in [Anchoring the log](../auditors.md#anchor-the-log).",
    )
    LOG_ANCHOR_REPLACED = _entry(
        "log_anchor_replaced",
        "The anchor on chain is replaced: it names a receipt which this store's log does not have.",
        "netuid sequence digest block by",
        todo="Was the store restored from a backup, or does another one use this hotkey? Its readers will ask.",
    )
    WEIGHTS_FAILED = _entry(
        "weights_failed",
        "An error of the validator; logged once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; it is tried again.",
    )
