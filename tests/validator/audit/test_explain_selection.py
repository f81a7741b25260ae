"""Explanations of selection, compared with plans that the core makes (SPEC 8)."""

from typing import Any

import msgspec
import pytest
from builders import NOTHING_LATE, V1, make_task
from hypothesis import given
from hypothesis import strategies as st

from sssa.kinds.task_explanation import Selection, explain_selection
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, MinerState, Neuron, RoundInput, TypeHistory
from sssa.protocol.skill_types import SkillType
from sssa.scoring import PlannedTask

RAG = SkillType.RAG_KNOWLEDGE
HOTKEYS = tuple(f"hotkey-{number}" for number in range(8))
AUDITED = TypeHistory(recent_roles=("auditor",) * 4)


def frozen_with(miners: dict[str, dict[str, Any]]) -> RoundInput:
    neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate((*HOTKEYS, "validator")))
    plain = MinerState("", (RAG,), 2, {}, 0, {}, {})
    return RoundInput(
        input_version="1",
        scoring_version="1.0.0",
        round_id="5",
        validator_hotkey="validator",
        snapshot=MetagraphSnapshot(1, 100, "ab" * 32, 1_700_000_000, 40, 20, None, neurons),
        seed="cd" * 32,
        salt_commitment="ef" * 32,
        miners=tuple(msgspec.structs.replace(plain, hotkey=hotkey, **miners[hotkey]) for hotkey in sorted(miners)),
        tasks=(make_task(RAG),),
        **NOTHING_LATE,
    )


def explained(miners: dict[str, dict[str, Any]]) -> tuple[PlannedTask, dict[str, Selection]]:
    frozen = frozen_with(miners)
    planned = next(iter(V1.plan_tasks(frozen)))
    found = {hotkey: explain_selection(V1, frozen, planned, hotkey) for hotkey in miners}
    assert explain_selection(V1, frozen, planned, "stranger") is None
    return planned, {hotkey: one for hotkey, one in found.items() if one is not None}


def test_rotation_names_whom_it_pushed_out_and_for_whom() -> None:
    miners: dict[str, dict[str, Any]] = {
        hotkey: {"reputations": {RAG: 0.9 - number / 10}} for number, hotkey in enumerate(HOTKEYS[:6])
    }
    miners["hotkey-5"]["history"] = {RAG: AUDITED}
    planned, found = explained(miners)
    assert planned.group.primaries == ("hotkey-0", "hotkey-1", "hotkey-5")
    up, out = found["hotkey-5"], found["hotkey-2"]
    assert (up.place, up.pushed_out, up.rank, up.auditor_streak) == ("primary_by_rotation", "hotkey-2", 6, 4)
    assert "an auditor in each of the last 4 rounds of the type: promoted by rotation, in place of hotkey-2" in up.why
    assert (out.pushed_by, out.rank) == ("hotkey-5", 3)
    assert "rank 3 of 6, pushed out by rotation for hotkey-5; auditor draw" in out.why
    assert found["hotkey-0"].why == "rank 1 of 6: the first 3 are primaries"


@pytest.mark.parametrize(
    ("changes", "reason", "why"),
    [
        ({"flags": 3}, Reason.COLLUSION_FLAGS, "3 collusion flags ≥ 3"),
        ({"reputations": {RAG: 0.18}}, Reason.LOW_REPUTATION, "reputation 0.1800 < 0.2"),
        ({"history": {RAG: TypeHistory(in_flight=2)}}, Reason.IN_FLIGHT, "in flight 2 ≥ 2"),
        (
            {"history": {RAG: TypeHistory(dispatches=6, failures=4)}},
            Reason.FAILURE_RATE,
            "failures 4 of 6 = 0.67 > 0.5 in the last 30 rounds",
        ),
    ],
)
def test_an_exclusion_shows_the_numbers_behind_it(changes: dict[str, Any], reason: Reason, why: str) -> None:
    _, found = explained({"hotkey-0": changes, **{hotkey: {} for hotkey in HOTKEYS[1:]}})
    out = found["hotkey-0"]
    assert (out.place, out.excluded, out.meaning) == ("excluded", str(reason), reason.meaning)
    assert out.why.startswith(why)
    assert (out.rank, out.rank_draw, out.auditor_place, out.auditor_draw) == (None, None, None, None)
    assert (out.candidates, out.pool, found["hotkey-1"].tied) == (8, 7, 6)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.integers(0, 4), st.sampled_from([TypeHistory(), AUDITED])),
        min_size=1,
        max_size=8,
    )
)
def test_places_and_ranks_are_those_of_the_plan(drawn: list[tuple[float, int, TypeHistory]]) -> None:
    miners = {
        hotkey: {"reputations": {RAG: reputation}, "flags": flags, "history": {RAG: history}}
        for hotkey, (reputation, flags, history) in zip(HOTKEYS, drawn, strict=False)
    }
    planned, found = explained(miners)
    group = planned.group
    assert {h for h, one in found.items() if one.place.startswith("primary")} == set(group.primaries)
    assert [h for h, one in sorted(found.items(), key=lambda item: item[1].auditor_place or 99)][
        : len(group.auditors)
    ] == list(group.auditors)
    assert {h: one.excluded for h, one in found.items() if one.excluded} == group.excluded
    ranks = sorted(one.rank for one in found.values() if one.rank is not None)
    assert ranks == list(range(1, len(found) - len(group.excluded) + 1))
    for one in found.values():
        assert (one.auditor_place is None) == (one.place.startswith("primary") or one.place == "excluded")
        assert (one.place == "auditor_by_draw") == (one.auditor_place is not None and one.auditor_place <= 2)
