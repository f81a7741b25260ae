"""A whole round's groups from its frozen input (SPEC 8)."""

from collections import Counter
from collections.abc import Iterator, Mapping

from validator.protocol.round import MinerState, RoundInput, RoundPlan, RoundTask, TypeHistory
from validator.protocol.skill_types import SkillType
from validator.scoring.rules import Ruled
from validator.scoring.v1_0.groups import select_group
from validator.scoring.values import Candidate, PlannedTask


def plan_round(version: Ruled, frozen: RoundInput) -> RoundPlan:
    """Return the groups, planned in the order of the tasks (SPEC 8)."""
    return RoundPlan(frozen.round_id, tuple(planned.group for planned in plan_tasks(version, frozen)))


def plan_tasks(version: Ruled, frozen: RoundInput) -> Iterator[PlannedTask]:
    """Yield every task with its group; dispatches of earlier tasks count as in flight (SPEC 8, D-15)."""
    seed = bytes.fromhex(frozen.seed)
    assigned: Counter[tuple[str, SkillType]] = Counter()
    for task in frozen.tasks:
        candidates = _candidates_for(version, frozen, task, assigned)
        group = select_group(version, candidates, seed, frozen.round_id, task.task_id)
        assigned.update((hotkey, task.skill_type) for hotkey, _ in group.members)
        yield PlannedTask(task, candidates, group)


def _candidates_for(
    version: Ruled, frozen: RoundInput, task: RoundTask, assigned: Mapping[tuple[str, SkillType], int]
) -> list[Candidate]:
    """Return the registered miners that declared the task's type, never the validator itself (SPEC 8)."""
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons} - {frozen.validator_hotkey}
    return [
        _candidate(version, miner, task.skill_type, assigned.get((miner.hotkey, task.skill_type), 0))
        for miner in frozen.miners
        if miner.hotkey in registered and task.skill_type in miner.skill_types
    ]


def _candidate(version: Ruled, miner: MinerState, skill_type: SkillType, assigned: int) -> Candidate:
    history = miner.history.get(skill_type, TypeHistory())
    return Candidate(
        hotkey=miner.hotkey,
        reputation=miner.reputations.get(skill_type, version.rules.reputation.start),
        collusion_flags=miner.flags,
        in_flight=history.in_flight + assigned,
        max_concurrent=miner.max_concurrent,
        dispatches=history.dispatches,
        failures=history.failures,
        recent_roles=history.recent_roles,
    )
