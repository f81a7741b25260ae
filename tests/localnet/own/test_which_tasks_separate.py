"""Separation of miners by tasks, and the advice to the owner: pure, from answers alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from localnet.own.ledger import OwnAnswer
from localnet.own.own_tasks import OwnTask
from localnet.own.results import Heard, TaskResult, print_own
from localnet.own.task_separation import task_result, type_results
from localnet.roster import Resident
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows

TASK = OwnTask("a/b", Path("b"), SkillType.MCP_SERVER, Windows((60, 600), (20, 150)), has_truth=True)
UNKNOWN = OwnTask("a/b", Path("b"), SkillType.MCP_SERVER, Windows((60, 600), (20, 150)), has_truth=False)
WHO = {
    "A": Resident("thorough-1", "thorough"),
    "B": Resident("partial-1", "partial"),
    "C": Resident("lazy-1", "lazy"),
    "D": Resident("mine", "own"),
}
NOW = Heard(given=1, skipped=0, analysis_s=1.5, pace=10)


def answer(hotkey: str, quality: float | None, consensus: float = 1.0, **parts: float) -> OwnAnswer:
    score = None if quality is None else quality * consensus
    made = {"alpha": quality or 0.0, "epsilon": 1.0, "consensus": consensus} | parts
    return OwnAnswer(3, hotkey, "primary", Reason.ACCEPTED, 1.0, quality, consensus, score, 0.1, made if score else {})


def failed(hotkey: str, reason: Reason) -> OwnAnswer:
    return OwnAnswer(3, hotkey, "auditor", reason, 4.0, None, None, None, 0.0, {})


def separated(answers: Sequence[OwnAnswer], task: OwnTask = TASK, heard: Heard = NOW) -> TaskResult:
    return task_result("ab", task, answers, heard, WHO)


APART = [answer("A", 1.0), answer("B", 0.8, 0.9), answer("C", 0.3, 0.5), answer("A", 0.9)]
EQUAL = [answer("A", 1.0), answer("B", 0.98), answer("C", 0.97)]


def test_a_task_that_separates_says_by_how_much_and_by_what() -> None:
    found = separated([*APART, failed("D", Reason.PARSE_SCHEMA)])
    assert (found.separates, found.why, found.by) == (True, "separates", ("alpha", "consensus"))
    assert found.spread == pytest.approx(0.95 - 0.15)
    assert (found.counts.dispatches, found.counts.passed, found.counts.failed) == (5, 4, {"parse_schema": 1})
    assert found.counts.mean_quality == pytest.approx(0.75)
    assert [(one.name, one.dispatches, one.passed, one.mean_score) for one in found.miners] == [
        ("thorough-1", 2, 2, pytest.approx(0.95)),
        ("partial-1", 1, 1, pytest.approx(0.72)),
        ("lazy-1", 1, 1, pytest.approx(0.15)),
        ("mine", 1, 0, None),
    ]
    assert found.advice == "tells miners apart, by verdict, consensus"


def test_who_only_fails_gates_makes_no_task_separate() -> None:
    """Garbage is worth nothing on every task: it says nothing about one."""
    found = separated([*EQUAL, *[failed("D", Reason.PARSE_SCHEMA)] * 3])
    assert (found.separates, found.why) == (False, "equal")


@pytest.mark.parametrize(
    ("answers", "task", "heard", "why", "advice"),
    [
        (APART, UNKNOWN, NOW, "by_group", "only by what most of them say (verdict, consensus): write its truth"),
        (
            [answer("A", 0.9, 1.0), answer("B", 0.9, 0.8), answer("C", 0.9, 0.5)],
            TASK,
            NOW,
            "by_group",
            "its truth asks for nothing that some of them miss",
        ),
        (
            [answer("A", 0.4), answer("B", 0.5), answer("C", 0.9)],
            TASK,
            NOW,
            "upside_down",
            "careless miners score higher, by verdict: check its truth",
        ),
        (EQUAL, TASK, NOW, "equal", "everybody scores about 0.98 by its truth: nothing in it is hard to see"),
        (
            [answer(who, 0.8) for who in "ABC"],
            replace(TASK, missing_fields=("psi",)),
            NOW,
            "equal",
            "what is missed, everybody misses; say more in it: psi",
        ),
        ([answer(who, 0.3) for who in "ABC"], TASK, NOW, "equal", "check whether its truth can be met"),
        (EQUAL, UNKNOWN, NOW, "truth_missing", "has no truth, and miners agree"),
        ([answer(who, None) for who in "ABC"], TASK, NOW, "truth_missing", "write its truth"),
        (
            [answer("A", 1.0, alpha=1.0), answer("B", 0.9, alpha=1.0), answer("C", 0.9, alpha=1.0)],
            TASK,
            NOW,
            "speed",
            "only in how fast they are",
        ),
        (
            [failed(who, Reason.DEADLINE_LATE) for who in "ABC"],
            TASK,
            NOW,
            "late",
            "auditors 150 s: lower --pace (it is 10)",
        ),
        (
            [failed(who, Reason.DEADLINE_LATE) for who in "ABC"],
            TASK,
            Heard(1, 0, 151.0, 10),
            "late",
            "an analysis takes 151.0 s, primaries have 600 s, auditors 150 s",
        ),
        (
            [answer("A", 1.0), *(failed(who, Reason.DEADLINE_LATE) for who in "BCD")],
            TASK,
            Heard(1, 0, None, 1),
            "late",
            "nearly everybody is late: primaries have 600 s, auditors 150 s: give it longer windows, or see what holds",
        ),
        (
            [failed(who, Reason.TRACES_MISSING) for who in "AB"],
            TASK,
            NOW,
            "failed",
            "no answer passed: traces_missing: A runtime primary sent no trace bundle.",
        ),
        (
            [answer("A", 1.0), answer("A", 0.2), failed("B", Reason.PARSE_SCHEMA)],
            TASK,
            NOW,
            "too_few",
            "2 of 3 answers passed, of too few miners to compare; most others: parse_schema",
        ),
        ([], TASK, Heard(0, 0, None, 10), "not_given", "run more --rounds"),
        ([], TASK, Heard(0, 2, None, 10), "nobody", "that declare mcp_server"),
    ],
)
def test_why_a_task_tells_nothing_or_little(
    answers: Sequence[OwnAnswer], task: OwnTask, heard: Heard, why: str, advice: str
) -> None:
    found = separated(answers, task, heard)
    assert found.why == why
    assert advice in found.advice
    assert found.separates == (why in {"by_group", "upside_down"})


def test_plans_whose_code_waits_are_told_from_tasks_without_truth() -> None:
    goal = OwnTask("g", Path("g"), SkillType.WORKFLOW, Windows((0, 30), (0, 30)), has_truth=True)
    waiting = [OwnAnswer(1, who, "primary", Reason.WORKFLOW_DEFERRED, 1, None, 1, None, None, {}) for who in "ABC"]
    assert separated(waiting, goal).why == "unjudged"
    refused = separated([failed("A", Reason.DEADLINE_STATUS)], goal)
    assert "bring your own planner (--miners)" in refused.advice


def test_types_add_their_tasks_up() -> None:
    rag = OwnTask("r", Path("r"), SkillType.RAG_KNOWLEDGE, Windows((5, 45), (2, 15)), has_truth=True)
    found = type_results([separated(APART), separated([], TASK, Heard(0, 0, None, 1)), separated(EQUAL, rag)])
    assert [(one.skill_type, one.tasks, one.given, one.separating) for one in found] == [
        ("rag_knowledge", 1, 1, 0),
        ("mcp_server", 2, 1, 1),
    ]
    assert found[1].counts.dispatches == len(APART)


def test_the_page_shows_hostile_names_harmless() -> None:
    evil = OwnTask("x\x1b[31m[bold]", Path("x"), SkillType.MCP_SERVER, TASK.windows, has_truth=True)
    page = Console(width=200, no_color=True)
    with page.capture() as shown:
        one = separated([*APART, failed("D", Reason.PARSE_SCHEMA)], evil)
        print_own(type_results([one]), [one], page)
    lines = shown.get()
    assert "\x1b" not in lines.replace("\x1b[3m", "").replace("\x1b[0m", "").replace("\x1b[1m", "")
    assert lines.count(r"x\u001b[31m[bold]") == 2
    assert "1 of 1 tasks tell miners apart." in lines
    assert "1 parse_schema" in lines


def test_seeded_tasks_are_told_apart_by_the_end_of_their_names() -> None:
    page = Console(width=200, no_color=True)
    names = [f"{'a-package-with-a-long-name-' * 3}-6f65902d-00{number}" for number in (1, 2)]
    with page.capture() as shown:
        print_own((), [separated(APART, replace(TASK, name=name)) for name in names], page)
    lines = shown.get()
    assert [lines.count(f"{name} (mcp_server): ") for name in names] == [1, 1]
    assert [lines.count(f"…{name[-12:]}  mcp_server") for name in names] == [1, 1]
