"""Additional input of a 2.0.0 round, frozen from the state before it, and its groups (SPEC 17, D-34, D-35)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec import UNSET, structs

from sssa.protocol.round import AssessmentTask, MinerState, RoundInput, RoundTask, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.protocol.tallies import NO_PRESENCE, Presence
from sssa.scoring.scoring_types import LastTurn, PlannedTask, TurnCandidate
from sssa.scoring.v1.planning import with_late_failures
from sssa.scoring.v2.groups import next_turns, select_group
from sssa.scoring.v2.rules import Ruled20
from sssa.state.mechanism_state import State
from sssa.state.tallies import record_of


def complete(version: Ruled20, state: State, frozen: RoundInput) -> RoundInput:
    """Return an input with the additional fields of 2.0.0, of the state before it with its acts applied."""
    turns = _turns(version, state, frozen)
    miners = []
    for miner in frozen.miners:
        own, past = turns[miner.hotkey], state.miner(miner.hotkey)
        miners.append(
            structs.replace(
                miner,
                turns={name: turn for name, (turn, _) in own.items()},
                presence={name: presence for name, (_, presence) in own.items() if name != SkillType.WORKFLOW},
                record=record_of(past.answers),
                curated=record_of(past.curated),
            )
        )
    return structs.replace(frozen, miners=tuple(miners), tasks=tuple(_with_first(state, frozen)))


def _with_first(state: State, frozen: RoundInput) -> Iterator[RoundTask]:
    """Yield the tasks, and of each assessment whether nothing that was frozen before has its source bundle (D-49)."""
    here, before = set[str](), state.shared.sources or {}
    for task in frozen.tasks:
        if not isinstance(task, AssessmentTask):
            yield task
            continue
        source = task.source_sha256
        known = source in here or before.get(source, frozen.index) < frozen.index
        here.add(source)
        yield structs.replace(task, first=not known)


def _turns(version: Ruled20, state: State, frozen: RoundInput) -> Mapping[str, dict[SkillType, tuple[int, Presence]]]:
    """Return turns and presence of every miner for the types that it declares (D-34, D-48)."""
    newest = state.shared.rounds[-1] if state.shared.rounds else None
    previous: defaultdict[SkillType, dict[str, LastTurn]] = defaultdict(dict)
    candidates: defaultdict[SkillType, list[str]] = defaultdict(list)
    for miner in frozen.miners:
        for name in miner.skill_types:
            candidates[name].append(miner.hotkey)
            pair = state.pair(miner.hotkey, name)
            stayed = newest is not None and newest.declares(pair.number) and pair.number not in newest.barred
            if pair.presence is not None or stayed:
                absent = state.shared.frozen - pair.candidate
                previous[name][miner.hotkey] = LastTurn(pair.turn, pair.presence or NO_PRESENCE, stayed, absent)
    turns: defaultdict[str, dict[SkillType, tuple[int, Presence]]] = defaultdict(dict)
    for name in SkillType:
        for hotkey, turn in next_turns(version, previous[name], candidates[name]).items():
            turns[hotkey][name] = turn
    return {miner.hotkey: turns[miner.hotkey] for miner in frozen.miners}


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
