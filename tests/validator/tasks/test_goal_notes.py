"""Notes of `validator tasks check` on a goal's reference: the answer worth 1, and the comparison used."""

import re
from typing import Any

import pytest
from local_code import ADDRESSES
from workflow_builders import make_workflow

from miner.goals.goal_files import local_goals
from sssa.protocol.workflow_run import StepOutput
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import read_quality
from taskmaker.check import goal_notes

GOALS = local_goals(ADDRESSES, None)
AGENTS = [name for name, task in GOALS.items() if task.type == "agent"]


def notes(kind: str, reference: dict[str, Any], **changes: Any) -> list[str]:
    return list(goal_notes(make_workflow(kind, reference=reference, **changes)))


def agent(*criteria: tuple[str, str]) -> WorkflowTask:
    checklist = [{"type": kind, "value": value} for kind, value in criteria]
    return make_workflow("agent", reference={"checklist": checklist})


def test_what_counts_is_told_for_each_form_of_reference() -> None:
    (text,) = notes("rag", {"text": "The mat, by the door."})
    assert text.startswith(
        "worth 1: text with its 5 words in their order and no others, e.g. itself; case, punctuation"
    )
    assert text.endswith(" - at `reference.text`")
    (table,) = notes("data_transform", {"expected": {"b": 1, "a": [True]}})
    assert 'equal to `{"a":[true],"b":1}`; case counts, white space and the order of keys do not' in table
    assert "some of its keys is worth their share - at `reference.expected`" in table
    (quoted,) = notes("data_transform", {"expected": "north"})
    assert 'equal to `"north"`; case counts; text without the quotes is worth 0: say `expected_text`' in quoted
    (plain,) = notes("data_transform", {"expected_text": " north\n"}, task_version="1.1")
    assert plain.startswith("worth 1: the text `north`, or data that is this text; case and white space inside count")
    tests, sandbox = notes("code", {"tests": "def test_x(): pass"})
    assert "every test passes and the linter finds nothing" in tests
    assert "container engine" in sandbox


@pytest.mark.parametrize(
    "tests", ["from solution import *\ndef test_x(): pass", "from solution import\\\n*\ndef test_x(): 0"]
)
def test_tests_that_let_a_solution_replace_their_names_are_told(tests: str) -> None:
    _, told, _ = notes("code", {"tests": tests})
    assert "replace any name that the tests use, `len` and `pytest` too" in told
    assert len(notes("code", {"tests": "from solution import x\ndef test_x(): assert x * 2"})) == 2


def test_what_the_goals_own_text_is_worth_is_told() -> None:
    (_, echoed) = notes("rag", {"text": "Say where the cat is."}, goal="Say where the cat sat.")
    assert echoed == "the goal's own text, given back, is worth 0.8: enough for cost and latency - at `goal`"
    assert len(notes("rag", {"text": "Say where the dog is."}, goal="Say where the cat sat.")) == 1


def _has_regex(task: WorkflowTask) -> bool:
    return any(one.type == "regex" for one in task.reference.given("checklist"))


@pytest.mark.parametrize(
    "task",
    [
        *(GOALS[name] for name in AGENTS if not _has_regex(GOALS[name])),
        agent(("json_key", "Name"), ("keyword", "two words")),
        agent(("keyword", "a"), ("keyword", "middle")),
    ],
)
def test_the_example_of_a_checklist_is_worth_1(task: WorkflowTask) -> None:
    told = next(goal_notes(task))
    found = re.search(r"worth 1: text `(.*)` - at `reference.checklist`$", told)
    assert found is not None, told
    example = StepOutput(found[1].replace("\\u000a", "\n"), None, None)
    assert read_quality(task, example) == 1.0


def test_no_goal_of_the_benchmark_is_reached_by_its_own_text() -> None:
    assert [name for name, task in GOALS.items() if any("given back" in note for note in goal_notes(task))] == []


def test_no_example_is_made_where_a_regex_counts() -> None:
    told = next(goal_notes(agent(("regex", "a{1,9}"), ("keyword", "k"))))
    assert told.endswith("no example is made where a regex counts - at `reference.checklist`")


def test_notes_are_one_harmless_line_of_bounded_length() -> None:
    hostile = "\x1b[2J\u202e" + "x" * 10_000
    for note in (
        *notes("data_transform", {"expected_text": hostile}, task_version="1.1"),
        *notes("data_transform", {"expected": [hostile]}),
        *goal_notes(agent(("keyword", hostile[:500]))),
    ):
        assert note.isprintable()
        assert len(note) < 1_200
