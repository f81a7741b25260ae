"""Watch on pay: compares the miners that answer with those that are paid, and raises conditions. Reads the store."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.skill_types import Kind, SkillType, types_of
from sssa.scoring import CURRENT, version
from sssa.sources import Clock
from sssa.state.mechanism_state import State
from validator.cancellation import within
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.store.repositories.dispatches import RecentAnswers
from validator.telemetry.reports import Reports
from validator.weights.plan import Vector, owner_of

LEAST_PAID: Final = 7
"""Miners that together may hold a whole row: none holds more than 0.15 of it."""
_LOOKBACK: Final = timedelta(days=1)
_ASK_S: Final = 10.0
_UNKNOWN: Final = "cause unknown until a round has ended"
_LOCAL: Final = "cause unknown: chain and tasks are on this machine"
_HERE: Final = "probably our fault: the chain's endpoint or the task source cannot be reached either"
_THERE: Final = "probably their fault: the chain's endpoint and the task source can be reached"


class Crowd(NamedTuple):
    """The registered miners that answered in the last day.

    Attributes:
        types: hotkey to the types of which an answer passed its gates.
        excluded: those that are excluded from all of these types.
        failing: of the others, those whose newest round has only failures.
        first: the round in which most of the failures began; None if no miner has failed since it last answered.
    """

    types: Mapping[str, Collection[str]]
    excluded: Collection[str]
    failing: Collection[str]
    first: int | None

    @property
    def mostly_out(self) -> bool:
        """True if more than half of the miners are excluded or fail."""
        return 2 * (len(self.excluded) + len(self.failing)) > len(self.types)


def crowd_of(recent: Sequence[RecentAnswers], miners: Collection[str], ejected: Collection[str], state: State) -> Crowd:
    """Return the crowd by the last day's dispatches of registered miners; other hotkeys are ignored.

    `state` holds the exclusions by type that no passed answer has ended yet.
    """
    answered: dict[str, list[RecentAnswers]] = defaultdict(list)
    began: dict[str, int] = {}
    for one in recent:
        if one.hotkey in miners and one.answered:
            answered[one.hotkey].append(one)
        if one.failed is not None:
            began[one.hotkey] = min(one.failed, began.get(one.hotkey, one.failed))

    def is_excluded(one: RecentAnswers) -> bool:
        return state.pair(one.hotkey, SkillType(one.skill_type)).excluded is not None

    excluded = {hotkey for hotkey, its in answered.items() if hotkey in ejected or all(map(is_excluded, its))}
    failing = answered.keys() & began.keys() - excluded
    rounds = Counter(began[hotkey] for hotkey in excluded | failing if hotkey in began)
    first = min(rounds, key=lambda number: (-rounds[number], number), default=None)
    return Crowd(
        {hotkey: {one.skill_type for one in its} for hotkey, its in answered.items()}, excluded, failing, first
    )


@dataclass(slots=True)
class PayWatch:
    """Comparison of the miners that answer with those that are paid, after each round and before each vector.

    A service of the daemon. It never stops a vector.

    Args:
        away: returns whether the chain's endpoint or the task source cannot be reached; None if both are on this
            machine.
        note_check: receives the figures behind a check of `/readyz`.
    """

    store: Store
    clock: Clock
    board: Reports
    hotkey: str
    away: Callable[[], Coroutine[Any, Any, bool]] | None = None
    note_check: Callable[..., None] = lambda _check, **_facts: None
    _ended: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _snapshot: MetagraphSnapshot | None = field(init=False, default=None)
    _here: bool | None = field(
        init=False, default=None
    )  # whether our side causes the active condition; once True, kept

    def round_ended(self, snapshot: MetagraphSnapshot) -> None:
        """Note that a round on this snapshot has ended."""
        self._snapshot = snapshot
        self._ended.set()

    async def run(self) -> None:
        """Check after every round until cancelled."""
        while True:
            await self._ended.wait()
            self._ended.clear()
            with suppress(StoreAwayError):  # the writer has reported it
                if self._snapshot is not None:
                    await self._check_round(self._snapshot)

    async def check_vector(
        self, mechid: int, kinds: Sequence[Kind], snapshot: MetagraphSnapshot, vector: Vector
    ) -> None:
        """Check a vector that was computed for the snapshot (StoreAwayError: the store does not answer)."""
        crowd = await self._crowd(snapshot)
        self._show(crowd)
        of, types = f"mechanism {mechid}", set(types_of(kinds))
        answered = sum(not types.isdisjoint(its) for its in crowd.types.values())
        paid, row = sum(weight > 0 for weight in vector.weights.values()), vector.row
        total, uid = sum(row.values()), max(row, key=row.__getitem__, default=None)
        share = row[uid] / total if uid is not None else 0.0
        self.note_check(
            "pay", mechid=mechid, epoch=snapshot.epoch, paid=paid, answered=answered, largest=round(share, 4)
        )
        few = f"{of}: {paid} paid, {answered} answered in the last day" if paid < LEAST_PAID <= answered else None
        self.board.mark("weights_few_paid", few, of)
        if share > 0.5:  # noqa: PLR2004 - half
            hotkey = next((neuron.hotkey for neuron in snapshot.neurons if neuron.uid == uid), "")
            owner, role = owner_of(snapshot), "a miner"
            if owner is not None and owner.uid == uid:
                role = "the subnet's owner"
            detail = f"{of}: {share:.1%} of the row is for {role}, {hotkey} (uid {uid}); {paid} miners are paid"
            self.board.raise_("weights_concentrated", detail, of, cause=hotkey)
        else:
            self.board.clear("weights_concentrated", of)

    async def _check_round(self, snapshot: MetagraphSnapshot) -> None:
        crowd = await self._crowd(snapshot)
        if crowd.mostly_out and self.away is not None and not self._here:
            try:
                self._here = await within(self.clock, _ASK_S, self.away())
            except TimeoutError:
                self._here = True
        self._show(crowd)

    async def _crowd(self, snapshot: MetagraphSnapshot) -> Crowd:
        async with self.store.read() as tx:
            recent = await tx.dispatches.recent(self.clock.now() - _LOOKBACK)
            flags = await tx.flags.standing()
            state = await tx.state.of({one.hotkey for one in recent})
        miners = {neuron.hotkey for neuron in snapshot.neurons} - {self.hotkey}
        most = version(CURRENT).rules.groups.ejecting_flags
        return crowd_of(recent, miners, {hotkey for hotkey, count in flags.items() if count >= most}, state)

    def _show(self, crowd: Crowd) -> None:
        answered, excluded, failing = len(crowd.types), len(crowd.excluded), len(crowd.failing)
        self.note_check("miners", answered=answered, excluded=excluded, failing=failing)
        if not crowd.mostly_out:
            self._here = None
            self.board.clear("miners_out")
            return
        since = "" if crowd.first is None else f", most of them since round {crowd.first}"
        where = _LOCAL if self.away is None else {None: _UNKNOWN, True: _HERE, False: _THERE}[self._here]
        self.board.raise_(
            "miners_out",
            f"{excluded + failing} of {answered} miners that answered in the last day are out ({excluded} excluded, "
            f"{failing} failing){since}; {where}",
            cause=where,
        )
