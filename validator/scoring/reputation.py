"""Reputation events (SPEC 10)."""

from validator.protocol.reasons import Reason
from validator.protocol.round import ReputationKind
from validator.protocol.scoring_version import CONSENSUS_HIGH, CONSENSUS_LOW, MIN_REPUTATION, RECOVERY_STEP

_EVENT_OF_GATE: dict[int, ReputationKind] = {
    2: "invalid",
    3: "violation",
    4: "digest_mismatch",
    5: "violation",
    6: "probe_fail",
}


def apply_event(value: float, kind: ReputationKind) -> float:
    """Return the reputation after one event, within [0, 1] (SPEC 10)."""
    match kind:
        case "consensus_high" | "rerun_pass":
            changed = value + 0.02
        case "consensus_low":
            changed = value * 0.95
        case "invalid" | "probe_fail" | "rerun_fail":
            changed = value * 0.7
        case "violation" | "digest_mismatch":
            changed = value * 0.5
        case "collusion_flag":
            changed = value * 0.6
        case "recovery":
            return min(MIN_REPUTATION, value + RECOVERY_STEP) if value < MIN_REPUTATION else value
    return min(1.0, max(0.0, changed))


def event_of_consensus(consensus: float) -> ReputationKind | None:
    """Return the event for a computed consensus score, None between 0.4 and 0.7 (SPEC 10)."""
    if consensus >= CONSENSUS_HIGH:
        return "consensus_high"
    return "consensus_low" if consensus < CONSENSUS_LOW else None


def event_of_failure(reason: str) -> ReputationKind | None:
    """Return the event for a failed gate, None for the deadline gate (SPEC 5)."""
    return _EVENT_OF_GATE.get(Reason(reason).gate)
