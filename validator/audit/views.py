"""Read models for commands and the API: rounds, miners, faults, flags, weights. Each query uses one transaction.

Their field names are those of `--json` and of the API, so they are part of the interface.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sssa.protocol.findings import match_faults
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessmentTask, RoundInput
from sssa.protocol.skill_types import WINDOW_TYPES, SkillType
from validator.store import Transaction
from validator.store.rows import DescribedUnpaid, FlagDetail, MinerRecord, RoundRecord, WeightsRecord
from validator.store.vector_inputs import UNMIXED, Mechanisms, Paid, paid_now

MAX_FLAG_ID: Final = 2**31 - 1  # what the column holds on every database


async def flag_details(tx: Transaction, which: str) -> tuple[FlagDetail, ...]:
    """Return the flag with this id (a decimal), or every flag of this hotkey; empty where there is none."""
    is_id = which.isascii() and which.isdecimal() and len(which) < len(str(MAX_FLAG_ID))
    return await tx.flags.get(int(which) if is_id else which)


async def round_list(tx: Transaction, limit: int, before: int | None = None) -> tuple[RoundRecord, ...]:
    """Return at most `limit` rounds, newest first; with `before` only those with a smaller id."""
    return await tx.rounds.listing(limit, None if before is None else min(before, MAX_ROUND_ID))


@dataclass(frozen=True, slots=True)
class MinerView:
    """State of one miner hotkey.

    Attributes:
        uid: in the newest snapshot that contains the hotkey; another one may hold it now unless `registered`.
        skill_types: usable types of the declaration in force.
        reputations: of those types and of every type that ever had an event (SPEC 10).
        flags: number of active flags; enough of them eject the miner, see `ejected` (SPEC 9).
        score: sum of the `type_scores` that are paid: the input of the weights (SPEC 11).
        window_entries: number of entries that count, per type; warm-up ends at 20.
        unpaid: windows that would not be paid now, and how each can be paid again (SPEC 11, D-23).
    """

    hotkey: str
    uid: int
    registered: bool
    first_seen_block: int
    last_seen_block: int
    skill_types: tuple[SkillType, ...]
    reputations: Mapping[SkillType, float]
    flags: int
    ejected: bool
    dispatches: int
    score: float
    type_scores: Mapping[str, float]
    window_entries: Mapping[str, int]
    unpaid: tuple[DescribedUnpaid, ...]


async def miner_list(tx: Transaction, now: datetime, mechanisms: Mechanisms = UNMIXED) -> tuple[MinerView, ...]:
    """Return everyone ever seen, validators included: highest score first, then by hotkey.

    Types are of declarations that are valid at `now`; `mechanisms` says which kinds of task each mechanism pays.
    """
    records = await tx.miners.listing(now)
    newest = max((record.last_seen_block for record in records), default=0)
    registered = {record.hotkey for record in records if record.last_seen_block == newest}
    paying = [await paid_now(tx, mechid, kinds, registered) for mechid, kinds in mechanisms.items()]
    unpaid: dict[str, list[DescribedUnpaid]] = {}
    for one in sorted((o for each in paying for o in each.unpaid), key=lambda one: WINDOW_TYPES.index(one.skill_type)):
        unpaid.setdefault(one.hotkey, []).append(one.described)
    views = [
        _view(paying[0], record, tuple(unpaid.get(record.hotkey, ())), registered=record.hotkey in registered)
        for record in records
    ]
    return tuple(sorted(views, key=lambda view: (-view.score, view.hotkey)))


def _view(paid: Paid, record: MinerRecord, unpaid: tuple[DescribedUnpaid, ...], *, registered: bool) -> MinerView:
    pays, windows = paid.basis.version, paid.basis.windows.get(record.hotkey, {})
    not_paid = {one.skill_type for one in unpaid}
    types = [name for name in WINDOW_TYPES if name in windows]
    return MinerView(
        hotkey=record.hotkey,
        uid=record.uid,
        registered=registered,
        first_seen_block=record.first_seen_block,
        last_seen_block=record.last_seen_block,
        skill_types=record.skill_types,
        reputations={
            kind: record.reputations.get(kind, pays.rules.reputation.start)
            for kind in SkillType
            if kind in record.skill_types or kind in record.reputations
        },
        flags=record.flags,
        ejected=record.flags >= pays.rules.groups.ejecting_flags,
        dispatches=record.dispatches,
        score=paid.score(record.hotkey, not_paid),
        type_scores={name: paid.type_score(record.hotkey, name) for name in types},
        window_entries={name: len(windows[name]) for name in types},
        unpaid=unpaid,
    )


@dataclass(frozen=True, slots=True)
class FaultShare:
    """Number of known faults, and how many of them were reported."""

    matched: int
    known: int


@dataclass(frozen=True, slots=True)
class FinderView:
    """One miner's detection of known faults, over its answers that passed the gates.

    Attributes:
        families: counts by fault family, the part of `kind` before the `/`; `kinds` has them by the whole kind.
        unmatched: number of findings that match no known fault.
    """

    hotkey: str
    answers: int
    total: FaultShare
    families: dict[str, FaultShare]
    kinds: dict[str, FaultShare]
    unmatched: int


@dataclass(frozen=True, slots=True)
class FaultList:
    """Detection of the known faults in `tasks` of settled `rounds`.

    Miners are sorted by the share of faults that they reported, highest first; `kinds` is over all answers.
    """

    rounds: int
    tasks: int
    miners: tuple[FinderView, ...]
    kinds: dict[str, FaultShare]


@dataclass(slots=True)
class _Tally:
    answers: int = 0
    unmatched: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


async def fault_list(tx: Transaction, rounds: int, step: Callable[[], None] = lambda: None) -> FaultList:
    """Return how many known faults miners reported in the newest rounds; call `step` after each (DamagedError)."""
    miners: dict[str, _Tally] = {}
    settled = tasks = 0
    for record in await tx.rounds.listing(rounds):
        stored = await tx.rounds.get(record.round_id) if record.state == "settled" else None
        if stored is not None and stored.input is not None:
            settled += 1
            tasks += await _count(tx, stored.input, miners)
        step()
    everyone = _Tally()
    for tally in miners.values():
        everyone.matched += tally.matched
        everyone.known += tally.known
    views = [_finder(hotkey, tally) for hotkey, tally in miners.items()]
    views.sort(key=lambda one: (-one.total.matched / max(1, one.total.known), one.hotkey))
    return FaultList(settled, tasks, tuple(views), _shares(everyone))


async def _count(tx: Transaction, frozen: RoundInput, miners: dict[str, _Tally]) -> int:
    known = {
        task.task_id: task.truth.findings
        for task in frozen.tasks
        if isinstance(task, AssessmentTask) and task.truth is not None and isinstance(task.truth.findings, tuple)
    }
    results = await tx.submissions.results(frozen.index, known) if known else None
    for answer in results.passed if results else ():
        if not isinstance(answer, Submission):
            continue
        faults = known[answer.task_id]
        named = match_faults(faults, answer.sssa.analysis.findings)
        tally = miners.setdefault(answer.hotkey, _Tally())
        tally.answers += 1
        tally.unmatched += len(named.unplanted)
        tally.known.update(fault.kind for fault in faults)
        tally.matched.update(fault.kind for fault, by in zip(faults, named.by, strict=True) if by is not None)
    return len(known)


def _finder(hotkey: str, tally: _Tally) -> FinderView:
    families = _Tally()
    for kind, known in tally.known.items():
        family = kind.partition("/")[0]
        families.known[family] += known
        families.matched[family] += tally.matched[kind]
    total = FaultShare(tally.matched.total(), tally.known.total())
    return FinderView(hotkey, tally.answers, total, _shares(families), _shares(tally), tally.unmatched)


def _shares(tally: _Tally) -> dict[str, FaultShare]:
    return {kind: FaultShare(tally.matched[kind], tally.known[kind]) for kind in sorted(tally.known)}


@dataclass(frozen=True, slots=True)
class WeightLine:
    """One hotkey's share. `uid` is None where the newest stored metagraph does not name the hotkey."""

    hotkey: str
    uid: int | None
    score: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class WeightsView:
    """A weight submission.

    Attributes:
        sum: of the miners' weights; with the record's `unallocated` it is 1.
        miners: largest weight first, then largest score, then by hotkey; those with a score but no weight included.
        scoring_version: of the vector.
        unpaid: windows that it did not pay, with the reason at that time (SPEC 11, D-23).
    """

    record: WeightsRecord
    sum: float
    miners: tuple[WeightLine, ...]
    scoring_version: str | None
    unpaid: tuple[DescribedUnpaid, ...] | None


async def latest_weights(tx: Transaction, mechid: int) -> WeightsView | None:
    """Return the mechanism's newest weight submission, whatever the result; None before the first."""
    record = await tx.weights.latest(mechid)
    if record is None:
        return None
    vector = await tx.vectors.of_epoch(record.netuid, mechid, record.epoch)
    uids = {hotkey: uid for hotkey, uid, registered in await tx.miners.uids() if registered}
    lines = [
        WeightLine(hotkey, uids.get(hotkey), record.scores.get(hotkey), record.vector.get(hotkey, 0.0))
        for hotkey in record.vector.keys() | record.scores.keys()
    ]
    return WeightsView(
        record,
        math.fsum(record.vector.values()),
        tuple(sorted(lines, key=lambda line: (-line.weight, -(line.score or 0.0), line.hotkey))),
        None if vector is None else vector.scoring_version,
        None if vector is None else tuple(one.described for one in vector.unpaid),
    )
