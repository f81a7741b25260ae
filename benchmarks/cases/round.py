"""A whole round's groups and scores, beside the draws that no plan can leave out: those for its auditors."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from harness import Case, per_second
from random_rounds import crowded

from validator.protocol.draws import draws_of
from validator.protocol.round import RoundInput, RoundPlan, RoundResults
from validator.scoring import CURRENT, version

_SCORED_BY: Final = version(CURRENT)
_DEMANDS: Final = {64: "≥ 150", 256: "≥ 80"}


def cases() -> Iterator[Case]:
    """Yield rounds in which most reputations differ, and rounds of miners that are all new."""
    for miners, demand in _DEMANDS.items():
        for standing, new in (("reputations differ", False), ("all new", True)):
            frozen, plan, results = crowded(miners, _SCORED_BY, new=new)
            yield Case(
                f"plan and score, 12 tasks, {miners} miners, {standing}",
                "rounds/s",
                per_second(partial(_whole, frozen, plan, results)),
                per_second(partial(_drawn, frozen, plan)),
                "the auditors' draws alone",
                demand,
            )


def _whole(frozen: RoundInput, plan: RoundPlan, results: RoundResults) -> object:
    if _SCORED_BY.plan(frozen) != plan:
        raise RuntimeError("the plan is another one")
    return _SCORED_BY.score(frozen, plan, results)


def _drawn(frozen: RoundInput, plan: RoundPlan) -> object:
    seed = bytes.fromhex(frozen.seed)
    pools = [
        (draws_of(seed, "auditor", frozen.round_id, group.task_id), {*group.primaries, *group.excluded})
        for group in plan.groups
    ]
    return [draw(miner.hotkey) for draw, others in pools for miner in frozen.miners if miner.hotkey not in others]
