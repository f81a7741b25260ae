"""The effects of a round on a miner: reputation and collusion, windows, score and weight (SPEC 9 to 11)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sssa.protocol.arithmetic import mean
from sssa.protocol.limits import MAX_FILLED
from sssa.protocol.reasons import Reason, meaning_of
from sssa.protocol.round import (
    AgreementPair,
    AgreementSample,
    AssessedMember,
    FlagRaised,
    MinerState,
    ReputationEvent,
    RoundInput,
    RoundOutcome,
    TypeHistory,
)
from sssa.protocol.skill_types import WINDOW_TYPES, SkillType, types_of
from sssa.protocol.sssa import Document
from sssa.scoring import (
    MinerStanding,
    TypeStanding,
    Version,
    WeightPlan,
    add_sample,
    pair_of,
    task_samples,
    type_score,
    warm_up,
    window_means,
)
from validator.store import Transaction
from validator.store.rows import WindowEntry
from validator.store.vector_inputs import Mechanisms


class ReputationChange(Document, frozen=True):
    """The reputation for one type over the round."""

    skill_type: SkillType
    before: float
    after: float
    steps: tuple[ReputationEvent, ...]


class TaskAgreement(Document, frozen=True):
    """Agreement sample of one task of the round; the last five are as in `AgreementSample`."""

    task_id: str
    auditor_agreement: float | None
    meaning: str | None
    with_primaries: float | None
    with_auditors: float | None
    own: float | None
    witnesses: float | None
    reason: Reason


class Collusion(Document, frozen=True):
    """The round's agreement sample for one type, and the collusion window after it (SPEC 9).

    Attributes:
        meaning: of the sample's reason.
        tasks: the sample of each task.
        window_before: counted samples since the last flag, before the round.
        samples: number of samples in `means`: the counted ones, this round's included, at most as many as count.
        means: over those; None without any.
    """

    sample: AgreementSample
    meaning: str | None
    tasks: tuple[TaskAgreement, ...]
    window_before: int
    samples: int
    means: AgreementPair | None
    flag: FlagRaised | None


def explain_reputation(
    version: Version, types: Sequence[SkillType], hotkey: str, state: MinerState | None, outcome: RoundOutcome
) -> tuple[ReputationChange, ...]:
    """Return the changes for `types` and for every other type that had an event, in the order of SPEC 1."""
    events = [event for event in outcome.reputation if event.hotkey == hotkey]
    touched = {*types, *(event.skill_type for event in events)}
    known, start = state.reputations if state else {}, version.rules.reputation.start
    return tuple(
        _change(skill_type, known.get(skill_type, start), [event for event in events if event.skill_type == skill_type])
        for skill_type in SkillType
        if skill_type in touched
    )


def _change(skill_type: SkillType, start: float, events: Sequence[ReputationEvent]) -> ReputationChange:
    before, after = (events[0].before, events[-1].after) if events else (start, start)
    return ReputationChange(skill_type, before, after, tuple(events))


def explain_collusion(
    version: Version, frozen: RoundInput, hotkey: str, state: MinerState | None, outcome: RoundOutcome
) -> tuple[Collusion, ...]:
    """Return the round's samples of the miner, in the order of SPEC 1."""
    windows = state.agreements if state else {}
    flags = {flag.skill_type: flag for flag in outcome.flags if flag.hotkey == hotkey}
    samples = {sample.skill_type: sample for sample in outcome.samples if sample.hotkey == hotkey}
    tasks = _of_tasks(version, frozen, hotkey, outcome)
    return tuple(
        _collusion(version, samples[kind], windows.get(kind, ()), tasks.get(kind, ()), flags.get(kind))
        for kind in SkillType
        if kind in samples
    )


def _of_tasks(
    version: Version, frozen: RoundInput, hotkey: str, outcome: RoundOutcome
) -> dict[SkillType, tuple[TaskAgreement, ...]]:
    types = {task.task_id: task.skill_type for task in frozen.tasks}
    groups = {group.task_id: group for group in outcome.groups}
    agreements: dict[SkillType, tuple[TaskAgreement, ...]] = {}
    for member in outcome.members:
        if member.hotkey != hotkey or not isinstance(member, AssessedMember):
            continue
        group = groups[member.task_id]
        of_task = [one for one in outcome.members if one.task_id == member.task_id]
        sample = task_samples(version, group, of_task)[hotkey]
        agreement = TaskAgreement(member.task_id, group.auditor_agreement, sample.reason.meaning, *sample)
        kind = types[member.task_id]
        agreements[kind] = (*agreements.get(kind, ()), agreement)
    return agreements


def _collusion(
    version: Version,
    sample: AgreementSample,
    window: Sequence[AgreementPair],
    tasks: tuple[TaskAgreement, ...],
    flag: FlagRaised | None,
) -> Collusion:
    samples, means = len(window), window_means(window) if window else None
    pair = pair_of(sample)
    if pair is not None:
        step = add_sample(version, window, pair)
        samples, means = step.samples, step.means
    return Collusion(sample, meaning_of(sample.reason), tasks, len(window), samples, means, flag)


