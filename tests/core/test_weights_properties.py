"""Properties of windows and weights (SPEC 11)."""

import itertools
import math

from builders import V1, all_paid
from hypothesis import given
from hypothesis import strategies as st

from validator.scoring import miner_score, type_score
from validator.scoring.v1.weights import capped_weights

entries = st.lists(st.floats(0, 6.9), max_size=130)
windows = st.dictionaries(
    st.text("abcdefghij", min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(["rag_knowledge", "mcp_server", "workflow"]), entries, max_size=3),
    max_size=24,
)
positive = st.floats(1e-6, 100)


@given(windows)
def test_weights_never_exceed_the_cap_and_miss_one_only_by_what_cannot_be_placed(
    case: dict[str, dict[str, list[float]]],
) -> None:
    plan = V1.mechanism_weights(case, standing=all_paid(case))
    winners = [hotkey for hotkey, score in plan.scores.items() if score > 0]
    assert set(plan.weights) == set(winners)
    assert all(0 <= weight <= 0.15 for weight in plan.weights.values())
    assert math.isclose(math.fsum(plan.weights.values()), min(1.0, 0.15 * len(winners)), abs_tol=1e-9)
    assert math.isclose(plan.unallocated, 1 - math.fsum(plan.weights.values()), abs_tol=1e-12)


@given(st.dictionaries(st.integers(0, 60).map(str), positive, min_size=7, max_size=40))
def test_a_higher_score_never_gets_a_lower_weight(scores: dict[str, float]) -> None:
    weights = capped_weights(V1.rules.pay.cap, scores)
    ordered = sorted(scores, key=lambda hotkey: scores[hotkey])
    assert all(weights[a] <= weights[b] + 1e-12 for a, b in itertools.pairwise(ordered))


@given(st.dictionaries(st.integers(0, 60).map(str), positive, min_size=8, max_size=40))
def test_the_uncapped_share_in_proportion_to_their_scores(scores: dict[str, float]) -> None:
    weights = capped_weights(V1.rules.pay.cap, scores)
    free = [hotkey for hotkey in scores if weights[hotkey] < 0.15]
    if free:
        ratio = weights[free[0]] / scores[free[0]]
        assert all(math.isclose(weights[hotkey], ratio * scores[hotkey], rel_tol=1e-9) for hotkey in free)


@given(entries)
def test_only_the_last_hundred_entries_count_and_the_warm_up_needs_twenty(values: list[float]) -> None:
    last = values[-100:]
    expected = math.fsum(last) / len(last) * min(1, len(last) / 20) if last else 0
    assert type_score(V1, values) == expected


def test_a_miner_is_paid_for_every_type_it_serves() -> None:
    heavy, light = [2.0] * 20, [0.1] * 20
    assert miner_score(V1, {"mcp_server": heavy, "rag_knowledge": light}) > miner_score(V1, {"mcp_server": heavy})


def test_without_a_positive_score_everything_is_unallocated() -> None:
    assert V1.mechanism_weights({"a": {"mcp_server": [0.0] * 30}}, standing=all_paid(["a"]))[:3] == (
        {"a": 0.0},
        {},
        1.0,
    )
