"""Pay under 1.1.0 (SPEC 16, D-23, D-24); equal to that of 1.0.0 where the rules do not differ."""

import math
from typing import Any

import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st

from validator.protocol.skill_types import ASSESSED_TYPES
from validator.scoring import MinerStanding, Share, TypeStanding, version

V11 = version("1.1.0")
ASSESSMENTS = tuple(map(str, ASSESSED_TYPES))
KINDS = (Share(ASSESSMENTS), Share(("workflow",)))
GOOD = TypeStanding(declared=True, reputation=0.5, dispatches=10, failures=0, proven=True)
ENTRIES = st.lists(st.floats(0, 4), max_size=30)
HOTKEYS = st.sampled_from([f"m{n}" for n in range(12)])
WINDOWS = st.dictionaries(HOTKEYS, st.dictionaries(st.sampled_from([*ASSESSMENTS, "workflow"]), ENTRIES), min_size=1)
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
        types=st.dictionaries(st.sampled_from([*ASSESSMENTS, "workflow"]), TYPES),
    ),
)
Windows = dict[str, dict[str, list[float]]]


def good(windows: Windows) -> dict[str, MinerStanding]:
    return {hotkey: MinerStanding(2, dict.fromkeys([*ASSESSMENTS, "workflow"], GOOD)) for hotkey in windows}


def reason(flags: int = 0, **changes: Any) -> str | None:
    """Return the reason why a window with 20 entries is unpaid."""
    kept = {"declared": True, "reputation": 0.2, "dispatches": 10, "failures": 5, "proven": True}
    windows = {"m": {"declarative": [1.0] * 20}}
    standing = {"m": MinerStanding(flags, {"declarative": TypeStanding(**{**kept, **changes})})}
    plan = V11.mechanism_weights(windows, KINDS, standing)
    assert (plan.scores["m"] == 0) == (plan.assessments["m"] == 0) == ("m" in plan.unpaid) == (not plan.weights)
    return plan.unpaid.get("m", {}).get("declarative")


def test_the_first_reason_in_the_order_of_the_rule_is_told() -> None:
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


def test_whoever_is_missing_is_undeclared_and_an_empty_window_needs_no_reason() -> None:
    windows: Windows = {"a": {"declarative": [1.0] * 20, "workflow": []}, "b": {"mcp_server": [1.0]}}
    plan = V11.mechanism_weights(windows, KINDS, {"a": MinerStanding()})
    assert plan.unpaid == {"a": {"declarative": "undeclared"}, "b": {"mcp_server": "undeclared"}}
    assert (plan.weights, plan.unallocated, plan.scores) == ({}, 1.0, {"a": 0.0, "b": 0.0})


def test_three_flags_leave_workflow_windows_unpaid_too() -> None:
    windows: Windows = {"a": {"declarative": [1.0] * 20, "workflow": [1.0] * 20}}
    standing = {"a": MinerStanding(3, {"declarative": GOOD, "workflow": GOOD})}
    assert V11.mechanism_weights(windows, KINDS, standing).unpaid["a"] == {
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
    plan = V11.mechanism_weights(windows, KINDS, standing)
    assert math.fsum(score for hotkey, score in plan.scores.items() if hotkey[0] == "a") == pytest.approx(1 - share)
    assert plan.scores["unpaid"] == plan.scores["nought"] == 0
    assert (plan.scores["short"] > 0) == (planners > 0)


def test_a_kind_without_scores_leaves_all_to_the_other() -> None:
    planners: Windows = {f"w{n}": {"workflow": [1.0] * 5, "declarative": [0.0]} for n in range(8)}
    assert V11.mechanism_weights(planners, KINDS, good(planners)).weights == dict.fromkeys(planners, 0.125)
    assessors: Windows = {f"a{n}": {"declarative": [1.0], "workflow": [0.0] * 20} for n in range(8)}
    assert V11.mechanism_weights(assessors, KINDS, good(assessors)).weights == dict.fromkeys(assessors, 0.125)


@given(WINDOWS, STANDING, st.floats(0, 1))
def test_what_an_operator_says_of_shares_counts_for_nothing(
    windows: Windows, standing: dict[str, MinerStanding], share: float
) -> None:
    said = (Share(ASSESSMENTS, share), Share(("workflow",), 1 - share))
    assert V11.mechanism_weights(windows, said, standing) == V11.mechanism_weights(windows, KINDS, standing)
    assert V11.score_weights(windows, standing) == V11.mechanism_weights(windows, KINDS, standing)


@given(WINDOWS, STANDING)
def test_what_is_paid_is_capped_and_all_of_it_and_goes_to_nobody_unpaid(
    windows: Windows, standing: dict[str, MinerStanding]
) -> None:
    plan = V11.mechanism_weights(windows, KINDS, standing)
    assert set(plan.scores) == set(plan.assessments) == set(plan.workflows) == set(windows)
    assert all(0 < weight <= V11.rules.pay.cap for weight in plan.weights.values())
    assert abs(math.fsum(plan.weights.values()) + plan.unallocated - 1) < 1e-9
    assert all(windows[hotkey][kind] for hotkey, of_types in plan.unpaid.items() for kind in of_types)
    paid = {hotkey: of_types.keys() - plan.unpaid.get(hotkey, {}).keys() for hotkey, of_types in windows.items()}
    assert all(any(any(windows[hotkey][kind]) for kind in paid[hotkey]) for hotkey in plan.weights)


@given(WINDOWS)
def test_a_mechanism_of_one_kind_pays_as_in_1_0_0_whoever_is_paid(windows: Windows) -> None:
    for kind in KINDS:
        old, new = (one.mechanism_weights(windows, (kind,), good(windows)) for one in (V1, V11))
        assert (new.scores, new.weights, new.unallocated) == (old.scores, old.weights, old.unallocated)
        assert new.unpaid == {}


@given(WINDOWS, STANDING)
def test_an_unpaid_window_is_as_if_it_were_not_there(windows: Windows, standing: dict[str, MinerStanding]) -> None:
    plan = V11.mechanism_weights(windows, KINDS, standing)
    left = {
        hotkey: {kind: entries for kind, entries in of_types.items() if kind not in plan.unpaid.get(hotkey, {})}
        for hotkey, of_types in windows.items()
    }
    assert V11.mechanism_weights(left, KINDS, good(windows))._replace(unpaid=plan.unpaid) == plan


def test_without_a_word_on_shares_1_0_0_pays_workflows_a_quarter() -> None:
    windows: Windows = {f"a{n}": {"declarative": [9.0] * 20} for n in range(8)}
    windows |= {f"w{n}": {"workflow": [1.0] * 20} for n in range(8)}
    said = (Share(ASSESSMENTS, 0.75), Share(("workflow",), 0.25))
    assert V1.mechanism_weights(windows, KINDS) == V1.mechanism_weights(windows, said)
