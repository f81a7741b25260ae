"""Output quality by type: hand cases, properties, and what is deferred."""

from itertools import product
from typing import Any

import msgspec
import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from workflow_builders import make_workflow

from sssa.protocol.workflow_run import StepOutput, check_output
from sssa.protocol.workflow_task import Criterion, rouge_words
from sssa.scoring import code_quality, read_quality
from sssa.scoring.v1.output_quality import checklist_share, json_share, rouge_l

texts = st.text(st.sampled_from("abcde ÄK.\n"), max_size=40)


def text(value: str) -> StepOutput:
    return StepOutput(value, None, None)


def data(value: Any) -> StepOutput:
    return StepOutput(None, None, value)


@pytest.mark.parametrize(
    ("reference", "given_text", "score"),
    [
        ("the cat sat on the mat", "the cat sat on the mat", 1.0),
        ("The cat, sat!", "the CAT sat", 1.0),
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("police killed the gunman", "the gunman kill police", 0.5),
        ("a b c d", "a b", 2 / 3),
        ("a b", "c d", 0.0),
        ("a b", "", 0.0),
        ("a b", "…", 0.0),
    ],
)
def test_rouge_l_of_hand_cases(reference: str, given_text: str, score: float) -> None:
    assert rouge_l(reference, given_text) == pytest.approx(score)


@given(texts, texts)
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(reference: str, other: str) -> None:
    a, b = rouge_words(reference), rouge_words(other)
    table = dict.fromkeys(product(range(len(a) + 1), range(len(b) + 1)), 0)
    for i, j in product(range(len(a)), range(len(b))):
        table[i + 1, j + 1] = table[i, j] + 1 if a[i] == b[j] else max(table[i, j + 1], table[i + 1, j])
    common = table[len(a), len(b)]
    if not common:
        assert rouge_l(reference, other) == 0.0
        return
    precision, recall = common / len(b), common / len(a)
    assert rouge_l(reference, other) == pytest.approx(2 * precision * recall / (precision + recall))
    assert rouge_l(reference, other) == rouge_l(other, reference)


CHECKLIST = (
    Criterion("keyword", "Pump"),
    Criterion("json_key", "cause"),
    Criterion("regex", "hall [0-9]+"),
    Criterion("regex", "^never$"),
)


@pytest.mark.parametrize(
    ("output", "share"),
    [
        (text("the PUMP in Hall 2"), 0.5),
        (text('{"cause": "pump, hall 7"}'), 0.75),
        (data({"cause": "pump"}), 0.5),
        (data(["cause"]), 0.0),
        (text('["cause"]'), 0.0),
        (text('{"cause": '), 0.0),
        (StepOutput(None, None, None), 0.0),
        (StepOutput(None, "pump()", None), 0.25),
    ],
)
def test_a_checklist_counts_what_is_met(output: StepOutput, share: float) -> None:
    assert checklist_share(CHECKLIST, output) == share


def test_a_pattern_that_would_backtrack_without_end_is_searched_in_one_pass() -> None:
    long = StepOutput("a" * 16_000 + "!", None, None)
    checklist = tuple(Criterion("regex", f"(a+)+{mark}$") for mark in "bcdefghijk")
    assert checklist_share(checklist, long) == 0.0  # a backtracking matcher would never come to this line


EXPECTED = {"count": 2, "names": ["a", "b"], "open": True, "note": None}


@pytest.mark.parametrize(
    ("output", "share"),
    [
        (data({"open": True, "names": ["a", "b"], "note": None, "count": 2}), 1.0),
        (text('{"open":true,"names":["a","b"],"note":null,"count":2.0}'), 1.0),
        (data({"count": "2", "names": ["a", "b"], "open": True, "note": None}), 0.75),
        (data({"count": 2, "names": ["b", "a"], "open": 1, "note": None}), 0.5),
        (data({"count": True, "names": ["a", "b"], "open": "true"}), 0.25),
        (data({"more": 1}), 0.0),
        (data([EXPECTED]), 0.0),
        (text("no JSON"), 0.0),
        (text('{"count": 99999999999999999999, "open": true}'), 0.25),
        (StepOutput(None, None, None), 0.0),
    ],
)
def test_json_is_compared_with_its_types(output: StepOutput, share: float) -> None:
    assert json_share(EXPECTED, output) == share


def test_json_that_is_no_object_is_equal_or_not() -> None:
    assert json_share([1, 2], data([1, 2])) == 1.0
    assert json_share([1, 2], data([2, 1])) == 0.0
    assert json_share(False, data(0)) == 0.0
    assert json_share("1", data(1)) == 0.0


@pytest.mark.parametrize(
    ("report", "quality"),
    [((4, 4, 0), 1.0), ((3, 4, 0), 0.825), ((4, 4, 10), 0.85), ((4, 4, 25), 0.7), ((0, 0, 0), 0.3), ((0, 4, 20), 0.0)],
)
def test_code_is_judged_by_its_tests_and_its_lint(report: tuple[int, int, int], quality: float) -> None:
    assert code_quality(V1, *report) == pytest.approx(quality)


def test_code_is_deferred_and_never_run_inside_a_round() -> None:
    harmful = StepOutput(None, "raise SystemExit(1)", None)
    assert read_quality(make_workflow("code"), harmful) is None


@pytest.mark.parametrize("kind", ["code", "rag", "agent", "data_transform"])
def test_nothing_is_worth_nothing(kind: str) -> None:
    task = make_workflow(kind)
    for output in (None, StepOutput(None, None, None), StepOutput(" ", None, None)):
        assert read_quality(task, output) == 0.0


def test_each_type_has_its_rule() -> None:
    cases = {
        "rag": (text("The cat sat on the mat."), 1.0),
        "agent": (text('{"answer": "done, 123"}'), 1.0),
        "data_transform": (data({"count": 2, "names": []}), 0.5),
    }
    for kind, (output, quality) in cases.items():
        assert read_quality(make_workflow(kind), output) == quality


@pytest.mark.parametrize(
    ("output", "value"),
    [
        (text("north west"), 1.0),
        (text("\r\n north west\t"), 1.0),
        (data("north west"), 1.0),
        (StepOutput("north west", None, {"more": 1}), 1.0),
        (StepOutput("south", None, "north west"), 0.0),
        (text('"north west"'), 0.0),
        (text("North west"), 0.0),
        (text("north  west"), 0.0),
        (text("\u00a0north west"), 0.0),
        (data(["north west"]), 0.0),
        (StepOutput(None, "north west", None), 0.0),
    ],
)
def test_an_expected_text_is_met_exactly(output: StepOutput, value: float) -> None:
    task = make_workflow("data_transform", reference={"expected_text": " north west\n"}, task_version="1.1")
    assert read_quality(task, output) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["rag", "agent", "data_transform"]), st.none() | st.text(max_size=50), json_values)
def test_quality_lies_between_0_and_1_whatever_comes(kind: str, text: str | None, value: Any) -> None:
    output = StepOutput(text, text, value)
    check_output(output)
    judged = read_quality(make_workflow(kind), output)
    assert judged is not None
    assert 0 <= judged <= 1
    again = msgspec.json.decode(msgspec.json.encode(output), type=StepOutput)
    assert read_quality(make_workflow(kind), again) == judged
