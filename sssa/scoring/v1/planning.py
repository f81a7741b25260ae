"""A whole round's groups from its frozen input (SPEC 8)."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import structs

from sssa.protocol.round import ExecutionResult, GroupPlan, MinerState, RoundInput, RoundPlan, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.scoring.scoring_types import Candidate, PlannedTask
from sssa.scoring.v1.groups import select_group
from sssa.scoring.v1.rules import Ruled
from sssa.scoring.v1.version_calls import Scoring
from sssa.state.mechanism_state import State


def complete(version: Ruled, state: State, frozen: RoundInput) -> RoundInput:  # noqa: ARG001 - 2.0.0 freezes more
    """Return the input with everything that the version freezes of the state before its round."""
    return frozen


def plan_round(version: Scoring, frozen: RoundInput) -> RoundPlan:
    """Return the groups, planned in the order of the tasks (SPEC 8)."""
    return RoundPlan(frozen.round_id, tuple(planned.group for planned in version.plan_tasks(frozen)))


def plan_tasks(version: Ruled, frozen: RoundInput) -> Iterator[PlannedTask]:
    """Yield every task with its group; dispatches of earlier tasks count as in flight (SPEC 8, D-15)."""
    frozen = with_late_failures(version, frozen)
    seed = bytes.fromhex(frozen.seed)
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons} - {frozen.validator_hotkey}
    pools: dict[SkillType, list[Candidate]] = {}
    for task in frozen.tasks:
        if task.skill_type not in pools:
            pools[task.skill_type] = _candidates_for(version, frozen, task.skill_type, registered)
        candidates = pools[task.skill_type]
        group = select_group(version, candidates, seed, frozen.round_id, task.task_id)
        pools[task.skill_type] = _after(candidates, group)
        yield PlannedTask(task, candidates, group)


def _candidates_for(
    version: Ruled, frozen: RoundInput, skill_type: SkillType, registered: Collection[str]
) -> list[Candidate]:
    """Return the registered miners that declared the type, never the validator itself (SPEC 8)."""
    return [
        _candidate(version, miner, skill_type)
        for miner in frozen.miners
        if miner.hotkey in registered and skill_type in miner.skill_types
    ]


def _after(candidates: Sequence[Candidate], group: GroupPlan) -> list[Candidate]:
    """Return the candidates for the next task of the type."""
    assigned = Counter(hotkey for hotkey, _ in group.members)
    return [
        structs.replace(c, in_flight=c.in_flight + assigned[c.hotkey]) if c.hotkey in assigned else c
        for c in candidates
    ]


def _candidate(version: Ruled, miner: MinerState, skill_type: SkillType) -> Candidate:
    history = miner.history.get(skill_type, TypeHistory())
    return Candidate(
        hotkey=miner.hotkey,
        reputation=miner.reputations.get(skill_type, version.rules.reputation.start),
        collusion_flags=miner.flags,
        in_flight=history.in_flight,
        max_concurrent=miner.max_concurrent,
        dispatches=history.dispatches,
        failures=history.failures,
        recent_roles=history.recent_roles,
    )


def struck_entries(frozen: RoundInput) -> tuple[ExecutionResult, ...]:
    """Return the results by which window entries of earlier rounds become 0 with this one: those caught (D-30)."""
    return tuple(result for result in frozen.executions if result.event == "rerun_fail")


def with_late_failures(version: Ruled, frozen: RoundInput) -> RoundInput:
    """Return the input with a failure more for each answer that its executions catch (D-30).

    The frozen histories are of before the results in the frozen input. An answer that is older than the rounds that
    failures are counted over counts no more.
    """
    oldest = int(frozen.round_id) - version.rules.groups.history_rounds
    caught = Counter(
        (struck.hotkey, struck.skill_type) for struck in struck_entries(frozen) if int(struck.round_id) >= oldest
    )
    miners = tuple(_with_failures(miner, caught) for miner in frozen.miners)
    return structs.replace(frozen, miners=miners)


def _with_failures(miner: MinerState, caught: Counter[tuple[str, SkillType]]) -> MinerState:
    more = {kind: count for (hotkey, kind), count in caught.items() if hotkey == miner.hotkey}
    if not more:
        return miner
    history = {**miner.history}
    for kind, count in more.items():
        before = history.get(kind, TypeHistory())
        failures = min(before.dispatches, before.failures + count)
        history[kind] = structs.replace(before, failures=failures)
    return structs.replace(miner, history=history)
