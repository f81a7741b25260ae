"""Reputations: the events that a round causes, in the order of SPEC 10, and their changes."""

from collections.abc import Sequence

from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    AssessedMember,
    Components,
    FailedMember,
    FlagRaised,
    MemberOutcome,
    ReputationEvent,
    ReputationKind,
    RoundInput,
    RoundPlan,
    is_submitted,
)
from sssa.protocol.skill_types import SkillType
from sssa.scoring.scoring_types import ScoredTask
from sssa.scoring.v1.rules import ReputationRules, Ruled
from sssa.scoring.v1.version_calls import Scoring


class _Ledger:
    """Current values and the events so far."""

    def __init__(self, version: Ruled, frozen: RoundInput) -> None:
        self.version = version
        self.values = {(m.hotkey, t): value for m in frozen.miners for t, value in m.reputations.items()}
        self.events: list[ReputationEvent] = []

    def value(self, hotkey: str, skill_type: SkillType) -> float:
        return self.values.get((hotkey, skill_type), self.version.rules.reputation.start)

    def record(self, hotkey: str, skill_type: SkillType, kind: ReputationKind, cause: str) -> None:
        before = self.value(hotkey, skill_type)
        after = apply_event(self.version, before, kind)
        self.values[hotkey, skill_type] = after
        self.events.append(ReputationEvent(hotkey, skill_type, kind, cause, before, after))


def reputation_events(
    version: Scoring, frozen: RoundInput, plan: RoundPlan, scored: Sequence[ScoredTask], flags: Sequence[FlagRaised]
) -> tuple[ReputationEvent, ...]:
    """Return every event: of executions, of tasks in plan order and members in group order, of flags, of D-10."""
    ledger = _Ledger(version, frozen)
    types = {task.task_id: task.skill_type for task in frozen.tasks}
    for result in frozen.executions:
        if result.event is not None:
            ledger.record(result.hotkey, result.skill_type, result.event, result.task_id)
    for outcome in scored:
        for member in outcome.members:
            kind = version.member_event(member)
            if kind is not None:
                ledger.record(member.hotkey, types[member.task_id], kind, member.task_id)
    for flag in flags:  # already sorted by hotkey
        ledger.record(flag.hotkey, flag.skill_type, "collusion_flag", "")
    _recover(frozen, plan, ledger)
    return tuple(ledger.events)


def member_event(version: Ruled, member: MemberOutcome) -> ReputationKind | None:
    """Return the reputation event of one dispatch (SPEC 5, 10)."""
    match member:
        case FailedMember():
            return event_of_failure(version, member.reason)
        case AssessedMember(components=Components()):
            return event_of_consensus(version.rules.reputation, member.consensus)
        case _:
            return None


def _recover(frozen: RoundInput, plan: RoundPlan, ledger: _Ledger) -> None:
    """Let registered miners below the floor that were left out of a declared type gain a little (D-10)."""
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons} - {frozen.validator_hotkey}
    dispatched = {
        (hotkey, task.skill_type)
        for task, group in zip(frozen.tasks, plan.groups, strict=True)
        for hotkey, _ in (() if is_submitted(task) else group.members)
    }
    for miner in sorted(frozen.miners, key=lambda miner: miner.hotkey):
        for skill_type in miner.skill_types:
            left_out = miner.hotkey in registered and (miner.hotkey, skill_type) not in dispatched
            if left_out and ledger.value(miner.hotkey, skill_type) < ledger.version.rules.reputation.floor:
                ledger.record(miner.hotkey, skill_type, "recovery", "")


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
