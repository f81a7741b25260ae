"""What a mechanism's vector is computed from: windows, and who could be drawn (SPEC 16, D-23).

All of it follows from frozen inputs, plans and outcomes; it is read in one transaction, from rows that grow with miners
and not with rounds.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from validator.protocol.reasons import Reason
from validator.protocol.skill_types import WINDOW_TYPES, SkillType
from validator.scoring import CURRENT, MinerStanding, TypeStanding, Version, WeightPlan, version
from validator.store.computed import UnpaidWindow, VectorRecord
from validator.store.repositories.declarations import Declared
from validator.store.repositories.exclusions import Exclusion
from validator.store.transaction import Transaction

Windows = Mapping[str, Mapping[str, Sequence[float]]]


class Basis(NamedTuple):
    """What a vector is computed from.

    Attributes:
        version: of the newest round frozen before the snapshot; that of new rounds where there is none.
        windows: {hotkey: {skill_type: entries, oldest first}} of everybody who has any.
        standing: of the same, as D-23 asks for it.
        epoch: that the vector is for.
        round_id: the newest round that was frozen.
        previous: the mechanism's vector of an earlier epoch that was computed last.
        computed: the epoch's own, if it was computed before.
        next_round: id of the next round.
        since_round: declarations are those of the rounds after this one; None: of all.
        declared, exclusions: what `standing` says of declarations and of who is unproven, in full.
    """

    version: Version
    windows: Windows
    standing: Mapping[str, MinerStanding]
    epoch: int
    round_id: int | None
    previous: VectorRecord | None
    computed: VectorRecord | None = None
    declared: Declared = Declared(0, {})
    exclusions: Mapping[tuple[str, str], Exclusion] = {}
    next_round: int = 0
    since_round: int | None = None

    def unpaid(self, plan: WeightPlan) -> tuple[UnpaidWindow, ...]:
        """Return what the plan leaves unpaid, by hotkey, then in the order of SPEC 1, and since when."""
        last = self.computed or self.previous
        known = () if last is None else last.unpaid
        before = {(one.hotkey, one.skill_type, one.reason): (one.epoch, one.round_id) for one in known}
        found = []
        for hotkey, reasons in sorted(plan.unpaid.items()):
            for name in (name for name in WINDOW_TYPES if name in reasons):
                reason = Reason(reasons[name])
                since = before.get((hotkey, name, reason), (self.epoch, self.round_id))
                found.append(UnpaidWindow(hotkey, name, reason, self._detail(hotkey, name, reason), *since))
        return tuple(found)

    def _detail(self, hotkey: str, name: str, reason: Reason) -> str:  # noqa: PLR0911 - a line for each reason
        stands = self.standing.get(hotkey, MinerStanding())
        of_type = stands.types.get(name)
        if reason == Reason.COLLUSION_FLAGS:
            return f"{stands.collusion_flags} flags stand"
        if reason == Reason.UNDECLARED:
            times = self.declared.times.get((hotkey, name), 0)
            return f"declared in {times} of {self.declared.rounds} rounds"
        if reason == Reason.LOW_REPUTATION and of_type is not None:
            return f"its reputation is {of_type.reputation:.4f}"
        if reason == Reason.FAILURE_RATE and of_type is not None:
            return f"{of_type.failures} of {of_type.dispatches} failed"
        if reason == Reason.EXECUTION and of_type is not None:
            return f"{of_type.execution_fails} of its last results of execution are fails"
        if excluded := self.exclusions.get((hotkey, name)):
            return f"left out of round {excluded.round_id}: {excluded.reason}"
        return ""


async def basis_of(tx: Transaction, netuid: int, mechid: int, epoch: int, block: int) -> Basis:
    """Return what the mechanism's vector for an epoch is computed from, on a snapshot of this block.

    Raises:
        UnknownScoringVersionError: the newest round is of a version that this program does not score.
        DamagedError: what is stored is not what was stored.
    """
    newest = await tx.rounds.newest_frozen(block)
    pays = version(CURRENT if newest is None else newest.scoring_version)
    windows = await tx.windows.all(pays.rules.pay.window)
    previous = await tx.vectors.before(netuid, mechid, epoch)
    computed = await tx.vectors.of_epoch(netuid, mechid, epoch)
    since = None if previous is None else previous.round_id
    declared = await tx.declarations.since(since)
    exclusions = await tx.exclusions.standing()
    following = await tx.rounds.next_id()
    standing = await _standing(tx, pays, windows, declared, exclusions, following)
    round_id = None if newest is None else newest.round_id
    return Basis(pays, windows, standing, epoch, round_id, previous, computed, declared, exclusions, following, since)


async def basis_now(tx: Transaction, mechid: int) -> Basis:
    """Return what the mechanism's vector would be computed from now, as far as the store knows the time.

    Raises:
        UnknownScoringVersionError, DamagedError: as `basis_of`.
    """
    newest = await tx.rounds.newest_frozen()
    if newest is None:
        return await basis_of(tx, 0, mechid, 0, 0)
    computed = await tx.vectors.newest(newest.netuid, mechid)
    epoch = newest.epoch if computed is None else max(newest.epoch, computed.epoch)
    return await basis_of(tx, newest.netuid, mechid, epoch, newest.block)


async def _standing(  # noqa: PLR0913, PLR0917 - what was read
    tx: Transaction,
    pays: Version,
    windows: Windows,
    declared: Declared,
    exclusions: Mapping[tuple[str, str], Exclusion],
    following: int,
) -> dict[str, MinerStanding]:
    rules = pays.rules
    flags = await tx.acts.standing_in_log()
    reputations = await tx.reputations.all()
    failures = await tx.histories.failures(following, rules.groups.history_rounds)
    limits = rules.execution
    fails = await tx.executions.fails(following - limits.rounds, limits.results)

    def of_type(hotkey: str, name: str) -> TypeStanding:
        dispatches, failed = failures.get((hotkey, name), (0, 0))
        return TypeStanding(
            declared=declared.holds(hotkey, name),
            reputation=reputations.get((hotkey, SkillType(name)), rules.reputation.start),
            dispatches=dispatches,
            failures=failed,
            proven=(hotkey, name) not in exclusions,
            execution_fails=fails.get((hotkey, name), 0),
        )

    return {
        hotkey: MinerStanding(
            collusion_flags=flags.get(hotkey, 0), types={name: of_type(hotkey, name) for name in of_types}
        )
        for hotkey, of_types in windows.items()
    }
