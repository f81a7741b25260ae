"""Reason codes: one for every decision, each with a one-line explanation.

Logs, metrics, explain and docs/reference/reasons.md all use these codes. A code that starts with
`bug_` names a fault of ours. Stores and documents hold the bare code; inside the program it is a `Reason`.
"""

from enum import StrEnum
from typing import Final, Self

GATE_NAMES: Final = ("deadline", "parse", "validity", "manifest", "traces", "probes", "semantics")
"""The gates of SPEC 5, the first of them number 1. The last one stops nothing: it measures."""


class Reason(StrEnum):
    """A reason code; `str(reason)` is the code, `reason.meaning` the explanation, `reason.gate` the gate (0: none).

    A code that another version stored and this one does not know is its own value: not `known`, without a meaning
    or a gate, and no member of the enum. Whatever is read can therefore be shown, and is written as it was.
    """

    meaning: str
    gate: int
    known: bool

    def __new__(cls, code: str, meaning: str = "", gate: int = 0) -> Self:
        """Make a member from its code, explanation and gate number."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        member.gate = gate
        member.known = True
        return member

    @classmethod
    def _missing_(cls, value: object) -> "Reason | None":
        if not isinstance(value, str):
            return None
        stranger = str.__new__(cls, value)
        stranger._name_ = stranger._value_ = value
        stranger.meaning, stranger.gate, stranger.known = "", 0, False
        return stranger

    # Answers that passed
    ACCEPTED = "accepted", "The answer passed its gates."
    WORKFLOW_DEFERRED = (
        "workflow_deferred",
        "The plan was run, and its code is judged after the round: it enters the window when it is.",
    )
    ACCEPTED_EARLY = (
        "accepted_early",
        "The answer passed the gates but came before t_min: it counts for consensus, its emission is 0.",
    )

    # Gate 1: deadline
    DEADLINE_NO_AXON = (
        "deadline_no_axon",
        "The metagraph names no axon for this hotkey, so there was nothing to send to.",
        1,
    )
    DEADLINE_AXON_REFUSED = (
        "deadline_axon_refused",
        "The axon is not a public address and the settings do not allow private ones.",
        1,
    )
    DEADLINE_CONNECT = "deadline_connect", "No connection to the axon could be made.", 1
    DEADLINE_TRANSPORT = "deadline_transport", "The connection broke or the peer did not speak HTTP.", 1
    DEADLINE_STATUS = "deadline_status", "The response had a status other than 200.", 1
    DEADLINE_LATE = "deadline_late", "The last byte of the answer had not arrived at the role's deadline.", 1

    # Gate 2: parse
    PARSE_TOO_LARGE = (
        "parse_too_large",
        "The response body, or the canonical bytes of its attestation or plan, are larger than their limit.",
        2,
    )
    PARSE_TOO_DEEP = "parse_too_deep", "The JSON is nested deeper than 32 levels.", 2
    PARSE_DUPLICATE_KEY = "parse_duplicate_key", "A JSON object has the same key twice.", 2
    PARSE_SCHEMA = (
        "parse_schema",
        "Not an answer with an SSSA, or not a plan, of schema 1.0, or over one of its limits.",
        2,
    )

    PARSE_TOO_COSTLY = (
        "parse_too_costly",
        "Judging the answer went over its budget of time or memory, and once more over four times as much (D-27).",
        2,
    )
    PARSE_PLAN = "parse_plan", "The plan is no directed acyclic graph of 1 to 10 steps that could be run.", 2
    PARSE_TOTALS = "parse_totals", "The plan's totals are less than the sums of its steps (D-32).", 2

    # Gate 3: validity
    VALIDITY_SKILL_TYPE = "validity_skill_type", "The SSSA is for another skill type than was dispatched.", 3
    VALIDITY_BUNDLE = "validity_bundle", "The SSSA is for another bundle than was dispatched.", 3
    VALIDITY_GOAL = "validity_goal", "The plan is for another goal than was dispatched.", 3
    VALIDITY_NONCE = "validity_nonce", "The answer carries another nonce than was dispatched (a replayed one does).", 3
    VALIDITY_SCORING_VERSION = (
        "validity_scoring_version",
        "The plan is for another scoring version than was dispatched.",
        3,
    )
    VALIDITY_SERVICE = "validity_service", "The plan uses a service or action that is not offered or not allowed.", 3
    VALIDITY_HOTKEY = "validity_hotkey", "The answer names another hotkey than the miner's.", 3
    VALIDITY_SIGNATURE = "validity_signature", "The signature is not the hotkey's over the canonical bytes.", 3
    VALIDITY_LLM_USE = "validity_llm_use", "llm_evidence names a use that is not allowed.", 3

    # Gate 4: manifest
    MANIFEST_MISSING = "manifest_missing", "A runtime primary sent no sandbox manifest.", 4
    MANIFEST_DIGEST = (
        "manifest_digest",
        "The sandbox digest is not that of the runtime image that the dispatch names.",
        4,
    )

    # Gate 5: traces
    TRACES_MISSING = "traces_missing", "A runtime primary sent no trace bundle.", 5
    TRACES_TOO_LARGE = "traces_too_large", "The trace bundle is over its caps.", 5
    TRACES_UNDECODABLE = (
        "traces_undecodable",
        "The trace bundle is damaged or incomplete, or holds a record without a numeric ts.",
        5,
    )
    TRACES_HASH = "traces_hash", "The traces do not hash to the SSSA's trace_hashes.", 5

    # Gate 6: probes
    PROBES_ECHO = "probes_echo", "The echoed probe values are not those derived from the nonce.", 6
    PROBES_ABSENT = "probes_absent", "A probe does not show in the traces.", 6

    # Why a declaration does not count (SPEC 13)
    DECLARATION_INVALID = "declaration_invalid", "The declaration is malformed, another hotkey's or wrongly signed."
    DECLARATION_FUTURE = "declaration_future", "The declaration was issued in the future, by this machine's clock."
    DECLARATION_EXPIRED = "declaration_expired", "The declaration has expired, by this machine's clock."
    DECLARATION_OLDER = "declaration_older", "The declaration was issued before the one that is stored."

    # Why a candidate was not selected (SPEC 8.1)
    COLLUSION_FLAGS = "collusion_flags", "Three or more collusion flags: ejected until the operator clears them."
    LOW_REPUTATION = "low_reputation", "Reputation for the type is below 0.2."
    IN_FLIGHT = "in_flight", "As many open dispatches of the type as the miner declared it can take."
    FAILURE_RATE = (
        "failure_rate",
        "More than half of at least five dispatches of the type in the last 30 rounds failed a gate.",
    )

    # Why a window is not paid (SPEC 11, D-23): these two, and all of the above but in_flight
    UNDECLARED = (
        "undeclared",
        "The miner did not declare the type in more than half of the rounds since the last weights were computed.",
    )
    UNPROVEN = (
        "unproven",
        "The miner was excluded for the type, and no answer of that type has passed the gates for it since.",
    )

    EXECUTION = "execution", "Three or more of the miner's last ten results of execution of the type are fails."

    # The result of an agreement sample (SPEC 9)
    SAMPLE_NO_PRIMARIES = "sample_no_primaries", "No other primary with a valid SSSA to compare with."
    SAMPLE_NO_TRUTH = "sample_no_truth", "The task came without a truth (D-50)."
    SAMPLE_NO_WITNESSES = "sample_no_witnesses", "Fewer than two auditors with a valid SSSA (D-50)."
    SAMPLE_AUDITORS_DISAGREE = (
        "sample_auditors_disagree",
        "The two auditors contradict each other: no witnesses (D-14).",
    )
    SAMPLE_COUNTED = "sample_counted", "The sample entered the window."

    # Why the execution of a task says nothing of anybody (SPEC 15)
    EXECUTION_SUBMITTED = "execution_submitted", "The bundle is of a submitted skill, which gives no result."
    EXECUTION_ENDED = "execution_ended", "A run of the bundle, or of nothing, did not end by itself."
    EXECUTION_PROBE = "execution_probe", "A probe does not show in the traces of a run."
    EXECUTION_FEW = "execution_few", "The bundle does too little that every run of it shows."
    EXECUTION_VARIES = "execution_varies", "Two runs of the bundle differ by more than they have in common."
    EXECUTION_UNCONFIRMED = (
        "execution_unconfirmed",
        "No valid primary passed, and the task was not made here: its fails do not count.",
    )

    # How the execution of a task ended else (SPEC 15)
    EXECUTION_COMPARED = "execution_compared", "Every valid primary's traces were compared with the runs."
    EXECUTION_TRACES = "execution_traces", "A run of the bundle left traces that cannot be read or compared."
    EXECUTION_LATE = "execution_late", "It had not begun, or had to be tried again, when the next round settled."
    EXECUTION_LOST = "execution_lost", "The bundle or an answer is no longer in the store."

    # Why a sandbox gave no evidence (SPEC 15): faults of no miner
    SANDBOX_EVIDENCE = (
        "sandbox_evidence",
        "The evidence folder is too large, or holds something else than plain files and folders.",
    )
    SANDBOX_NO_ENGINE = "sandbox_no_engine", "The container engine cannot be reached."
    SANDBOX_UNSUITABLE = "sandbox_unsuitable", "The container engine cannot hold every limit: nothing is run on it."
    SANDBOX_IMAGE = "sandbox_image", "The engine does not have the runtime image, and could not pull it."
    SANDBOX_SLOW = "sandbox_slow", "The container engine took too long."
    SANDBOX_ENGINE = "sandbox_engine", "The container engine failed."
    SANDBOX_TESTS = "sandbox_tests", "The task's tests hold no test that can be run: no code can be judged."

    # How tasks and rounds end
    SETTLED = "settled", "Scored and stored."
    SKIPPED_NO_TASKS = "skipped_no_tasks", "No source had a task: the round was skipped."
    SKIPPED_EPOCH_OVER = (
        "skipped_epoch_over",
        "The chain went back to an epoch that is over, whose salt is public or about to be: the round was skipped.",
    )
    SKIPPED_NO_CANDIDATES = "skipped_no_candidates", "No candidate for the task's type: the task was skipped."
    VOID_OFFLINE = (
        "void_offline",
        "No dispatch got any HTTP response and the chain or the task source was unreachable too: nothing counts (D-6).",
    )
    ACCEPTED_SUBMITTED = (
        "accepted_submitted",
        "The answer passed its gates; somebody submitted the skill, so it enters nothing (D-45).",
    )
    VOID_NO_VERDICT = "void_no_verdict", "Neither truth nor group gives a verdict: the answers enter nothing (D-7)."
    BUG_CRASH = "bug_crash", "The validator stopped while a dispatch was planned or sent: the task is void (D-6)."
    BUG_INTERNAL = (
        "bug_internal",
        "An error of the validator; the log has it. The dispatch that it happened in is void.",
    )
    LOCAL_RESOURCES = (
        "local_resources",
        "The validator's machine lacked memory, files, ports or disk, or ended its workers: a void dispatch (D-26).",
    )
    LOCAL_NETWORK = (
        "local_network",
        "No route or name service, no answer from anybody, and chain or task source away: the dispatch is void (D-26).",
    )
    LOCAL_STALL = (
        "local_stall",
        "The other side ended the exchange while the validator stood still for 10 s or more: a void dispatch (D-26).",
    )
    LOCAL_STORE_AWAY = "local_store_away", "The database was away before the dispatches went out: the task is void."
    LOCAL_STORE_DAMAGED = (
        "local_store_damaged",
        "The store is damaged, or its path no longer leads to it: the validator stopped.",
    )
    LOCAL_STORE_TAKEN = "local_store_taken", "Another process became the store's writer: the validator stopped."

    # Why no round starts for now
    LOCAL_DESCRIPTORS = (
        "local_descriptors",
        "Too few file descriptors are left for a round's requests: no round starts until there are enough.",
    )
    LOCAL_DISK = (
        "local_disk",
        "Too little disk space is left for what a round stores, raw or permanently: none starts until there is enough.",
    )
    LOCAL_CLOCK = (
        "local_clock",
        "The local clock is more than 30 s off the time of fresh blocks: no round starts and no weights are computed.",
    )
    ABANDONED_VERSION = (
        "abandoned_version",
        "The round was frozen under a scoring version that this program does not score, so it was abandoned whole.",
    )
    ABANDONED_INPUT = (
        "abandoned_input",
        "The stored round input could not be read again, so the round was abandoned whole.",
    )

    # How a step of a workflow, or one try of it, ended (SPEC 12)
    STEP_SUCCEEDED = "step_succeeded", "The service's signed answer arrived and was taken."
    STEP_TIMEOUT = "step_timeout", "Cut off at the step's declared timeout_seconds."
    STEP_CONNECTION = "step_connection", "The connection failed or broke before any byte of the answer."
    STEP_TRANSPORT = "step_transport", "The connection broke within the answer, or what came was not HTTP."
    STEP_STATUS = "step_status", "The service answered with a status other than 200."
    STEP_TOO_LARGE = "step_too_large", "The service's answer is larger than its limit; reading stopped there."
    STEP_SCHEMA = "step_schema", "The service's answer is no step answer, or an output is over its limit."
    STEP_OTHER_REQUEST = "step_other_request", "The service's answer is for another request."
    STEP_SIGNATURE = "step_signature", "The answer is not signed by the hotkey that the task names for the service."
    STEP_OVERCHARGED = "step_overcharged", "The service charged more than was admitted; its answer was refused."
    STEP_BUDGET = "step_budget", "The step's cost did not fit under the run's budget ceiling: it was not started."
    STEP_REFERENCE = "step_reference", "A reference of the step points to a value that an earlier step did not give."
    STEP_DEPENDENCY = "step_dependency", "A step that comes before it did not succeed: it was not started."
    STEP_RUN_ENDED = "step_run_ended", "The run's time was over before the step had ended."

    # The result of a workflow's output quality (SPEC 12)
    QUALITY_JUDGED = "quality_judged", "The run's result was judged by the task's reference."
    QUALITY_DEFERRED = (
        "quality_deferred",
        "The result is code, which is judged in a sandbox after its round has settled.",
    )

    # Why code can never be judged (SPEC 12)
    CODE_LOST = "code_lost", "The plan, its run or its task can no longer be read: nothing can be judged."

    # Weights
    WEIGHTS_SENT = "weights_sent", "The chain took the weights."
    WEIGHTS_NONE_POSITIVE = "weights_none_positive", "No miner has a positive score: nothing is sent."
    WEIGHTS_RATE_LIMITED = "weights_rate_limited", "The chain's rate limit has not passed yet."
    WEIGHTS_NO_PERMIT = "weights_no_permit", "This hotkey has no validator permit."
    WEIGHTS_LOW_STAKE = "weights_low_stake", "This hotkey's stake is below what the subnet asks for."
    WEIGHTS_NOT_REGISTERED = "weights_not_registered", "This hotkey is not registered on the subnet."
    WEIGHTS_STORE_AWAY = "weights_store_away", "The store is away or takes no write: nothing is sent."
    WEIGHTS_CHAIN_DOWN = "weights_chain_down", "The chain could not be reached: nothing is sent."
    WEIGHTS_VERSION_KEY = "weights_version_key", "The subnet asks for weights of a newer version of this program."
    WEIGHTS_UNREVEALED = "weights_unrevealed", "The chain takes no commitment before one of those made is revealed."
    WEIGHTS_SCORING_VERSION = (
        "weights_scoring_version",
        "The newest round is of a scoring version that this program does not score: nothing is computed or sent.",
    )
    WEIGHTS_TOO_FEW = "weights_too_few", "Fewer miners are paid than the subnet asks for in a row: nothing is sent."
    WEIGHTS_REJECTED = "weights_rejected", "The chain refused the weights."
    WEIGHTS_UNKNOWN = (
        "weights_unknown",
        "Whether the chain took the weights is not known; only reading the chain can tell.",
    )
    WEIGHTS_DRY_RUN = "weights_dry_run", "The settings or the command line say that nothing is signed."
    WEIGHTS_DISABLED = "weights_disabled", "The settings say that no weights are sent."
    WEIGHTS_LOCKED = "weights_locked", "Another program uses this hotkey: nothing is sent until the lock is cleared."
    WEIGHTS_GUARD_MISSING = (
        "weights_guard_missing",
        "The store lacks the tables that keep weights from being sent twice: nothing is sent.",
    )
    WEIGHTS_CLOCK_BACK = "weights_clock_back", "The clock is behind what was written last: nothing is sent."
    WEIGHTS_CHAIN_BEHIND = "weights_chain_behind", "The chain lacks blocks or weights that were seen: nothing is sent."
    WEIGHTS_EPOCH_BACK = "weights_epoch_back", "The epoch is lower than one that has weights: nothing is sent."


OURS: Final = frozenset({Reason.LOCAL_RESOURCES, Reason.LOCAL_NETWORK, Reason.LOCAL_STALL, Reason.BUG_INTERNAL})
"""Why one dispatch alone is void: the cause was on the validator's side (SPEC 16, D-26)."""


def meaning_of(reason: Reason | None) -> str | None:
    """Return what a reason means; None for none, and for a code that this version does not know."""
    return None if reason is None else reason.meaning or None


def gate_of(reason: Reason | None) -> int | None:
    """Return the gate that a reason names, None where it names none."""
    return None if reason is None else reason.gate or None
