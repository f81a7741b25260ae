"""Inputs of a weight vector, read from the stored state: score windows, and who could be drawn (SPEC 11, D-23)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import KINDS, WINDOW_TYPES, Kind, SkillType
from sssa.scoring import (
    CURRENT,
    MinerStanding,
    Version,
    WeightPlan,
    miner_score,
    standing_of,
    type_score,
    version,
    windows_of,
)
from sssa.state.mechanism_state import Declarations, State
from sssa.state.round_end import Change, apply, mark_unknown_plan
from validator.store.repositories.state import NOTHING
from validator.store.rows import UnpaidWindow, VectorRecord
from validator.store.transaction import Transaction

Windows = Mapping[str, Mapping[str, Sequence[Any]]]


class Basis(NamedTuple):
    """The inputs of a vector.

    Attributes:
        version: of the newest round frozen before the snapshot; that of new rounds where there is none.
        windows: {hotkey: {skill_type: entries, oldest first}} of everybody who has any.
        standing: of the same, as D-23 asks for it.
        round_id: the newest round that was frozen.
        previous, computed: the mechanism's last vector of an earlier epoch, and the epoch's own if there was one
            before.
        since_round: declarations are those of the rounds after this one; None: of all.
        state: that the rounds left, with the plans of those that are open.
        declared: the rounds whose declarations count.
    """

    version: Version
    windows: Windows
    standing: Mapping[str, MinerStanding]
    epoch: int
    round_id: int | None
    previous: VectorRecord | None
    computed: VectorRecord | None = None
    state: State = NOTHING
    declared: Declarations = Declarations((), counted=False)
    next_round: int = 0
    since_round: int | None = None

    def plan(self, hotkeys: Collection[str], kinds: Collection[Kind]) -> WeightPlan:
        """Return what a mechanism that pays for these kinds gives to these hotkeys."""
        windows = {one: of_types for one, of_types in self.windows.items() if one in hotkeys}
        basis = self.version.pay_basis(self.state, self.epoch, windows)
        return self.version.mechanism_weights(windows, kinds, self.standing, basis)

    def unpaid(self, plan: WeightPlan) -> tuple[UnpaidWindow, ...]:
        """Return what the plan leaves unpaid, by hotkey, then in the order of SPEC 1, and since when."""
        last = self.computed or self.previous
        known = () if last is None else last.unpaid
        before = {(one.hotkey, one.skill_type, one.reason): (one.epoch, one.round_id) for one in known}
        unpaid = []
        for hotkey, reasons in sorted(plan.unpaid.items()):
            for name in (name for name in WINDOW_TYPES if name in reasons):
                reason = Reason(reasons[name])
                since = before.get((hotkey, name, reason), (self.epoch, self.round_id))
                unpaid.append(UnpaidWindow(hotkey, name, reason, self._detail(hotkey, name, reason), *since))
        return tuple(unpaid)

    def _detail(self, hotkey: str, name: str, reason: Reason) -> str:  # noqa: PLR0911 - a line for each reason
        standing = self.standing.get(hotkey, MinerStanding())
        of_type, pair = standing.types.get(name), self.state.pair(hotkey, SkillType(name))
        if reason == Reason.COLLUSION_FLAGS:
            return f"{standing.collusion_flags} flags stand"
        if reason == Reason.UNDECLARED:
            times = self.declared.times(pair.number)
            return f"declared in {times} of {len(self.declared.rounds)} rounds"
        if reason == Reason.LOW_REPUTATION and of_type is not None:
            return f"its reputation is {of_type.reputation:.4f}"
        if reason == Reason.FAILURE_RATE and of_type is not None:
            return f"{of_type.failures} of {of_type.dispatches} failed"
        if reason == Reason.EXECUTION and of_type is not None:
            return f"{of_type.execution_fails} of its last results of execution are fails"
        if pair.excluded is not None:
            return f"left out of round {pair.excluded}"
        return ""


async def basis_of(tx: Transaction, netuid: int, mechid: int, epoch: int, block: int) -> Basis:
    """Return what the mechanism's vector for an epoch is computed from, on a snapshot of this block.

    Raises:
        UnknownScoringVersionError: the newest round is of a version that this program does not score.
        DamagedError: what is stored is not what was stored.
    """
    newest = await tx.rounds.newest_frozen(block)
    pays = version(CURRENT if newest is None else newest.scoring_version)
    state = await present_state(tx)
    epochs = state.shared.vectors.get((netuid, mechid), {})
    before = epochs.get(max((one for one in epochs if one < epoch), default=-1))
    since = None if before is None else int(before)
    declared = Declarations.since(state.shared, since)
    following = await tx.rounds.next_id()
    return Basis(
        version=pays,
        windows=windows_of(pays, state, state.miners),
        standing=standing_of(pays, state, state.miners, declared, following),
        epoch=epoch,
        round_id=None if newest is None else newest.round_id,
        previous=await tx.vectors.newest(netuid, mechid, before=epoch),
        computed=await tx.vectors.of_epoch(netuid, mechid, epoch),
        state=state,
        declared=declared,
        next_round=following,
        since_round=since,
    )


async def present_state(tx: Transaction) -> State:
    """Return the state with what is known of the rounds that are open: their plans count from then on."""
    state = await tx.state.whole()
    for stored in await tx.rounds.unfinished():
        round_id = stored.record.round_id
        if stored.input is None:
            state = mark_unknown_plan(state, round_id)
            continue
        change = Change(state)
        change.plan(stored.input, await tx.groups.plan_of(round_id), counted=False)
        state = apply(state, change.delta())
    return state


async def basis_now(tx: Transaction, mechid: int) -> Basis:
    """Return what the mechanism's vector would be computed from now, as far as the store knows the time."""
    newest = await tx.rounds.newest_frozen()
    if newest is None:
        return await basis_of(tx, 0, mechid, 0, 0)
    computed = await tx.vectors.newest(newest.netuid, mechid)
    epoch = newest.epoch if computed is None else max(newest.epoch, computed.epoch)
    return await basis_of(tx, newest.netuid, mechid, epoch, newest.block)


Mechanisms = Mapping[int, Sequence[Kind]]
UNMIXED: Mechanisms = {0: KINDS}


class Paid(NamedTuple):
    """Pay of a mechanism, computed now."""

    basis: Basis
    plan: WeightPlan

    @property
    def unpaid(self) -> tuple[UnpaidWindow, ...]:
        """The windows that it would leave unpaid."""
        return self.basis.unpaid(self.plan)

    def score(self, hotkey: str, unpaid: Collection[str]) -> float:
        """Return what weights are made of: the sum of the paid types' scores, from 2.0.0 on the share of all."""
        if self.plan.tallied is not None:
            return self.plan.scores.get(hotkey, 0.0)
        windows = self.basis.windows.get(hotkey, {})
        return miner_score(self.basis.version, {name: of for name, of in windows.items() if name not in unpaid})

    def type_score(self, hotkey: str, name: str) -> float:
        """Return the score of a type; from 2.0.0 on what it adds before the ramp."""
        tallied, window = self.plan.tallied, self.basis.windows.get(hotkey, {}).get(name, ())
        if tallied is not None and name != SkillType.WORKFLOW:
            return tallied.worth.get(hotkey, {}).get(name, 0.0)
        return type_score(self.basis.version, window)


async def paid_now(tx: Transaction, mechid: int, kinds: Collection[Kind], registered: Collection[str]) -> Paid:
    """Return what the mechanism would pay these hotkeys now; raises as `basis_now`."""
    basis = await basis_now(tx, mechid)
    return Paid(basis, basis.plan(registered, kinds))
