"""Change of a reputation by one event, within its bounds (SPEC 10)."""

from validator.protocol.reasons import Reason
from validator.protocol.round import ReputationKind
from validator.scoring.v1.rules import ReputationRules, Ruled


def apply_event(version: Ruled, value: float, kind: ReputationKind) -> float:
    """Return the reputation after one event, within [0, 1] (SPEC 10)."""
    rules = version.rules.reputation
    if kind == "recovery":
        return min(rules.floor, value + rules.recovery) if value < rules.floor else value
    changed = value + rules.gains[kind] if kind in rules.gains else value * rules.factors[kind]
    return min(1.0, max(0.0, changed))


def event_of_consensus(rules: ReputationRules, consensus: float) -> ReputationKind | None:
    """Return the event for a computed consensus score, None for one that is neither high nor low (SPEC 10)."""
    if consensus >= rules.high:
        return "consensus_high"
    return "consensus_low" if consensus < rules.low else None


def event_of_failure(version: Ruled, reason: Reason) -> ReputationKind | None:
    """Return the event for a failed gate, None for the deadline gate (SPEC 5)."""
    return version.rules.reputation.gates.get(reason.gate)
