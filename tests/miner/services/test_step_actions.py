"""Actions of the local step services, and the requests that they refuse."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.services.actions import FUNCTIONS, PASSAGES, ParamsError, shortened
from miner.services.catalogue import ACTIONS, BY_NAME, SERVICES, Action, Service
from miner.services.service_server import fault_of
from sssa.protocol.limits import MIB
from sssa.protocol.workflow_run import StepOutput, StepRequest

ROWS: list[dict[str, Any]] = [
    {"region": "north", "amount": 1},
    {"region": "south", "amount": 2.5},
    {"region": "north", "amount": 3},
]
GOOD: dict[str, dict[str, Any]] = {
    "summarise": {"text": "One. Two.", "sentences": 1},
    "keywords": {"text": "alpha beta", "count": 1},
    "join": {"parts": ["a", "b"]},
    "report": {"title": "T", "body": "B"},
    "write": {"name": "slugify"},
    "tidy": {"code": "x = 1  \n\n"},
    "search": {"query": "sandbox", "count": 1},
    "parse_table": {"text": "a,b\n1,x\n"},
    "keep": {"rows": ROWS, "field": "region", "value": "south"},
    "keep_above": {"rows": ROWS, "field": "amount", "above": 1},
    "largest": {"rows": ROWS, "field": "amount", "count": 2},
    "column": {"rows": ROWS, "field": "region"},
    "name": {"rows": ROWS, "field": "region"},
    "count": {"rows": ROWS, "by": "region"},
    "total": {"rows": ROWS, "by": "region", "value": "amount"},
    "average": {"rows": ROWS, "by": "region", "value": "amount"},
}
SCALARS = st.sampled_from([None, True, 0, 1, -1, 10**400, 1.5, 1e308, math.inf, math.nan, "", "region", '"', "a,b\n1"])
ITEMS = st.lists(SCALARS, max_size=3)
KEYED = st.dictionaries(st.sampled_from(["region", "amount", ""]), SCALARS | ITEMS, max_size=3)
JSON = SCALARS | ITEMS | KEYED | st.lists(KEYED, max_size=3) | st.text(max_size=10)
NAMES = sorted({name for params in GOOD.values() for name in params})


def plain(action: Action) -> str:
    return action.name.removesuffix("_premium")


def done(service: Service, action: str, **params: Any) -> StepOutput:
    return BY_NAME[service, action].perform(params)


def test_every_service_offers_something_for_a_price_and_takes_its_time() -> None:
    assert {action.service for action in ACTIONS} == set(SERVICES)
    assert len(BY_NAME) == len(ACTIONS)
    assert all(action.cost_tao > 0 and action.seconds > 0 for action in ACTIONS)


def test_a_premium_action_does_the_same_dearer_and_faster() -> None:
    for action in ACTIONS:
        if action.name != plain(action):
            base = BY_NAME[action.service, plain(action)]
            assert action.perform is base.perform
            assert action.cost_tao > base.cost_tao
            assert action.seconds < base.seconds


def test_texts_are_worked_on() -> None:
    text = "Sandboxes hold code. Nobody knows. Code leaves sandboxes that hold nothing."
    assert done("text", "summarise", text=text, sentences=1).text == "Sandboxes hold code."
    assert done("text", "summarise", text=text, sentences=20).text == text
    assert done("text", "keywords", text=text, count=2) == StepOutput("code, hold", None, ["code", "hold"])
    assert done("text", "join", parts=[" a ", "b"]).text == "a b"
    assert done("text", "report", title="T", body="B").text == "# T\n\nB\n"


def test_a_summary_keeps_the_order_of_the_text() -> None:
    for passage in PASSAGES.values():
        sentences = [sentence for sentence in passage.replace(". ", ".|").split("|") if sentence]
        for many in range(1, len(sentences) + 1):
            chosen = shortened(passage, many)
            assert chosen == " ".join(sentence for sentence in sentences if sentence in chosen)


@pytest.mark.parametrize("sign", ["a", " ", ".", "a ", ". "])
def test_a_text_without_any_end_is_no_trap(sign: str) -> None:
    assert isinstance(done("text", "summarise", text=sign * (MIB // len(sign)), sentences=1).text, str)


def test_passages_are_found_by_title_before_content() -> None:
    for title in PASSAGES:
        found = done("retrieval", "search", query=title, count=1)
        assert (found.text, found.data) == (PASSAGES[title], [{"title": title, "text": PASSAGES[title]}])
    assert len(done("retrieval", "search", query="", count=5).data) == 5


def test_functions_are_written_and_tidied() -> None:
    for name, code in FUNCTIONS.items():
        written = done("code", "write", name=name)
        assert written.code == code
        compile(code, name, "exec")
        assert done("code", "tidy", code=code).code == code
    assert done("code", "tidy", code="\nx = 1  \n\n").code == "x = 1\n"


def test_tables_are_read_filtered_and_summed() -> None:
    rows = done("transform", "parse_table", text="name,n\na,1\nb,2.5,more\nc,nan\nd\n").data
    assert rows == [
        {"name": "a", "n": 1.0},
        {"name": "b", "n": 2.5, "more": ["more"]},
        {"name": "c", "n": "nan"},
        {"name": "d", "n": ""},
    ]
    assert done("transform", "parse_table", text="").data == []
    assert done("transform", "keep", rows=ROWS, field="region", value="south").data == [ROWS[1]]
    assert done("transform", "total", rows=ROWS, by="region", value="amount").data == {"north": 4.0, "south": 2.5}
    assert done("transform", "average", rows=ROWS, by="region", value="amount").data == {"north": 2.0, "south": 2.5}
    assert done("transform", "count", rows=ROWS, by="region").data == {"north": 2, "south": 1}
    assert done("transform", "keep_above", rows=ROWS, field="amount", above=1).data == ROWS[1:]
    assert done("transform", "largest", rows=ROWS, field="amount", count=2).data == [ROWS[2], ROWS[1]]
    assert done("transform", "column", rows=ROWS, field="region").data == ["north", "south", "north"]
    assert done("transform", "name", rows=ROWS[1:], field="region") == StepOutput("south", None, None)


@pytest.mark.parametrize(
    ("name", "changes", "fault"),
    [
        ("summarise", {"sentences": 0}, "Expected `int` >= 1 - at `params.sentences`"),
        ("summarise", {"sentences": 1.5}, "`params.sentences`"),
        ("summarise", {"sentences": True}, "`params.sentences`"),
        ("summarise", {"sentences": float("inf")}, "`params.sentences`"),
        ("summarise", {"sentences": float("nan")}, "`params.sentences`"),
        ("summarise", {"text": 5}, "Expected `str`, got `int` - at `params.text`"),
        ("keywords", {"count": 21}, "`params.count`"),
        ("join", {"parts": ["a", None]}, "Expected `str`, got `null` - at `params.parts[1]`"),
        ("report", {"title": None}, "`params.title`"),
        ("write", {"name": "rm_rf"}, "no such function - at `params.name`"),
        ("search", {"count": 6}, "Expected `int` <= 5 - at `params.count`"),
        ("parse_table", {"text": "a\n" + "1\n" * 501}, "more than 500 rows - at `params.text`"),
        ("parse_table", {"text": "a\n" + "1" * 200_000}, "no table"),
        ("keep", {"rows": [1]}, "Expected `object`, got `int` - at `params.rows[0]`"),
        ("keep_above", {"above": "1"}, "Expected `float`, got `str` - at `params.above`"),
        ("keep_above", {"field": "region"}, "no number in the field `region` - at `params.rows[0]`"),
        ("largest", {"count": 501}, "Expected `int` <= 500 - at `params.count`"),
        ("name", {"rows": []}, "no text in the first row - at `params.rows[0].region`"),
        ("name", {"field": "amount"}, "no text in the first row - at `params.rows[0].amount`"),
        ("average", {"rows": [{"amount": 1e308}, {"amount": 1e308}]}, "the sum is too large - at `params.rows`"),
        ("total", {"rows": [{"amount": "1"}]}, "no number in the field `amount` - at `params.rows[0]`"),
        ("total", {"rows": [{"amount": True}]}, "no number"),
        ("total", {"rows": [{"amount": 1e308}, {"amount": 1e308}]}, "the sum is too large - at `params.rows`"),
        ("total", {"rows": [{"amount": 10**400}]}, "the sum is too large"),
    ],
)
def test_params_that_do_not_fit_are_refused_by_name(name: str, changes: dict[str, Any], fault: str) -> None:
    for action in ACTIONS:
        if plain(action) == name:
            with pytest.raises(ParamsError) as refused:
                action.perform(GOOD[name] | changes)
            assert fault in refused.value.detail


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_param_is_needed(action: Action) -> None:
    good = GOOD[plain(action)]
    action.perform(good)
    for name in set(good) - {"value"} if plain(action) == "keep" else good:
        with pytest.raises(ParamsError):
            action.perform({key: value for key, value in good.items() if key != name})


@given(st.sampled_from(ACTIONS), st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4))
def test_no_params_crash_an_action(action: Action, changes: dict[str, Any]) -> None:
    try:
        output = action.perform(GOOD[plain(action)] | changes)
    except ParamsError as error:
        assert "- at `params." in error.detail
    else:
        assert isinstance(output, StepOutput)


def request_of(run: int, attempt: int = 1) -> StepRequest:
    return StepRequest(str(run), "node", attempt, "text", "join", {}, 1.0, 1.0)


def test_faults_are_rare_and_the_same_for_the_same_request() -> None:
    drawn = [fault_of("seed", request_of(run)) for run in range(4_000)]
    assert drawn == [fault_of("seed", request_of(run)) for run in range(4_000)]
    assert drawn != [fault_of("other", request_of(run)) for run in range(4_000)]
    assert drawn != [fault_of("seed", request_of(run, 2)) for run in range(4_000)]
    shares = {fault: drawn.count(fault) / 4_000 for fault in set(drawn)}
    assert set(shares) == {"none", "breaks", "fails", "hangs"}
    assert 0.9 < shares["none"] < 0.99
