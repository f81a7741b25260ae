"""State changes of an ended round that are the same in every scoring version; each version's `step` calls them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, structs

from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    AssessedMember,
    AssessmentTask,
    ClearedFlag,
    FailedMember,
    FlagsCleared,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    is_submitted,
)
from sssa.protocol.tallies import Tally
from sssa.protocol.workflow_run import WorkflowRun
from sssa.state.mechanism_state import (
    EPOCHS,
    FROZEN_ROUNDS,
    LATE_ROUNDS,
    NO_PAST,
    Delta,
    FrozenRound,
    Late,
    Mechanism,
    Miner,
    Pair,
    PairKey,
    Shared,
    State,
    late_key,
)
from sssa.state.tallies import presence_after

_EXCLUDING: Final = (Reason.LOW_REPUTATION, Reason.FAILURE_RATE)


class Ended(Struct, frozen=True):
    """A frozen round that ended.

    Attributes:
        frozen: its input, with the acts of the operator.
        outcome: of a settled round; None of the others.
        measured: (task_id, hotkey) to what is known of a run whose quality is to come.
    """

    frozen: RoundInput
    plan: RoundPlan
    state: Literal["settled", "void", "abandoned"]
    outcome: RoundOutcome | None = None
    measured: Mapping[tuple[str, str], WorkflowRun] = {}


class UnknownFlagError(ValidatorError):
    """An act clears a flag that does not stand.

    Args:
        place: of the flag in the acts, as `[i].flags[j]`.
    """

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


def apply(state: State, delta: Delta) -> State:
    """Return the state after a step."""
    return State({**state.miners, **delta.miners} if delta.miners else state.miners, delta.shared)


class Change:
    """A delta in the making.

    Attributes:
        shared: what belongs to no miner, as changed so far.
    """

    def __init__(self, state: State) -> None:
        self.shared: Shared = state.shared
        self._state = state
        self._miners: dict[str, Miner] = {}

    def delta(self) -> Delta:
        """Return what was changed."""
        return Delta(self._miners, self.shared)

    def miner(self, hotkey: str) -> Miner:
        """Return a miner as changed so far."""
        return self._miners.get(hotkey) or self._state.miner(hotkey)

    def pair(self, key: PairKey) -> Pair:
        """Return a pair as changed so far."""
        return self.miner(key[0]).pairs.get(key[1], NO_PAST)

    def update(self, key: PairKey, **fields: Any) -> None:
        """Change fields of a pair."""
        miner, name = self.miner(key[0]), key[1]
        pair = structs.replace(miner.pairs.get(name, NO_PAST), **fields)
        self._miners[key[0]] = structs.replace(miner, pairs={**miner.pairs, name: pair})

    def change_miner(self, hotkey: str, **fields: Any) -> None:
        """Change fields of a miner."""
        self._miners[hotkey] = structs.replace(self.miner(hotkey), **fields)

    def clear(self, acts: Sequence[FlagsCleared]) -> None:
        """Take away the flags that an operator's acts clear.

        Raises:
            UnknownFlagError: one of them does not stand.
        """
        for i, act in enumerate(acts):
            for j, flag in enumerate(act.flags):
                miner = self.miner(act.hotkey)
                if flag in miner.flags:
                    remaining = tuple(one for one in miner.flags if one != flag)
                    self._miners[act.hotkey] = structs.replace(miner, flags=remaining)
                elif self._state.covers(int(flag.round_id)) or (miner.known and not miner.earlier):
                    raise UnknownFlagError(f"[{i}].flags[{j}]")
                elif miner.known:
                    self._miners[act.hotkey] = structs.replace(miner, earlier=miner.earlier - 1)

    def flag(self, hotkey: str, flag: ClearedFlag) -> None:
        """Raise a flag."""
        miner = self.miner(hotkey)
        self._miners[hotkey] = structs.replace(miner, flags=(*miner.flags, flag))

    def plan(self, frozen: RoundInput, plan: RoundPlan, *, counted: bool) -> None:
        """Record declarations and exclusions of a plan; they count however the round ends.

        Args:
            frozen: the round's input.
            plan: its groups.
            counted: it ended as settled or void: its declarations count (SPEC 11, D-23).
        """
        for task, group in zip(frozen.tasks, plan.groups, strict=True):
            for hotkey, reason in group.excluded.items():
                if reason in _EXCLUDING:
                    self.update((hotkey, task.skill_type), excluded=frozen.index)
        given = Counter(
            (hotkey, task.skill_type)
            for task, group in zip(frozen.tasks, plan.groups, strict=True)
            for hotkey, _ in group.members
        )
        order = self.shared.frozen + 1
        for miner in frozen.miners:
            for name in miner.skill_types:
                fields: dict[str, Any] = {"candidate": order}
                if isinstance(miner.turns, dict) and name in miner.turns:
                    fields["turn"] = miner.turns[name] + given[miner.hotkey, name]
                self.update((miner.hotkey, name), **fields)
        rounds, snapshot, declared = self.shared.rounds, frozen.snapshot, self._declared(frozen)
        if rounds and rounds[-1].declared == declared:
            declared = rounds[-1].declared  # one object
        barred = self._barred(frozen, plan)
        newest = FrozenRound(frozen.index, snapshot.block, frozen.scoring_version, declared, counted, barred)
        self.shared = structs.replace(
            self.shared,
            netuid=snapshot.netuid,
            block=snapshot.block,
            block_time=snapshot.block_time,
            frozen=order,
            rounds=(*rounds, newest)[-FROZEN_ROUNDS:],
        )

    def _declared(self, frozen: RoundInput) -> bytes:
        """Return a bit for each pair that the input declares; number those that no round declared before."""
        bits = bytearray()
        for miner in frozen.miners:
            for name in miner.skill_types:
                number = self.pair((miner.hotkey, name)).number
                if number is None:
                    number = self.shared.numbered
                    self.shared = structs.replace(self.shared, numbered=number + 1)
                    self.update((miner.hotkey, name), number=number)
                bits.extend(bytes(max(0, number // 8 + 1 - len(bits))))
                bits[number // 8] |= 1 << number % 8
        return bytes(bits)

    def _barred(self, frozen: RoundInput, plan: RoundPlan) -> tuple[int, ...]:
        """Return the numbers of the pairs that the plan excludes for another reason than open dispatches."""
        barred = {
            self.pair((hotkey, task.skill_type)).number
            for task, group in zip(frozen.tasks, plan.groups, strict=True)
            for hotkey, reason in group.excluded.items()
            if reason != Reason.IN_FLIGHT
        }
        return tuple(sorted(number for number in barred if number is not None))

    def receive_late(self, round_id: int, task_id: str, hotkey: str | None = None) -> None:
        """Remove results from those awaited; remember those of rounds that the state does not know.

        Args:
            round_id: of which round.
            task_id: of which task.
            hotkey: whose late quality it is; None: the results of the task's execution.
        """
        late, shared = self.shared.late, self.shared
        remaining = late.get(round_id, Late()).without(task_id, hotkey)
        if remaining is None:
            unknown = shared.late_unknown | {late_key(round_id, task_id, hotkey)}
            self.shared = structs.replace(shared, late_unknown=unknown)
        else:
            rest = {number: one for number, one in late.items() if number != round_id}
            self.shared = structs.replace(shared, late=rest | {round_id: remaining} if remaining else rest)

    def await_late(self, round_id: int, late: Late) -> None:
        """Add the results awaited of a round; those of the oldest are dropped where there are too many."""
        kept, since = {**self.shared.late, round_id: late}, self.shared.late_since
        for number in sorted(kept)[: max(0, len(kept) - LATE_ROUNDS)]:
            del kept[number]
            since = number + 1
        self.shared = structs.replace(self.shared, late=kept, late_since=since)


def apply_acts(state: State, acts: Sequence[FlagsCleared]) -> State:
    """Return the state with an operator's acts applied (UnknownFlagError: one clears a flag that does not stand)."""
    change = Change(state)
    change.clear(acts)
    return apply(state, change.delta())


