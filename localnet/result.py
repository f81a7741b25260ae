"""The result of a run of the local network: read back from the store and the chain, as anybody could."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from localnet.analysis_cost import BundleEffort
from localnet.executions.story import ExecutionStory, execution_story
from localnet.own.task_separation import OwnStory
from localnet.roster import Resident
from localnet.vector_comparison import Payout
from sssa.protocol.arithmetic import mean
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessedMember, MemberOutcome, RanMember
from sssa.protocol.skill_types import SkillType
from validator.rounds.facts import EndedRound
from validator.store import Store, Transaction
from validator.store.rows import FlagDetail, FlagRecord, WeightsRecord
from validator.store.vector_inputs import UNMIXED, paid_now

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class CohortPay:
    """One epoch's vector, as far as it concerns the cohort; weights are shares of the vector.

    Attributes:
        epoch: of the vector.
        state: of its submission.
        ejected: how many of the cohort had been ejected when the vector was computed.
        ejected_weight: what these got.
        weight: what the whole cohort got.
    """

    epoch: int
    state: str
    ejected: int
    ejected_weight: float
    weight: float


@dataclass(frozen=True, slots=True)
class CohortStory:
    """Results of the cohort.

    Attributes:
        members: hotkeys.
        ejections: hotkey to the round that raised the flag by which it was ejected.
        paid: every vector of the run, oldest first.
    """

    members: tuple[str, ...]
    ejections: dict[str, int]
    paid: tuple[CohortPay, ...]


async def cohort_story(tx: Transaction, cohort: Collection[str], ejecting: int, mechid: int) -> CohortStory:
    """Return when members of a cohort were ejected and what each vector of a mechanism paid them.

    Args:
        tx: reads.
        cohort: hotkeys.
        ejecting: so many standing flags eject (SPEC 8).
        mechid: the mechanism.
    """
    ejections = _ejections(await tx.flags.listing(), cohort, ejecting)
    records = [record for record in await tx.weights.listing(_ALL) if record.mechid == mechid]
    return CohortStory(
        tuple(cohort),
        {hotkey: flag.round_id for hotkey, flag in ejections.items()},
        tuple(_pay(record, cohort, ejections) for record in reversed(records)),
    )


def _ejections(flags: Sequence[FlagRecord], cohort: Collection[str], ejecting: int) -> dict[str, FlagRecord]:
    raised = defaultdict(list)
    for record in flags:
        raised[record.hotkey].append(record)
    return {hotkey: raised[hotkey][ejecting - 1] for hotkey in cohort if len(raised[hotkey]) >= ejecting}


def _pay(record: WeightsRecord, cohort: Collection[str], ejections: Mapping[str, FlagRecord]) -> CohortPay:
    out = [hotkey for hotkey, flag in ejections.items() if flag.raised_at <= record.created_at]
    return CohortPay(
        record.epoch,
        record.state,
        len(out),
        math.fsum(record.vector.get(hotkey, 0.0) for hotkey in out),
        math.fsum(record.vector.get(hotkey, 0.0) for hotkey in cohort),
    )


M = TypeVar("M", AssessedMember, RanMember)
_MECHID = 0
_RAN = (Reason.ACCEPTED, Reason.WORKFLOW_DEFERRED)


@dataclass(frozen=True, slots=True)
class MinerResult:
    """One line of the final table; means are None where nothing had a value.

    Attributes:
        mean_workflow: over the plans that were run and judged.
        weight: in the first validator's last vector.
        on_chain: share of that validator's row on the chain.
        aggregate: share of what the subnet pays, by the rows of all validators.
    """

    hotkey: str
    name: str
    behaviour: str
    tasks: int
    mean_quality: float | None
    mean_consensus: float | None
    mean_workflow: float | None
    reputation: float
    flags: int
    score: float
    weight: float
    on_chain: float
    aggregate: float
    reasons: Mapping[Reason, int]
    promotions: int


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """The whole run, from the first validator; of the others the rows on the chain.

    Attributes:
        rounds: how many ended.
        settled: how many of them were settled.
        tasks: tasks of the settled rounds.
        full_groups: tasks with groups of 3+2.
        plans: plans that were run.
        planners_weight: of the last vector, what those get who answer workflow tasks.
        most_open: most requests open at once, per round.
        dispatches: planned dispatches, per round.
        miners: by score, descending.
        flags: with the agreements that led to each.
        submission: the last weight submission.
        cohort: the result of those who turned.
        executions: the result of answers that were run again, or why none was.
        payout: the rows of all validators, and who is paid what by all of them.
        effort: what the miners' analyses cost, per bundle.
        own: the result of an owner's tasks; None without them.
        weights_sum: of its vector.
        unallocated_uid: who got what could not be placed.
    """

    rounds: int
    settled: int
    tasks: int
    full_groups: int
    plans: int
    planners_weight: float
    most_open: Sequence[int]
    dispatches: Sequence[int]
    miners: Sequence[MinerResult]
    flags: Sequence[FlagDetail]
    submission: WeightsRecord | None
    cohort: CohortStory
    executions: ExecutionStory
    payout: Payout
    effort: Sequence[BundleEffort]
    own: OwnStory | None = None

    @property
    def weights_sum(self) -> float:
        """Sum of the last vector sent, the unallocated part included."""
        if self.submission is None:
            return 0.0
        return math.fsum((*self.submission.vector.values(), self.submission.unallocated))


async def read_result(  # noqa: PLR0913, PLR0917 - what a run leaves behind, each part from another place
    store: Store,
    payout: Payout,
    residents: Mapping[str, Resident],
    ends: Sequence[EndedRound],
    no_executions: str,
    effort: Sequence[BundleEffort],
) -> NetworkResult:
    """Return what the store and the chain say about the run, and what its analyses cost."""
    async with store.read() as tx:
        paid = await paid_now(tx, _MECHID, UNMIXED[_MECHID], residents)
        rules = paid.basis.version.rules
        scores: defaultdict[str, list[MemberOutcome]] = defaultdict(list)
        promotions: Counter[str] = Counter()
        for end in ends:  # round by round: each is unpacked once, not once per miner
            for outcome in await tx.scores.of_round(int(end.round_id)):
                scores[outcome.hotkey].append(outcome)
            for group in await tx.groups.of_round(int(end.round_id)):
                promotions.update(group.plan.promoted)
        state = await tx.state.whole()
        standing = await tx.flags.standing()
        submission = await tx.weights.latest(_MECHID)
        turned = [hotkey for hotkey, resident in residents.items() if resident.kind == "cohort"]
        cohort = await cohort_story(tx, turned, rules.groups.ejecting_flags, _MECHID)
        executions = await execution_story(tx, residents, no_executions)
        flags = [
            detail for flag in await tx.flags.listing(include_cleared=True) for detail in await tx.flags.get(flag.id)
        ]
    planners = [hotkey for hotkey, resident in residents.items() if SkillType.WORKFLOW in resident.skill_types]
    on_chain = payout.rows[0].shares
    miners = [
        MinerResult(
            hotkey=hotkey,
            name=resident.name,
            behaviour=resident.kind,
            tasks=len(scores[hotkey]),
            mean_quality=_mean([one.emission.quality for one in _of(AssessedMember, scores[hotkey]) if one.emission]),
            mean_consensus=_mean([one.consensus for one in _of(AssessedMember, scores[hotkey]) if one.components]),
            mean_workflow=_mean([one.workflow.score.score for one in _of(RanMember, scores[hotkey]) if one.workflow]),
            reputation=_mean([*state.miner(hotkey).reputations.values()]) or 0.5,
            flags=standing.get(hotkey, 0),
            score=paid.plan.scores.get(hotkey, 0.0),
            weight=submission.vector.get(hotkey, 0.0) if submission else 0.0,
            on_chain=on_chain.get(hotkey, 0.0),
            aggregate=payout.aggregate.get(hotkey, 0.0),
            reasons=_reasons(scores[hotkey]),
            promotions=promotions[hotkey],
        )
        for hotkey, resident in residents.items()
    ]
    return NetworkResult(
        rounds=len(ends),
        settled=sum(end.outcome is not None for end in ends),
        tasks=sum(len(end.outcome.groups) for end in ends if end.outcome),
        full_groups=sum(group.mode == "full" for end in ends if end.outcome for group in end.outcome.groups),
        plans=sum(outcome.reason in _RAN for hotkey in planners for outcome in scores[hotkey]),
        planners_weight=math.fsum(miner.weight for miner in miners if miner.hotkey in planners),
        most_open=[end.returned.most_open for end in ends if end.returned],
        dispatches=[len(end.outcome.members) for end in ends if end.outcome],
        miners=sorted(miners, key=lambda miner: (-miner.score, miner.name)),
        flags=flags,
        submission=submission,
        cohort=cohort,
        executions=executions,
        payout=payout,
        effort=effort,
    )


def _reasons(scores: Sequence[MemberOutcome]) -> dict[Reason, int]:
    counted = Counter(outcome.reason for outcome in scores)
    return {reason: counted[reason] for reason in sorted(counted, key=lambda r: (r.gate, r))}


def _of(kind: type[M], scores: Sequence[MemberOutcome]) -> list[M]:
    return [outcome for outcome in scores if isinstance(outcome, kind)]


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None