_MORE: Final = MAX_FILLED + 50  # more than the entries that one round adds to a pair


class Entry(Document, frozen=True):
    """One entry of the round, with its position in the window from 1, oldest first: as the round left it, and now.

    `position_now` is None once 100 newer ones have pushed it out; `answered_in` is the earlier round of an answer whose
    code was judged after it.
    """

    task_id: str
    value: float
    position: int
    position_now: int | None
    answered_in: int | None


class TypeWindow(Document, frozen=True):
    """The window of one type over the round, as the round left it: entries of the round, length, mean times warm-up.

    `score_before` is with the entries of earlier rounds, `score_after` with this round's too.
    """

    skill_type: str
    entries: tuple[Entry, ...]
    length: int
    mean: float
    warm_up: float
    score_before: float
    score_after: float


class WeightEffect(Document, frozen=True):
    """The miner's score and weight after the round, with its entries of the round and without them.

    Weights are among the hotkeys that were registered in the round's metagraph, the cap applied. What other miners
    earned in the round counts on both sides.
    """

    mechid: int
    score: float
    score_without: float
    weight: float
    weight_without: float


async def explain_windows(
    tx: Transaction, version: Version, frozen: RoundInput, hotkey: str, mechanisms: Mechanisms
) -> tuple[tuple[TypeWindow, ...], tuple[WeightEffect, ...]]:
    """Return the windows to which the round added entries of the miner, in the order of SPEC 1, and their effects.

    The second are the effects on each mechanism that pays for their types, by its id; none if the miner was not
    registered.
    """
    round_id, most = frozen.index, version.rules.pay.window
    added: dict[str, set[str]] = {}
    for entry in await tx.windows.of_round(round_id):
        if entry.hotkey == hotkey:
            added.setdefault(entry.skill_type, set()).add(entry.task_id)
    if not added:
        return (), ()
    entries = await tx.windows.newest(hotkey, most + _MORE, round_id)
    later = await tx.windows.added_after(hotkey, round_id)
    changed = tuple(
        _window(version, round_id, name, entries[name], added[name], later[name])
        for name in WINDOW_TYPES
        if name in added
    )
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons} - {frozen.validator_hotkey}
    if hotkey not in registered or version.pays_tallies:  # a vector of tallies is explained as a whole
        return changed, ()
    windows: dict[str, Mapping[str, Sequence[float]]] = {**await tx.windows.all(most, round_id, registered)}
    own = {**windows[hotkey], **{name: _without(entries[name], added[name], most) for name in added}}
    standing = _frozen_standing(version, frozen)
    return changed, tuple(
        _effect(
            mechid,
            hotkey,
            version.mechanism_weights(windows, kinds, standing),
            version.mechanism_weights({**windows, hotkey: own}, kinds, standing),
        )
        for mechid, kinds in mechanisms.items()
        if not added.keys().isdisjoint(types_of(kinds))
    )


def _window(  # noqa: PLR0913, PLR0917 - a window, and what the round added to it
    version: Version,
    round_id: int,
    skill_type: str,
    entries: Sequence[WindowEntry],
    mine: Collection[str],
    later: int,
) -> TypeWindow:
    most = version.rules.pay.window
    window = entries[-most:]
    values = [entry.value for entry in window]
    dropped = max(0, len(window) + later - most)
    return TypeWindow(
        skill_type=skill_type,
        entries=tuple(
            Entry(
                one.task_id,
                one.value,
                at,
                at - dropped if at > dropped else None,
                None if one.round_id == round_id else one.round_id,
            )
            for at, one in enumerate(window, 1)
            if one.task_id in mine
        ),
        length=len(window),
        mean=mean(values),
        warm_up=warm_up(version, len(window)),
        score_before=type_score(version, _without(entries, mine, most)),
        score_after=type_score(version, values),
    )


def _without(entries: Sequence[WindowEntry], added: Collection[str], most: int) -> list[float]:
    """Return the newest values but those of the answers to these tasks, whose ids no two rounds share."""
    return [entry.value for entry in entries if entry.task_id not in added][-most:]


def _frozen_standing(version: Version, frozen: RoundInput) -> dict[str, MinerStanding]:
    """Return each miner's standing in the round's input, which does not tell unproven ones: here all are proven."""
    return {
        miner.hotkey: MinerStanding(
            collusion_flags=miner.flags,
            types={
                str(kind): TypeStanding(
                    declared=True,
                    reputation=miner.reputations.get(kind, version.rules.reputation.start),
                    dispatches=history.dispatches,
                    failures=history.failures,
                    proven=True,
                )
                for kind in miner.skill_types
                for history in [miner.history.get(kind, TypeHistory())]
            },
        )
        for miner in frozen.miners
    }


def _effect(mechid: int, hotkey: str, after: WeightPlan, without: WeightPlan) -> WeightEffect:
    return WeightEffect(
        mechid=mechid,
        score=after.scores[hotkey],
        score_without=without.scores[hotkey],
        weight=after.weights.get(hotkey, 0.0),
        weight_without=without.weights.get(hotkey, 0.0),
    )