def begin_step(state: State, ended: Ended) -> Change:
    """Return the change by a round's acts and plan, which count however it ends.

    Raises:
        UnknownFlagError: an act clears a flag that does not stand.
    """
    change = Change(state)
    change.clear(ended.frozen.acts)
    change.plan(ended.frozen, ended.plan, counted=ended.state != "abandoned")
    _count_presence(change, ended)
    _remember_sources(change, ended.frozen)
    return change


def _count_presence(change: Change, ended: Ended) -> None:
    """Count the dispatches of a round's candidates, and those they answered (SPEC 17, D-48)."""
    counts = Counter[tuple[PairKey, str]]()
    if ended.outcome is not None:
        members = {(one.task_id, one.hotkey): one for one in ended.outcome.members}
        settled = {group.task_id for group in ended.outcome.groups if group.task_state == "settled"}
        for task, group in zip(ended.frozen.tasks, ended.plan.groups, strict=True):
            if task.task_id not in settled or is_submitted(task):
                continue
            for hotkey, _ in group.members:
                member, key = members.get((task.task_id, hotkey)), (hotkey, task.skill_type)
                if isinstance(member, AssessedMember | FailedMember) and isinstance(member.tally, Tally):
                    counts.update({(key, "asked"): 1, (key, "answered"): 1})
                elif not isinstance(member, AssessedMember):
                    counts.update({(key, "asked"): 1})
    for miner in ended.frozen.miners:
        for name, lifted in (miner.presence or {}).items():
            key = miner.hotkey, name
            change.update(key, presence=presence_after(lifted, counts[key, "asked"], counts[key, "answered"]))


def _remember_sources(change: Change, frozen: RoundInput) -> None:
    """Record the source bundles that a round froze, with the round."""
    if change.shared.sources is not None:
        for task in frozen.tasks:
            if isinstance(task, AssessmentTask):
                change.shared.sources.setdefault(task.source_sha256, frozen.index)


def step_unscored(state: State, ended: Ended) -> Delta:
    """Return what a void or abandoned round changes, in every scoring version (UnknownFlagError: as `begin_step`)."""
    return begin_step(state, ended).delta()


def start_at(state: State, round_id: int) -> State:
    """Return the state that knows all rounds from this one on; unchanged if it knew some."""
    shared = state.shared
    if shared.since is not None:
        return state
    return State(state.miners, structs.replace(shared, since=round_id, sources=None if round_id else {}))


def mark_unknown_plan(state: State, round_id: int) -> State:
    """Return the state after an abandoned round with an unreadable plan: its exclusions are unknown."""
    return State(state.miners, structs.replace(state.shared, unknown_plan=round_id))


def mark_hidden_truths(state: State, level: int) -> State:
    """Return the state after a round of which not all truths are shown; see `Shared.blind`."""
    return State(state.miners, structs.replace(state.shared, blind=max(level, state.shared.blind)))


def record_vector(state: State, mechanism: Mechanism, epoch: int, round_id: str | None) -> State:
    """Return the state after a vector of an epoch was computed: the next one counts declarations since then (D-23)."""
    shared = state.shared
    epochs = {**shared.vectors.get(mechanism, {}), epoch: round_id}
    kept = {epoch: epochs[epoch] for epoch in sorted(epochs)[-EPOCHS:]}
    return State(state.miners, structs.replace(shared, vectors={**shared.vectors, mechanism: kept}))
