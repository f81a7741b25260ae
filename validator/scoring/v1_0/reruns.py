"""Whose answer is run again, and whether the repeated run did what the miner's traces claim (SPEC 15)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from validator.protocol.draws import dispatch_id, draw
from validator.protocol.means import mean
from validator.protocol.reasons import Reason
from validator.protocol.round import AssessedMember, RoundInput, RoundOutcome, RoundPlan
from validator.protocol.skill_types import BASE_TRACES, is_runtime
from validator.protocol.traces import ProbesSeen
from validator.scoring.rules import RerunRules, Ruled
from validator.scoring.values import ChosenRerun, ComparedRuns

Signatures = Mapping[str, AbstractSet[bytes]]


def chosen_reruns(
    version: Ruled, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome
) -> tuple[ChosenRerun, ...]:
    """Return whose answers are run again, in plan order, members in group order: runtime types alone.

    A group is its members with a valid answer. Where only auditors diverge, a primary is drawn: nobody can keep a task
    from being run again. Only primaries whose answer passed its gates have traces that a run can be held against.

    Args:
        version: the round's.
        frozen: its input; its seed draws.
        plan: its groups.
        outcome: what they came to; void tasks have no members there.
    """
    members: dict[str, dict[str, AssessedMember]] = {}
    for member in outcome.members:
        if isinstance(member, AssessedMember):
            members.setdefault(member.task_id, {})[member.hotkey] = member
    chosen: list[ChosenRerun] = []
    for position, (task, group) in enumerate(zip(frozen.tasks, plan.groups, strict=True)):
        valid = members.get(task.task_id, {})
        primaries = [hotkey for hotkey in group.primaries if hotkey in valid]
        if not is_runtime(task.skill_type) or not primaries:
            continue
        diverging = {hotkey for hotkey, member in valid.items() if diverges(version.rules.reruns, member)}
        found = [hotkey for hotkey in primaries if hotkey in diverging]
        reason = Reason.RERUN_DIVERGES
        if not found:
            found, reason = [_drawn(frozen, task.task_id, primaries)], Reason.RERUN_DRAWN
        elif len(diverging) >= version.rules.reruns.split * len(valid):
            reason = Reason.RERUN_SPLIT
        ranks = {hotkey: rank for rank, (hotkey, _) in enumerate(group.members)}
        chosen += [
            ChosenRerun(
                rerun_id(frozen.round_id, position, ranks[hotkey]), task.task_id, task.skill_type, hotkey, reason
            )
            for hotkey in found
        ]
    return tuple(chosen)


def diverges(rules: RerunRules, member: AssessedMember) -> bool:
    """Whether it missed more than half of what its group found, or has another verdict; False without a group."""
    parts = member.components
    return parts is not None and (parts.findings_recall < rules.recall or parts.verdict_agreement < 1.0)


def rerun_id(round_id: str, position: int, rank: int) -> str:
    """Return the id of a rerun: that of its dispatch."""
    return dispatch_id(round_id, position, rank)


def compare_runs(version: Ruled, claimed: Signatures, seen: Signatures, probes: ProbesSeen) -> ComparedRuns:
    """Return how a repeated run compares with what the miner's traces claim: sets, so that time stamps do not matter.

    Args:
        version: the round's.
        claimed: base trace to signature digests, of the miner's traces.
        seen: the same, of the repeated run's.
        probes: which of them the repeated run shows.
    """
    rules = version.rules.reruns
    shares = {name: len(seen[name] & claimed[name]) / len(seen[name]) if seen[name] else 1.0 for name in BASE_TRACES}
    similarity, fs_equal = mean(list(shares.values())), seen["fs"] == claimed["fs"]
    if not all(probes):
        reason = Reason.RERUN_PROBES
    elif not fs_equal:
        reason = Reason.RERUN_FS
    else:
        reason = Reason.RERUN_SAME if similarity >= rules.similarity else Reason.RERUN_DISSIMILAR
    return ComparedRuns(
        probes=all(probes),
        fs_equal=fs_equal,
        shares=shares,
        similarity=similarity,
        reason=reason,
        event="rerun_pass" if reason is Reason.RERUN_SAME else "rerun_fail",
    )


def _drawn(frozen: RoundInput, task_id: str, primaries: Sequence[str]) -> str:
    seed = bytes.fromhex(frozen.seed)
    return min(primaries, key=lambda hotkey: draw(seed, "rerun", frozen.round_id, task_id, hotkey))
