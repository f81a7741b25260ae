"""Whose answer is run again, and when a repeated run did the same (SPEC 15)."""

import hmac
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from builders import finding, make_task
from test_score_round import answers, frozen_input, plan_of, said

from validator.protocol.reasons import Reason
from validator.protocol.round import AssessmentTask, Rejection, RoundInput, RoundOutcome, RoundPlan, RoundResults
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Finding
from validator.protocol.traces import ProbesSeen
from validator.scoring import version

PYTHON = SkillType.EXECUTABLE_PYTHON
ALL = ProbesSeen(fs=True, network=True, process=True)
VERSIONS = pytest.mark.parametrize("name", ["1.0.0", "1.1.0"])
FOUND = tuple(finding(ref=f"a.py#L{line}") for line in (1, 2))
Said = Mapping[str, tuple[str, tuple[Finding, ...]]]
SAME = ("ALLOW", FOUND)


def settled(
    saying: Said, name: str = "1.0.0", skill_type: SkillType = PYTHON
) -> tuple[RoundInput, RoundPlan, RoundOutcome]:
    """A round of one task: hk0 to hk2 are primaries, hk3 and hk4 auditors; who says nothing failed a gate."""
    task = make_task(skill_type)
    frozen, plan = msgspec.structs.replace(frozen_input((task,)), scoring_version=name), plan_of(task)
    theirs = {hotkey: said(task, *what) for hotkey, what in saying.items()}
    rejections = tuple(
        Rejection("t1", hotkey, role, Reason.PARSE_SCHEMA, 1.0)
        for hotkey, role in plan.groups[0].members
        if hotkey not in saying
    )
    results = RoundResults((*answers(task, plan, theirs),), rejections)
    return frozen, plan, version(name).score(frozen, plan, results)


def chosen(saying: Said, name: str = "1.0.0", **how: Any) -> list[tuple[str, str]]:
    found = version(name).chosen_reruns(*settled(saying, name, **how))
    return [(one.hotkey, one.reason) for one in found]


def everybody(**changes: tuple[str, tuple[Finding, ...]]) -> Said:
    return {f"hk{i}": SAME for i in range(5)} | changes


@VERSIONS
def test_one_primary_that_diverges_is_run_again_alone(name: str) -> None:
    assert chosen(everybody(hk1=("BLOCK", FOUND)), name=name) == [("hk1", "rerun_diverges")]
    assert chosen(everybody(hk1=("REVIEW", FOUND)), name=name) == [("hk1", "rerun_diverges")]
    assert chosen(everybody(hk1=("ALLOW", ())), name=name) == [("hk1", "rerun_diverges")]
    two_of_five = everybody(hk1=("BLOCK", FOUND), hk3=("BLOCK", FOUND))
    assert chosen(two_of_five, name=name) == [("hk1", "rerun_diverges")]


@VERSIONS
def test_half_of_what_the_group_found_is_enough(name: str) -> None:
    assert chosen(everybody(hk1=("ALLOW", FOUND[:1])), name=name) == chosen(everybody(), name=name)


@VERSIONS
def test_a_group_that_splits_has_every_diverging_primary_run_again(name: str) -> None:
    four = {hotkey: what for hotkey, what in everybody().items() if hotkey != "hk4"}
    split = four | {"hk0": ("BLOCK", ()), "hk2": ("BLOCK", ())}  # two of four; the tie goes to BLOCK
    assert chosen(split, name) == [("hk1", "rerun_split")]
    alone = everybody(hk0=("REVIEW", FOUND), hk3=("BLOCK", FOUND), hk4=("ALLOW", ()))  # three of five
    assert chosen(alone, name=name) == [("hk0", "rerun_split")]


def test_who_failed_a_gate_neither_diverges_nor_is_run_again() -> None:
    four = everybody(hk1=("BLOCK", FOUND), hk3=("BLOCK", FOUND))
    without = {hotkey: what for hotkey, what in four.items() if hotkey != "hk0"}
    assert chosen(four) == [("hk1", "rerun_diverges")]  # two of five
    assert chosen(without) == [("hk2", "rerun_split")]  # two of four say BLOCK, which wins the tie


@VERSIONS
def test_where_no_primary_diverges_the_smallest_draw_decides(name: str) -> None:
    def drawn(*of: str) -> str:
        seed = bytes.fromhex("cd" * 32)
        return min(of, key=lambda hotkey: hmac.digest(seed, f"rerun|5|t1|{hotkey}".encode(), "sha256"))

    assert chosen(everybody(), name=name) == [(drawn("hk0", "hk1", "hk2"), "rerun_drawn")]
    assert chosen(everybody(hk3=("BLOCK", ())), name=name) == [(drawn("hk0", "hk1", "hk2"), "rerun_drawn")]
    for out, left in (("0", ("hk1", "hk2")), ("1", ("hk0", "hk2")), ("2", ("hk0", "hk1"))):
        rest = {hotkey: what for hotkey, what in everybody().items() if hotkey != f"hk{out}"}
        assert chosen(rest, name) == [(drawn(*left), "rerun_drawn")]


