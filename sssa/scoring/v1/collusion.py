"""Agreement samples of a round, one per (hotkey, skill_type), their windows, and the flags they raise (SPEC 9)."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from sssa.protocol.arithmetic import mean
from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    AgreementPair,
    AgreementSample,
    AssessedMember,
    FlagRaised,
    GroupOutcome,
    MemberOutcome,
    RoundInput,
    RoundTask,
)
from sssa.protocol.skill_types import SkillType
from sssa.scoring.scoring_types import ScoredTask, TaskSample, WindowStep
from sssa.scoring.v1.rules import Ruled


def collusion_round(
    version: Ruled, frozen: RoundInput, scored: Sequence[tuple[RoundTask, ScoredTask]]
) -> tuple[tuple[AgreementSample, ...], tuple[FlagRaised, ...]]:
    """Return the round's samples, sorted by hotkey and type, and the flags raised, in the same order."""
    collected: dict[tuple[str, SkillType], list[TaskSample]] = {}
    for task, outcome in scored:
        for hotkey, sample in task_samples(version, outcome.group, outcome.members).items():
            collected.setdefault((hotkey, task.skill_type), []).append(sample)
    order = {skill_type: i for i, skill_type in enumerate(SkillType)}
    pairs = sorted(collected, key=lambda pair: (pair[0], order[pair[1]]))
    samples = tuple(_merge(hotkey, skill_type, collected[hotkey, skill_type]) for hotkey, skill_type in pairs)
    return samples, _flags(version, frozen, samples)


def task_samples(version: Ruled, group: GroupOutcome, members: Sequence[MemberOutcome]) -> dict[str, TaskSample]:
    """Return what one task gives of each member whose answer passed the gates, and whether it counts (D-14, D-50)."""
    valid = [one for one in members if isinstance(one, AssessedMember)]
    auditors = {one.hotkey: one.emission.quality for one in valid if one.role == "auditor" and one.emission is not None}
    return {one.hotkey: _sample(version, group, one, auditors) for one in valid}


def _sample(version: Ruled, group: GroupOutcome, member: AssessedMember, auditors: Mapping[str, float]) -> TaskSample:
    others = [quality for hotkey, quality in auditors.items() if hotkey != member.hotkey]
    if group.provenance not in {"curated", "canary"}:
        reason = Reason.SAMPLE_NO_TRUTH
    elif group.auditor_agreement is None:
        reason = Reason.SAMPLE_NO_WITNESSES
    elif member.agreement_with_primaries is None:
        reason = Reason.SAMPLE_NO_PRIMARIES
    else:
        witnesses = auditors_are_witnesses(version, group.auditor_agreement)
        reason = Reason.SAMPLE_COUNTED if witnesses else Reason.SAMPLE_AUDITORS_DISAGREE
    return TaskSample(
        member.agreement_with_primaries,
        member.agreement_with_auditors,
        None if member.emission is None else member.emission.quality,
        mean(others) if others else None,
        reason,
    )


def _merge(hotkey: str, skill_type: SkillType, of_tasks: Sequence[TaskSample]) -> AgreementSample:
    """Average the tasks that give a sample; with none, keep what there is and why it did not count."""
    counting = [s for s in of_tasks if s.reason == Reason.SAMPLE_COUNTED]
    shown = counting or of_tasks
    return AgreementSample(
        hotkey=hotkey,
        skill_type=skill_type,
        with_primaries=_mean_of([s.with_primaries for s in shown]),
        with_auditors=_mean_of([s.with_auditors for s in shown]),
        own=_mean_of([s.own for s in shown]),
        witnesses=_mean_of([s.witnesses for s in shown]),
        counted=bool(counting),
        reason=shown[0].reason,
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def pair_of(sample: AgreementSample) -> AgreementPair | None:
    """Return what a sample adds to its window; None where it does not count."""
    values = (sample.with_primaries, sample.with_auditors, sample.own, sample.witnesses)
    known = [value for value in values if value is not None]
    return AgreementPair(*known) if sample.counted and len(known) == len(values) else None


def _flags(version: Ruled, frozen: RoundInput, samples: Sequence[AgreementSample]) -> tuple[FlagRaised, ...]:
    windows = {miner.hotkey: miner.agreements for miner in frozen.miners}
    flags = []
    for sample in samples:
        pair = pair_of(sample)
        if pair is None:
            continue
        step = add_sample(version, windows.get(sample.hotkey, {}).get(sample.skill_type, ()), pair)
        if step.raised:
            primaries, auditors, own, witnesses = structs.astuple(step.means)
            whose = sample.hotkey, sample.skill_type
            flags.append(FlagRaised(*whose, primaries, auditors, own, witnesses, step.samples))
    return tuple(flags)


def auditors_are_witnesses(version: Ruled, agreement: float) -> bool:
    """Return whether two auditors with this agreement are witnesses: not if they contradict each other (D-14)."""
    return agreement >= version.rules.collusion.witnesses


def window_means(window: Sequence[AgreementPair]) -> AgreementPair:
    """Return the means of agreements and qualities; `window` must not be empty."""
    return AgreementPair(*map(mean, zip(*map(structs.astuple, window), strict=True)))


def add_sample(version: Ruled, window: Sequence[AgreementPair], sample: AgreementPair) -> WindowStep:
    """Add a counted sample to the window of one (hotkey, skill_type) and say whether it raises a flag (SPEC 9).

    Agreements of a cohort consume the window: the next flag needs new samples (D-9). They raise a flag only where the
    witnesses are clearly more right than the miner (D-50).
    """
    rules = version.rules.collusion
    extended = (*window, sample)[-rules.window :]
    means = window_means(extended)
    suspect = (
        len(extended) >= rules.min_samples
        and means.with_primaries > rules.primaries_above
        and means.with_auditors < rules.auditors_below
    )
    raised = suspect and means.own < rules.worse * means.witnesses
    return WindowStep(() if suspect else extended, len(extended), means, raised)
