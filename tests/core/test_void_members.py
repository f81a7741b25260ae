"""The law of void dispatches: a round is scored as if they had not been planned, D-10 aside (SPEC 16, D-26)."""

import random
from collections.abc import Collection

import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from random_rounds import Dice, returned

from sssa.protocol.reasons import OURS
from sssa.protocol.results import Judgement, RoundResults, VoidDispatch
from sssa.protocol.round import GroupPlan, RoundPlan
from sssa.scoring import score_round, window_entries
from sssa.scoring import version as version_of

Key = tuple[str, str]


def without(results: RoundResults, void: Collection[Key], alone: tuple[VoidDispatch, ...]) -> RoundResults:
    every: tuple[Judgement, ...] = (*results.passed, *results.rejections)
    return RoundResults.of((one for one in every if (one.task_id, one.hotkey) not in void), results.void, alone)


def pruned(group: GroupPlan, void: Collection[Key]) -> GroupPlan:
    primaries = tuple(hotkey for hotkey in group.primaries if (group.task_id, hotkey) not in void)
    auditors = tuple(hotkey for hotkey in group.auditors if (group.task_id, hotkey) not in void)
    return structs.replace(group, primaries=primaries, auditors=auditors)


@given(st.sampled_from(["1.0.0", "2.0.0"]), st.integers(0, 10_000), st.floats(0.05, 0.9), st.integers(0, 1_000_000))
def test_void_members_are_as_if_they_had_not_been_planned(name: str, number: int, share: float, seed: int) -> None:
    version = version_of(name)
    frozen, plan, results, _ = returned(number, version)
    dice = Dice(random.Random(seed).random)
    void_tasks = {task.task_id for task in results.void}
    void = [
        (group.task_id, hotkey)
        for group in plan.groups
        if group.task_id not in void_tasks
        for hotkey, _ in group.members
        if dice.chance(share)
    ]
    alone = tuple(VoidDispatch(*key, dice.one(sorted(OURS))) for key in void)
    outcome = score_round(version, frozen, plan, without(results, void, alone))
    smaller = RoundPlan(plan.round_id, tuple(pruned(group, void) for group in plan.groups))
    expected = score_round(version, frozen, smaller, without(results, void, ()))

    assert outcome.groups == expected.groups
    assert outcome.members == expected.members
    assert outcome.samples == expected.samples
    assert outcome.flags == expected.flags
    assert [e for e in outcome.reputation if e.kind != "recovery"] == [
        e for e in expected.reputation if e.kind != "recovery"
    ]
    # D-10: a void dispatch was one
    types = {task.task_id: task.skill_type for task in frozen.tasks}
    planned = {(hotkey, types[group.task_id]) for group in plan.groups for hotkey, _ in group.members}
    recovered = {(e.hotkey, e.skill_type) for e in outcome.reputation if e.kind == "recovery"}
    assert recovered == {(e.hotkey, e.skill_type) for e in expected.reputation if e.kind == "recovery"} - planned
    assert not {(m.task_id, m.hotkey) for m in outcome.members} & set(void)
    entered = [(entry[2], entry[0]) for entry in window_entries(frozen, outcome)]
    assert not set(entered) & set(void)


def test_a_member_that_is_missing_without_a_reason_is_an_error() -> None:
    frozen, plan, results, _ = returned(0, V1)
    one = next((answer.task_id, answer.hotkey) for answer in results.passed)
    with pytest.raises(KeyError):
        score_round(V1, frozen, plan, without(results, [one], ()))