def test_without_a_group_verdict_nobody_diverges() -> None:
    two = {"hk0": ("ALLOW", FOUND), "hk3": ("BLOCK", ())}
    assert chosen(two) == [("hk0", "rerun_drawn")]
    assert chosen({"hk2": SAME}) == [("hk2", "rerun_drawn")]
    assert chosen({"hk3": SAME, "hk4": SAME}) == []


def test_what_does_not_run_is_not_run_again() -> None:
    assert chosen(everybody(hk1=("BLOCK", ())), skill_type=SkillType.RAG_KNOWLEDGE) == []


def test_ids_sort_as_rounds_tasks_and_members() -> None:
    def ids(round_id: str, *tasks: AssessmentTask) -> list[str]:
        plan = msgspec.structs.replace(plan_of(*tasks), round_id=round_id)
        frozen = frozen_input(tasks, round_id=round_id)
        found = [
            one
            for task in tasks
            for one in answers(task, plan, {f"hk{i}": said(task, "ALLOW" if i > 1 else "BLOCK") for i in range(5)})
        ]
        outcome = version("1.0.0").score(frozen, plan, RoundResults(tuple(found), ()))
        return [one.rerun_id for one in version("1.0.0").chosen_reruns(frozen, plan, outcome)]

    many = tuple(make_task(PYTHON, task_id=f"t{i}") for i in range(11))
    every = [*ids("9", *many), *ids("10", *many), *ids("1234567890123456", many[0])]
    assert every == sorted(set(every))
    assert every[:3] == ["0000000000000009-000-00", "0000000000000009-000-01", "0000000000000009-001-00"]
    assert (len(every), every[-1]) == (46, "1234567890123456-000-01")


def sets(**traces: str) -> dict[str, frozenset[bytes]]:
    """Base traces by one letter per signature."""
    return {
        name: frozenset(letter.encode() for letter in traces.get(name, ""))
        for name in ("network", "fs", "process", "secrets")
    }


@VERSIONS
def test_the_same_run_again_passes(name: str) -> None:
    run = sets(network="ab", fs="cd", process="e")
    found = version(name).compare_runs(run, run, ALL)
    assert (found.reason, found.event, found.fs_equal, found.similarity) == ("rerun_same", "rerun_pass", True, 1.0)


@VERSIONS
def test_how_much_of_the_repeated_run_the_miners_traces_must_have(name: str) -> None:
    """fs 1, secrets 1 (nothing to find); network and process together at least 0.8."""
    claimed = sets(network="abcd", fs="x", process="efgh")
    enough = version(name).compare_runs(claimed, sets(network="abcdz", fs="x", process="efghyvutsrqp"), ALL)
    assert enough.shares == {"network": 0.8, "fs": 1.0, "process": 4 / 12, "secrets": 1.0}
    assert (enough.event, enough.reason) == ("rerun_pass", "rerun_same")
    exactly = version(name).compare_runs(claimed, sets(network="abcdz", fs="x", process="zyvu"), ALL)
    assert (exactly.similarity, exactly.event) == (0.7, "rerun_pass")
    too_little = version(name).compare_runs(claimed, sets(network="abzy", fs="x", process="evut"), ALL)
    assert (too_little.similarity, too_little.reason, too_little.event) == (0.6875, "rerun_dissimilar", "rerun_fail")


def test_claiming_more_than_was_done_is_held_against_files_alone() -> None:
    run = sets(network="a", fs="c", process="e")
    assert version("1.0.0").compare_runs(sets(network="ab", fs="c", process="ef"), run, ALL).event == "rerun_pass"
    for other in (sets(network="a", fs="cd", process="e"), sets(network="a", fs="", process="e")):
        found = version("1.0.0").compare_runs(other, run, ALL)
        assert (found.reason, found.event) == ("rerun_fs", "rerun_fail")


@pytest.mark.parametrize("missing", ["fs", "network", "process"])
def test_a_run_that_does_not_show_every_probe_fails(missing: str) -> None:
    run = sets(network="a", fs="c", process="e")
    found = version("1.0.0").compare_runs(run, run, ALL._replace(**{missing: False}))
    assert (found.reason, found.event, found.probes) == ("rerun_probes", "rerun_fail", False)
