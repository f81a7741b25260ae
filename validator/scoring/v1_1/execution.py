"""Executions under 1.1.0: an answer they refute is unpaid from the round that freezes the result (SPEC 16, D-30)."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from validator.protocol.round import ExecutionResult, MinerState, RoundInput, TypeHistory
from validator.protocol.skill_types import SkillType
from validator.scoring.constants import Ruled
from validator.scoring.v1_0 import planning
from validator.scoring.values import PlannedTask

Pair = tuple[str, SkillType]


def struck_entries(frozen: RoundInput) -> tuple[ExecutionResult, ...]:
    """Return the results by which window entries of earlier rounds become 0 with this one: those caught (D-30)."""
    return tuple(result for result in frozen.executions if result.event == "rerun_fail")


def plan_tasks(version: Ruled, frozen: RoundInput) -> Iterator[PlannedTask]:
    """Yield every task with its group as in 1.0.0; who was caught by execution failed that dispatch (D-30).

    The frozen histories are of before the results in the frozen input. An answer that is older than the rounds that
    failures are counted over counts no more.
    """
    return planning.plan_tasks(version, with_late_failures(version, frozen))


def with_late_failures(version: Ruled, frozen: RoundInput) -> RoundInput:
    """Return the input with a failure more for each answer that its executions catch."""
    oldest = int(frozen.round_id) - version.rules.groups.history_rounds
    caught = Counter(
        (struck.hotkey, struck.skill_type) for struck in struck_entries(frozen) if int(struck.round_id) >= oldest
    )
    miners = tuple(_with_failures(miner, caught) for miner in frozen.miners)
    return msgspec.structs.replace(frozen, miners=miners)


def _with_failures(miner: MinerState, caught: Counter[Pair]) -> MinerState:
    more = {kind: count for (hotkey, kind), count in caught.items() if hotkey == miner.hotkey}
    if not more:
        return miner
    history = {**miner.history}
    for kind, count in more.items():
        before = history.get(kind, TypeHistory())
        failures = min(before.dispatches, before.failures + count)
        history[kind] = msgspec.structs.replace(before, failures=failures)
    return msgspec.structs.replace(miner, history=history)
