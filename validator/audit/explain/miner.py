"""A miner's last rounds in short, for `validator explain UID`: results by type, what blocks its pay, last failures."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import UNSET, UnsetType

from sssa.protocol.arithmetic import mean
from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.reasons import Reason, meaning_of
from sssa.protocol.skill_types import WINDOW_TYPES, SkillType
from sssa.protocol.sssa import Document
from sssa.scoring import Version20
from validator.audit.explain.round_explanation import NothingToExplainError, find_hotkey
from validator.store import Transaction
from validator.store.repositories.miners import usable_types
from validator.store.rows import DescribedUnpaid, ScoreRecord
from validator.store.vector_inputs import UNMIXED, Mechanisms, Paid, paid_now

_FAILURES: Final = 5
_STEPS: Final = 5


class Point(Document, frozen=True):
    """One task and its window entry, from its round or a later one; None without one (D-7). `failed`: at a gate."""

    round_id: int
    task_id: str
    value: float | None
    failed: bool


class TypeSummary(Document, frozen=True):
    """One type in the rounds looked at.

    Attributes:
        declared: whether the declaration that counts now names it.
        mean_emission: of what entered the window in them; None where nothing did.
        points: its tasks, oldest first.
        window_entries: that count now, at most 100; `score` is their mean times the warm-up (SPEC 11).
    """

    skill_type: SkillType
    declared: bool
    reputation: float
    tasks: int
    failures: int
    failure_rate: float | None
    mean_emission: float | None
    points: tuple[Point, ...]
    window_entries: int
    score: float


class Failure(Document, frozen=True):
    """A dispatch that failed a gate."""

    round_id: int
    task_id: str
    skill_type: SkillType
    role: str
    reason: Reason
    meaning: str | None
    detail: str | None


class ComponentShare(Document, frozen=True):
    """A component of a type under 2.0.0 (SPEC 17, D-41).

    Attributes:
        got, offered: N and D of the miner's entries of the type.
        pool: p, of all miners; the miner's own ratio leans on it.
        own: o, of all of the miner's types; the type's ratio leans on it.
        ratio: r, of the type.
        value: what enters the quality, times `weight`.
    """

    name: str
    weight: float
    got: float
    offered: float
    pool: float
    own: float
    ratio: float
    value: float


class TypeTally(Document, frozen=True):
    """A type that tallies pay. Quality, mean epsilon and presence make `worth`, its part of the score without ramp."""

    skill_type: str
    components: tuple[ComponentShare, ...]
    epsilon: float
    quality: float
    presence: float
    worth: float


class TallyPayment(Document, frozen=True):
    """The way from a miner's tallies to its pay (SPEC 17, D-41, D-42).

    Attributes:
        entries: n, of all types.
        ramp: n / (n + 20).
        factor: f, what the curated record leaves.
        score: of the tallies, with ramp and factor.
        share: part of the assessments' pay that tallies decide.
    """

    entries: int
    ramp: float
    factor: float
    score: float
    share: float
    types: tuple[TypeTally, ...]


class MinerExplanation(Document, frozen=True):
    """The current state of a miner, and its last rounds.

    Attributes:
        uid: of the newest snapshot with it; `registered` says whether the newest stored metagraph names the hotkey.
        rounds: ids of the rounds looked at, newest first: the last ones in which the miner was scored.
        scoring_version: that of the newest frozen round, whose rules pay.
        score: sum over the types that are paid, from the windows as they are now.
        weights: by mechanism, among those registered now; empty if it is not.
        unpaid: windows that would not be paid now, in the order of SPEC 1, and what brings each back (SPEC 11, D-23).
        failures: the newest of the rounds looked at.
        tallies: how its tallies are paid; unset before 2.0.0.
    """

    hotkey: str
    uid: int
    registered: bool
    rounds: tuple[int, ...]
    flags: int
    ejected: bool
    scoring_version: str
    score: float
    weights: dict[int, float]
    unpaid: tuple[DescribedUnpaid, ...]
    types: tuple[TypeSummary, ...]
    failures: tuple[Failure, ...]
    tallies: TallyPayment | UnsetType = UNSET


async def explain_miner(
    tx: Transaction, who: str, last: int, now: datetime, mechanisms: Mechanisms = UNMIXED
) -> MinerExplanation:
    """Return the last rounds of `who`: a hotkey, the beginning of one, or a uid of the newest metagraph.

    Raises:
        NothingToExplainError: nobody known is meant.
        NotAMinerError, AmbiguousMinerError: `who` names no hotkey, or several.
    """
    known = await tx.miners.uids()
    hotkey = find_hotkey(who, {uid: one for one, uid, here in known if here}, (one for one, _, _ in known))
    if hotkey is None:
        raise NothingToExplainError(f"nobody known is `{who}`; `validator neurons list` shows everyone ever seen")
    uid, registered = next((uid, here) for one, uid, here in known if one == hotkey)
    registered_now = {one for one, _, is_here in known if is_here}
    paying = {mechid: await paid_now(tx, mechid, kinds, registered_now) for mechid, kinds in mechanisms.items()}
    first = next(iter(paying.values()))
    pays = first.basis.version
    scores = await tx.scores.of_miner(hotkey, last * pays.rules.groups.slots_per_type * len(WINDOW_TYPES))
    rounds = tuple(dict.fromkeys(score.round_id for score in scores))[:last]
    scores = tuple(score for score in scores if score.round_id in rounds)
    flags = (await tx.flags.standing()).get(hotkey, 0)
    unpaid = {one.skill_type: one.described for each in paying.values() for one in each.unpaid if one.hotkey == hotkey}
    late = await tx.code_checks.entered_of(hotkey, rounds)
    types = await _types(tx, first, hotkey, scores, now, late)
    return MinerExplanation(
        hotkey=hotkey,
        uid=uid,
        registered=registered,
        rounds=rounds,
        flags=flags,
        ejected=flags >= pays.rules.groups.ejecting_flags,
        scoring_version=pays.name,
        score=first.score(hotkey, unpaid),
        weights={mechid: each.plan.weights.get(hotkey, 0.0) for mechid, each in paying.items()} if registered else {},
        unpaid=tuple(unpaid[name] for name in WINDOW_TYPES if name in unpaid),
        types=types,
        failures=await _failures(tx, hotkey, scores),
        tallies=_tallies(first, hotkey),
    )


def _tallies(paid: Paid, hotkey: str) -> TallyPayment | UnsetType:
    tallied, by = paid.plan.tallied, paid.basis.version
    if tallied is None or not isinstance(by, Version20):
        return UNSET
    entries, rules = tallied.entries.get(hotkey, 0), by.rules.components
    weights = dict(rules.weights)
    return TallyPayment(
        entries=entries,
        ramp=entries / (entries + rules.ramp),
        factor=tallied.factors.get(hotkey, 1.0),
        score=tallied.scores.get(hotkey, 0.0),
        share=tallied.share,
        types=tuple(
            TypeTally(
                skill_type=name,
                components=tuple(
                    ComponentShare(one, weights[one], r.got, r.offered, tallied.pool[one], r.own, r.ratio, r.value)
                    for one, r in part.components.items()
                ),
                epsilon=part.epsilon,
                quality=part.quality,
                presence=part.presence,
                worth=tallied.worth[hotkey][name],
            )
            for name, part in tallied.parts.get(hotkey, {}).items()
        ),
    )


async def _types(  # noqa: PLR0913, PLR0917 - a miner, its scores and windows
    tx: Transaction,
    paid: Paid,
    hotkey: str,
    scores: Sequence[ScoreRecord],
    now: datetime,
    late: Mapping[str, float],
) -> tuple[TypeSummary, ...]:
    windows = paid.basis.windows.get(hotkey, {})
    declared = usable_types((await tx.capabilities.valid(now)).get(hotkey))
    reputations = (await tx.state.of([hotkey])).miner(hotkey).reputations
    points: dict[str, list[Point]] = {}
    for score in reversed(scores):
        task_id, failed = score.outcome.task_id, score.outcome.reason.gate > 0
        point = Point(score.round_id, task_id, late.get(task_id, score.outcome.window_entry), failed)
        points.setdefault(str(score.skill_type), []).append(point)
    summaries = []
    for name in WINDOW_TYPES:
        if not any(name in known for known in (points, windows, declared, reputations)):
            continue
        kind, tasks = SkillType(name), points.get(name, [])
        failures = sum(point.failed for point in tasks)
        values = [point.value for point in tasks if point.value is not None]
        summaries.append(
            TypeSummary(
                skill_type=kind,
                declared=kind in declared,
                reputation=reputations.get(kind, paid.basis.version.rules.reputation.start),
                tasks=len(tasks),
                failures=failures,
                failure_rate=failures / len(tasks) if tasks else None,
                mean_emission=mean(values) if values else None,
                points=tuple(tasks),
                window_entries=len(windows.get(name, ())),
                score=paid.type_score(hotkey, name),
            )
        )
    return tuple(summaries)


async def _failures(tx: Transaction, hotkey: str, scores: Sequence[ScoreRecord]) -> tuple[Failure, ...]:
    failed = [score for score in scores if score.outcome.reason.gate][:_FAILURES]
    failures = []
    for score in failed:
        record = await tx.dispatches.get(DispatchKey(score.round_id, score.outcome.task_id, hotkey))
        failures.append(
            Failure(
                round_id=score.round_id,
                task_id=score.outcome.task_id,
                skill_type=score.skill_type,
                role=score.outcome.role,
                reason=score.outcome.reason,
                meaning=meaning_of(score.outcome.reason),
                detail=record.detail if record else None,
            )
        )
    return tuple(failures)
