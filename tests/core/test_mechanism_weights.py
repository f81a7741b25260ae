"""Two kinds of task in one vector (SPEC 11): shares, a kind without scores, and the cap as the last step."""

import json
import math
from pathlib import Path

import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st

from validator.scoring import Share
from validator.scoring.v1_0.weights import capped_weights
from validator.settings.model import WeightsSettings
from validator.weights.plan import ASSESSMENTS, WORKFLOWS, mechanisms

VECTORS = sorted((Path(__file__).parents[1] / "vectors" / "weights").glob("*.json"))
BOTH = (Share(ASSESSMENTS, 0.75), Share(WORKFLOWS, 0.25))
ENTRIES = st.lists(st.floats(0, 4), max_size=30)
ASSESSED = st.dictionaries(st.sampled_from(ASSESSMENTS), ENTRIES)
MINERS = st.sampled_from([f"m{n}" for n in range(12)])
ANY = st.dictionaries(MINERS, st.dictionaries(st.sampled_from([*ASSESSMENTS, *WORKFLOWS]), ENTRIES), min_size=1)


def full(**scores: tuple[float, float]) -> dict[str, dict[str, list[float]]]:
    """Windows that give (assessment, workflow) scores."""
    return {hotkey: {"declarative": [a] * 20, "workflow": [w] * 20} for hotkey, (a, w) in scores.items()}


@given(st.dictionaries(MINERS, ASSESSED), st.floats(0.01, 1))
def test_one_kind_alone_is_what_it_was_to_the_bit(windows: dict[str, dict[str, list[float]]], share: float) -> None:
    assert V1.mechanism_weights(windows, (Share(ASSESSMENTS, share),)) == V1.score_weights(windows)
    assert V1.mechanism_weights(windows, (Share(ASSESSMENTS, share), Share(WORKFLOWS, 0.5))) == V1.score_weights(
        windows
    )
    as_workflows = {hotkey: {"workflow": of.get("declarative", [])} for hotkey, of in windows.items()}
    assert V1.mechanism_weights(as_workflows, BOTH) == V1.score_weights(as_workflows)


@pytest.mark.parametrize("file", VECTORS, ids=lambda file: file.stem)
def test_the_vectors_hold_for_one_kind_alone(file: Path) -> None:
    windows = json.loads(file.read_text())["input"]["windows"]
    for kind in (ASSESSMENTS, WORKFLOWS):
        alone = {hotkey: {t: of[t] for t in kind if t in of} for hotkey, of in windows.items()}
        assert V1.mechanism_weights(alone, BOTH) == V1.score_weights(alone)


@given(ANY, st.floats(0, 1), st.floats(0.01, 1))
def test_what_a_mechanism_pays_is_capped_and_all_of_it(
    windows: dict[str, dict[str, list[float]]], first: float, second: float
) -> None:
    plan = V1.mechanism_weights(windows, (Share(ASSESSMENTS, first), Share(WORKFLOWS, second)))
    assert set(plan.scores) == set(windows)
    assert all(0 < weight <= V1.rules.pay.cap for weight in plan.weights.values())
    assert abs(math.fsum(plan.weights.values()) + plan.unallocated - 1) < 1e-9
    assert plan.weights == capped_weights(
        V1.rules.pay.cap, {hotkey: score for hotkey, score in plan.scores.items() if score > 0}
    )


def test_shares_divide_the_vector_whatever_the_size_of_the_scores() -> None:
    # Assessments score a hundred times higher; four miners each do one kind alone.
    assessors = {f"a{n}": (100.0, 0.0) for n in range(6)}
    planners = {f"w{n}": (0.0, 1.0) for n in range(2)}
    plan = V1.mechanism_weights(full(**assessors, **planners), BOTH)
    assert [plan.weights[f"a{n}"] for n in range(6)] == pytest.approx([0.125] * 6)
    assert [plan.weights[f"w{n}"] for n in range(2)] == pytest.approx([0.125] * 2)


def test_a_miner_of_both_kinds_gets_both_parts_and_the_cap_comes_last() -> None:
    others = {f"a{n}": (1.0, 0.0) for n in range(9)}
    plan = V1.mechanism_weights(full(both=(1.0, 1.0), **others), BOTH)
    assert plan.scores["both"] == 0.75 * 0.1 + 0.25
    assert plan.weights["both"] == V1.rules.pay.cap
    assert plan.weights["a0"] == pytest.approx(0.85 / 9)
    assert abs(plan.unallocated) < 1e-12


def test_a_kind_without_a_positive_score_cedes_its_share() -> None:
    plan = V1.mechanism_weights(full(**{f"m{n}": (1.0, 0.0) for n in range(10)}), BOTH)
    assert plan.weights == {f"m{n}": 0.1 for n in range(10)}
    none = V1.mechanism_weights(full(m0=(0.0, 0.0)), BOTH)
    assert (none.scores, none.weights, none.unallocated) == ({"m0": 0.0}, {}, 1.0)


def test_a_share_of_nothing_leaves_a_kind_out() -> None:
    kinds = (Share(ASSESSMENTS, 0.0), Share(WORKFLOWS, 0.25))
    assert V1.mechanism_weights(full(m0=(5.0, 0.0), m1=(0.0, 1.0)), kinds).scores == {"m0": 0.0, "m1": 1.0}


def test_the_settings_map_kinds_to_mechanisms() -> None:
    assert mechanisms(WeightsSettings()) == {0: (Share(ASSESSMENTS), Share(WORKFLOWS))}
    apart = mechanisms(WeightsSettings(assessment_mechid=3, workflow_mechid=1))
    assert list(apart.items()) == [(1, (Share(WORKFLOWS),)), (3, (Share(ASSESSMENTS),))]
