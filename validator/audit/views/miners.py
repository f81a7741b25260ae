"""Everyone ever seen on the subnet, with what they stand at now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from validator.protocol.skill_types import WINDOW_TYPES, SkillType
from validator.scoring import CURRENT, Version, version
from validator.store import Transaction
from validator.store.records import MinerRecord


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
        score: sum of `type_scores`: what weights are made of (SPEC 11).
        type_scores: per type that has entries.
        window_entries: number of entries that count, per type; warm-up ends at 20.
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


async def miner_list(tx: Transaction, now: datetime) -> tuple[MinerView, ...]:
    """Return everyone ever seen, validators included: highest score first, then by hotkey."""
    records = await tx.miners.listing(now)
    pays = version(CURRENT)
    windows = await tx.windows.all(pays.rules.pay.window)
    newest = max((record.last_seen_block for record in records), default=0)
    views = [_view(pays, record, newest, windows.get(record.hotkey, {})) for record in records]
    return tuple(sorted(views, key=lambda view: (-view.score, view.hotkey)))


def _view(pays: Version, record: MinerRecord, newest: int, windows: Mapping[str, list[float]]) -> MinerView:
    types = [name for name in WINDOW_TYPES if name in windows]
    return MinerView(
        hotkey=record.hotkey,
        uid=record.uid,
        registered=record.last_seen_block == newest,
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
        score=pays.miner_score(windows),
        type_scores={name: pays.type_score(windows[name]) for name in types},
        window_entries={name: len(windows[name]) for name in types},
    )
