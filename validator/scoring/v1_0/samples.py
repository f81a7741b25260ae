"""Agreement samples of a round for `collusion.py`, one per (hotkey, skill_type), and the flags they raise (SPEC 9)."""

from collections.abc import Sequence

from validator.protocol.arithmetic import mean
from validator.protocol.reasons import Reason
from validator.protocol.round import AgreementPair, AgreementSample, AssessedMember, FlagRaised, RoundInput, RoundTask
from validator.protocol.skill_types import SkillType
from validator.scoring.constants import Ruled
from validator.scoring.v1_0.collusion import add_sample, auditors_are_witnesses
from validator.scoring.values import ScoredTask, TaskSample


def collusion_round(
    version: Ruled, frozen: RoundInput, scored: Sequence[tuple[RoundTask, ScoredTask]]
) -> tuple[tuple[AgreementSample, ...], tuple[FlagRaised, ...]]:
    """Return the round's samples, sorted by hotkey and type, and the flags raised, in the same order."""
    collected: dict[tuple[str, SkillType], list[TaskSample]] = {}
    for task, outcome in scored:
        for member in outcome.members:
            if isinstance(member, AssessedMember):
                pair = (member.hotkey, task.skill_type)
                collected.setdefault(pair, []).append(task_sample(version, member, outcome.group.auditor_agreement))
    order = {skill_type: i for i, skill_type in enumerate(SkillType)}
    pairs = sorted(collected, key=lambda pair: (pair[0], order[pair[1]]))
    samples = tuple(_merge(hotkey, skill_type, collected[hotkey, skill_type]) for hotkey, skill_type in pairs)
    return samples, _flags(version, frozen, samples)


def task_sample(version: Ruled, member: AssessedMember, auditor_agreement: float | None) -> TaskSample:
    """Return what one task gives of a member whose answer passed the gates, and whether it counts (D-14)."""
    if member.agreement_with_primaries is None:
        reason = Reason.SAMPLE_NO_PRIMARIES
    elif member.agreement_with_auditors is None:
        reason = Reason.SAMPLE_NO_AUDITORS
    else:
        witnesses = auditors_are_witnesses(version, auditor_agreement)
        reason = Reason.SAMPLE_COUNTED if witnesses else Reason.SAMPLE_AUDITORS_DISAGREE
    return TaskSample(member.agreement_with_primaries, member.agreement_with_auditors, reason)


def _merge(hotkey: str, skill_type: SkillType, of_tasks: Sequence[TaskSample]) -> AgreementSample:
    """Average the tasks that give a sample; with none, keep what there is and why it did not count."""
    counting = [s for s in of_tasks if s.reason == Reason.SAMPLE_COUNTED]
    shown = counting or of_tasks
    return AgreementSample(
        hotkey=hotkey,
        skill_type=skill_type,
        with_primaries=_mean_of([s.with_primaries for s in shown]),
        with_auditors=_mean_of([s.with_auditors for s in shown]),
        counted=bool(counting),
        reason=shown[0].reason,
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _flags(version: Ruled, frozen: RoundInput, samples: Sequence[AgreementSample]) -> tuple[FlagRaised, ...]:
    windows = {miner.hotkey: miner.agreements for miner in frozen.miners}
    flags = []
    for sample in samples:
        if not sample.counted or sample.with_primaries is None or sample.with_auditors is None:
            continue
        window = windows.get(sample.hotkey, {}).get(sample.skill_type, ())
        step = add_sample(version, window, AgreementPair(sample.with_primaries, sample.with_auditors))
        if step.flag is not None:
            flags.append(FlagRaised(sample.hotkey, sample.skill_type, *step.flag, step.samples))
    return tuple(flags)
