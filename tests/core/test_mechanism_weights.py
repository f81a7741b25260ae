"""Two kinds of task in one vector, and who is paid (SPEC 11, D-23, D-24)."""

import math
from itertools import pairwise
from typing import Any

import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.skill_types import KINDS, WINDOW_TYPES, types_of
from sssa.scoring import MinerStanding, TypeStanding, miner_score, type_score
from sssa.scoring.v1.weights import capped_weights
from validator.settings.model import WeightsSettings
from validator.weights.plan import mechanisms

GOOD = TypeStanding(declared=True, reputation=0.5, dispatches=10, failures=0, proven=True)
ENTRIES = st.lists(st.floats(0, 4), max_size=30)
HOTKEYS = st.sampled_from([f"m{n}" for n in range(12)])
WINDOWS = st.dictionaries(HOTKEYS, st.dictionaries(st.sampled_from(WINDOW_TYPES), ENTRIES), min_size=1)
TYPES = st.builds(
    TypeStanding,
    declared=st.booleans(),
    reputation=st.sampled_from([0.1, 0.2, 0.5]),
    dispatches=st.integers(0, 10),
    failures=st.integers(0, 10),
    proven=st.booleans(),
)
STANDING = st.dictionaries(
    HOTKEYS,
    st.builds(
        MinerStanding,
        collusion_flags=st.integers(0, 4),
        types=st.dictionaries(st.sampled_from(WINDOW_TYPES), TYPES),
    ),
)
Windows = dict[str, dict[str, list[float]]]


def good(windows: Windows) -> dict[str, MinerStanding]:
    return {hotkey: MinerStanding(2, dict.fromkeys(WINDOW_TYPES, GOOD)) for hotkey in windows}


def reason(flags: int = 0, **changes: Any) -> str | None:
    """Return the reason why a window with 20 entries is unpaid."""
    kept = {"declared": True, "reputation": 0.2, "dispatches": 10, "failures": 5, "proven": True}
    windows = {"m": {"declarative": [1.0] * 20}}
    standing = {"m": MinerStanding(flags, {"declarative": TypeStanding(**{**kept, **changes})})}
    plan = V1.mechanism_weights(windows, KINDS, standing)
    assert (plan.scores["m"] == 0) == (plan.assessments["m"] == 0) == ("m" in plan.unpaid) == (not plan.weights)
    return plan.unpaid.get("m", {}).get("declarative")


def test_the_first_reason_in_the_order_of_the_rule_counts() -> None:
    changes: list[tuple[str, dict[str, Any]]] = [
        ("execution", {"execution_fails": 3}),
        ("unproven", {"proven": False}),
        ("failure_rate", {"failures": 6}),
        ("low_reputation", {"reputation": math.nextafter(0.2, 0)}),
        ("undeclared", {"declared": False}),
        ("collusion_flags", {"flags": 3}),
    ]
    assert reason(flags=2) is None
    assert reason(execution_fails=2) is None
    every: dict[str, Any] = {}
    for code, change in changes:
        assert reason(**change) == code
        every |= change
        assert reason(**every) == code


def test_four_failures_of_four_are_too_few_to_tell() -> None:
    assert reason(dispatches=4, failures=4) is None
    assert reason(dispatches=5, failures=3) == "failure_rate"


def test_a_missing_miner_is_undeclared_and_an_empty_window_needs_no_reason() -> None:
    windows: Windows = {"a": {"declarative": [1.0] * 20, "workflow": []}, "b": {"mcp_server": [1.0]}}
    plan = V1.mechanism_weights(windows, KINDS, {"a": MinerStanding()})
    assert plan.unpaid == {"a": {"declarative": "undeclared"}, "b": {"mcp_server": "undeclared"}}
    assert (plan.weights, plan.unallocated, plan.scores) == ({}, 1.0, {"a": 0.0, "b": 0.0})


def test_three_flags_leave_workflow_windows_unpaid_too() -> None:
    windows: Windows = {"a": {"declarative": [1.0] * 20, "workflow": [1.0] * 20}}
    standing = {"a": MinerStanding(3, {"declarative": GOOD, "workflow": GOOD})}
    assert V1.mechanism_weights(windows, KINDS, standing).unpaid["a"] == {
        "declarative": "collusion_flags",
        "workflow": "collusion_flags",
    }


@pytest.mark.parametrize(("planners", "share"), [(0, 0), (1, 1 / 28), (6, 6 / 28), (7, 0.25), (9, 0.25)])
def test_the_share_of_workflows_grows_with_those_that_prove_themselves(planners: int, share: float) -> None:
    windows: Windows = {f"a{n}": {"declarative": [100.0] * 20} for n in range(8)}
    windows |= {f"w{n}": {"workflow": [1.0] * 20} for n in range(planners)}
    windows |= {"short": {"workflow": [1.0] * 19}, "nought": {"workflow": [0.0] * 100}}
    windows |= {"unpaid": {"workflow": [1.0] * 100}}
    standing = good(windows) | {"unpaid": MinerStanding(0, {})}
    plan = V1.mechanism_weights(windows, KINDS, standing)
    assert math.fsum(score for hotkey, score in plan.scores.items() if hotkey[0] == "a") == pytest.approx(1 - share)
    assert plan.scores["unpaid"] == plan.scores["nought"] == 0
    assert (plan.scores["short"] > 0) == (planners > 0)


