"""Everyone ever seen on the subnet, with what they stand at now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from validator.audit.paid import UNMIXED, Mechanisms, paid_now
from validator.protocol.skill_types import WINDOW_TYPES, SkillType
from validator.store import Transaction
from validator.store.rows import MinerRecord, UnpaidTold, UnpaidWindow
from validator.store.vector_inputs import Basis


@dataclass(frozen=True, slots=True)
class MinerView:
    """One hotkey.

    Attributes:
        uid: of the last sight; another hotkey may hold it now unless `registered`.
        registered: whether the newest stored metagraph names it.
        skill_types: usable types of the declaration that counts now.
        reputations: of those types and of every type that ever had an event (SPEC 10).
        flags: standing ones; `ejected` from three on (SPEC 9).
        dispatches: all ever planned for it.
        score: sum of the `type_scores` that are paid: what weights are made of (SPEC 11).
        type_scores: per type that has entries.
        window_entries: number of entries that count, per type; warm-up ends at 20.
        unpaid: windows that would not be paid now, and what brings each back (SPEC 16, D-23).
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
    unpaid: tuple[UnpaidTold, ...]


async def miner_list(tx: Transaction, now: datetime, mechanisms: Mechanisms = UNMIXED) -> tuple[MinerView, ...]:
    """Return everyone ever seen, validators included: highest score first, then by hotkey.

    Args:
        tx: of the store.
        now: moment at which a declaration must be valid to give the types.
        mechanisms: which kinds of task each mechanism pays.
    """
    records = await tx.miners.listing(now)
    newest = max((record.last_seen_block for record in records), default=0)
    registered = {record.hotkey for record in records if record.last_seen_block == newest}
    paying = [await paid_now(tx, mechid, kinds, registered) for mechid, kinds in mechanisms.items()]
    unpaid: dict[str, list[UnpaidTold]] = {}
    for one in sorted((one for each in paying for one in each.unpaid), key=_place):
        unpaid.setdefault(one.hotkey, []).append(one.told)
    basis = paying[0].basis
    views = [
        _view(basis, record, tuple(unpaid.get(record.hotkey, ())), registered=record.hotkey in registered)
        for record in records
    ]
    return tuple(sorted(views, key=lambda view: (-view.score, view.hotkey)))


def _place(window: UnpaidWindow) -> int:
    return WINDOW_TYPES.index(window.skill_type)


def _view(basis: Basis, record: MinerRecord, unpaid: tuple[UnpaidTold, ...], *, registered: bool) -> MinerView:
    pays, windows = basis.version, basis.windows.get(record.hotkey, {})
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
        score=pays.miner_score({name: windows[name] for name in types if name not in not_paid}),
        type_scores={name: pays.type_score(windows[name]) for name in types},
        window_entries={name: len(windows[name]) for name in types},
        unpaid=unpaid,
    )
