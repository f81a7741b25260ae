"""Additional input of a 2.0.0 round, frozen from the state before it, and its groups (SPEC 17, D-34, D-35)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec import UNSET, structs

from validator.protocol.round import MinerState, RoundInput, TypeHistory
from validator.protocol.skill_types import SkillType
from validator.scoring.v1.planning import with_late_failures
from validator.scoring.v2.groups import next_turns, select_group
from validator.scoring.v2.rules import Ruled20
from validator.scoring.values import LastTurn, PlannedTask, TurnCandidate
from validator.state.tallies import record_of
from validator.state.values import State


def complete(version: Ruled20, state: State, frozen: RoundInput) -> RoundInput:  # noqa: ARG001 - as 1.0.0's
    """Return an input with everything that 2.0.0 freezes besides, of the state before it, its acts applied."""
    turns = _turns(state, frozen)
    return structs.replace(
        frozen,
        miners=tuple(
            structs.replace(miner, turns=turns[miner.hotkey], record=record_of(state.miner(miner.hotkey).answers))
            for miner in frozen.miners
        ),
    )


def _turns(state: State, frozen: RoundInput) -> Mapping[str, dict[SkillType, int]]:
    """Return the turns of every miner for the types that it declares (D-34)."""
    newest = state.shared.rounds[-1] if state.shared.rounds else None
    previous: defaultdict[SkillType, dict[str, LastTurn]] = defaultdict(dict)
    for miner in frozen.miners:
        for name in miner.skill_types:
            pair = state.pair(miner.hotkey, name)
            stayed = newest is not None and newest.declares(pair.number) and pair.number not in newest.barred
            previous[name][miner.hotkey] = LastTurn(pair.turn, 0, stayed)
    found: defaultdict[str, dict[SkillType, int]] = defaultdict(dict)
    for name in SkillType:
        for hotkey, turn in next_turns(previous[name], previous[name]).items():
            found[hotkey][name] = turn
    return {miner.hotkey: found[miner.hotkey] for miner in frozen.miners}


def plan_tasks(version: Ruled20, frozen: RoundInput) -> Iterator[PlannedTask]:
    """Yield every task with its candidates and group; dispatches of earlier tasks are in turns and totals (D-35)."""
    frozen = with_late_failures(version, frozen)
    seed = bytes.fromhex(frozen.seed)
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons} - {frozen.validator_hotkey}
    miners = [miner for miner in frozen.miners if miner.hotkey in registered]
    given: Counter[tuple[str, SkillType]] = Counter()
    totals: Counter[str] = Counter({one.hotkey: sum((one.turns or {}).values()) for one in miners})
    for task in frozen.tasks:
        name = task.skill_type
        candidates = [
            _candidate(version, one, name, given[one.hotkey, name], totals[one.hotkey])
            for one in miners
            if name in one.skill_types
        ]
        group = select_group(version, candidates, seed, frozen.round_id, task.task_id)
        for hotkey, _ in group.members:
            given[hotkey, name] += 1
            totals[hotkey] += 1
        yield PlannedTask(task, candidates, group)


def _candidate(version: Ruled20, miner: MinerState, name: SkillType, given: int, total: int) -> TurnCandidate:
    history = miner.history.get(name, TypeHistory())
    turns = {} if miner.turns is UNSET else miner.turns
    return TurnCandidate(
        hotkey=miner.hotkey,
        reputation=miner.reputations.get(name, version.rules.reputation.start),
        collusion_flags=miner.flags,
        in_flight=history.in_flight + given,
        max_concurrent=miner.max_concurrent,
        dispatches=history.dispatches,
        failures=history.failures,
        turn=turns.get(name, 0) + given,
        total=total,
    )