def test_a_kind_without_scores_leaves_all_to_the_other() -> None:
    planners: Windows = {f"w{n}": {"workflow": [1.0] * 5, "declarative": [0.0]} for n in range(8)}
    assert V1.mechanism_weights(planners, KINDS, good(planners)).weights == dict.fromkeys(planners, 0.125)
    assessors: Windows = {f"a{n}": {"declarative": [1.0], "workflow": [0.0] * 20} for n in range(8)}
    assert V1.mechanism_weights(assessors, KINDS, good(assessors)).weights == dict.fromkeys(assessors, 0.125)


@given(WINDOWS, STANDING)
def test_what_is_paid_is_capped_and_all_of_it_and_goes_to_nobody_unpaid(
    windows: Windows, standing: dict[str, MinerStanding]
) -> None:
    plan = V1.mechanism_weights(windows, KINDS, standing)
    assert set(plan.scores) == set(plan.assessments) == set(plan.workflows) == set(windows)
    assert all(0 < weight <= V1.rules.pay.cap for weight in plan.weights.values())
    assert abs(math.fsum(plan.weights.values()) + plan.unallocated - 1) < 1e-9
    assert abs(math.fsum(plan.weights.values()) - min(1.0, V1.rules.pay.cap * len(plan.weights))) < 1e-9
    assert set(plan.weights) == {hotkey for hotkey, score in plan.scores.items() if score > 0}
    assert all(windows[hotkey][kind] for hotkey, of_types in plan.unpaid.items() for kind in of_types)
    paid = {hotkey: of_types.keys() - plan.unpaid.get(hotkey, {}).keys() for hotkey, of_types in windows.items()}
    assert all(any(any(windows[hotkey][kind]) for kind in paid[hotkey]) for hotkey in plan.weights)


@given(WINDOWS)
def test_a_mechanism_of_one_kind_pays_it_alone(windows: Windows) -> None:
    for kind in KINDS:
        plan = V1.mechanism_weights(windows, (kind,), good(windows))
        alone = {hotkey: {name: of[name] for name in types_of((kind,)) if name in of} for hotkey, of in windows.items()}
        both = V1.mechanism_weights(alone, KINDS, good(windows))
        assert plan.scores == {hotkey: miner_score(V1, of) for hotkey, of in alone.items()}
        assert plan.weights == pytest.approx(both.weights)
        assert (plan.unpaid, plan.workflow_share) == ({}, None)


@given(WINDOWS, STANDING)
def test_an_unpaid_window_is_as_if_it_were_not_there(windows: Windows, standing: dict[str, MinerStanding]) -> None:
    plan = V1.mechanism_weights(windows, KINDS, standing)
    left = {
        hotkey: {kind: entries for kind, entries in of_types.items() if kind not in plan.unpaid.get(hotkey, {})}
        for hotkey, of_types in windows.items()
    }
    assert V1.mechanism_weights(left, KINDS, good(windows))._replace(unpaid=plan.unpaid) == plan


def test_a_miner_of_both_kinds_gets_both_parts_and_the_cap_comes_last() -> None:
    windows: Windows = {f"a{n}": {"declarative": [1.0] * 20, "workflow": [0.0] * 20} for n in range(9)}
    windows["both"] = {"declarative": [1.0] * 20, "workflow": [1.0] * 20}
    plan = V1.mechanism_weights(windows, KINDS, good(windows))
    share = 0.25 / 7
    assert plan.workflow_share == share
    assert plan.scores["both"] == (1 - share) * 0.1 + share * 1.0
    windows |= {f"w{n}": {"workflow": [1.0] * 20} for n in range(3)}
    plan = V1.mechanism_weights(windows, KINDS, good(windows))
    assert plan.scores["both"] < V1.rules.pay.cap == max(plan.weights.values()) or plan.unallocated < 1e-12
    assert abs(plan.unallocated) < 1e-12


def test_the_settings_map_kinds_to_mechanisms() -> None:
    assert mechanisms(WeightsSettings()) == {0: KINDS}
    apart = mechanisms(WeightsSettings(assessment_mechid=3, workflow_mechid=1))
    assert list(apart.items()) == [(1, ("workflows",)), (3, ("assessments",))]


@given(st.dictionaries(st.integers(0, 60).map(str), st.floats(1e-6, 100), min_size=7, max_size=40))
def test_a_higher_score_never_gets_a_lower_weight(scores: dict[str, float]) -> None:
    weights = capped_weights(V1.rules.pay.cap, scores)
    ordered = sorted(scores, key=lambda hotkey: scores[hotkey])
    assert all(weights[a] <= weights[b] + 1e-12 for a, b in pairwise(ordered))


@given(st.dictionaries(st.integers(0, 60).map(str), st.floats(1e-6, 100), min_size=8, max_size=40))
def test_the_uncapped_share_in_proportion_to_their_scores(scores: dict[str, float]) -> None:
    weights = capped_weights(V1.rules.pay.cap, scores)
    free = [hotkey for hotkey in scores if weights[hotkey] < 0.15]
    if free:
        ratio = weights[free[0]] / scores[free[0]]
        assert all(math.isclose(weights[hotkey], ratio * scores[hotkey], rel_tol=1e-9) for hotkey in free)


@given(st.lists(st.floats(0, 6.9), max_size=130))
def test_only_the_last_hundred_entries_count_and_the_warm_up_needs_twenty(values: list[float]) -> None:
    last = values[-100:]
    expected = math.fsum(last) / len(last) * min(1, len(last) / 20) if last else 0
    assert type_score(V1, values) == expected
