import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from task_builders import make_task, make_truth, numbered, write_task
from workflow_builders import task_document

from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import KnownFinding
from taskmaker.check import check_tasks
from validator.tasks.source import TaskError


def problems_in(folder: Path) -> list[tuple[str, str]]:
    """Task and fault of everything that is wrong below a folder."""
    checked = check_tasks(folder)
    return [(one.path.relative_to(folder).as_posix(), fault) for one in checked for fault in one.problems]


def test_sound_tasks_have_no_problems(tmp_path: Path) -> None:
    write_task(tmp_path / "a", numbered(1))
    write_task(tmp_path / "b", numbered(1, SkillType.RAG_KNOWLEDGE))
    assert problems_in(tmp_path) == []
    assert [task.path.name for task in check_tasks(tmp_path)] == ["a", "b"]


def test_all_problems_of_a_task_are_told_at_once(tmp_path: Path) -> None:
    finding = KnownFinding("other", "low", "SKILL.md#L9", (), "", "secret/key")
    truth = make_truth(injections=("x.md", "SKILL.md#L9"), findings=(finding,))
    write_task(tmp_path / "bad", make_task(truth=truth, canary="y.md", bundle_sha256="0" * 64))
    problems = problems_in(tmp_path)
    assert {task for task, _ in problems} == {"bad"}
    fields = [fault.rpartition(" - at ")[2] for _, fault in problems]
    assert fields == [
        "`bundle_sha256`",
        "`truth.injections[0]`",
        "`truth.injections[1]`",
        "`truth.findings[0].evidence_ref`",
        "`canary.file`",
    ]


def test_unreadable_parts_and_documents_are_problems(tmp_path: Path) -> None:
    (write_task(tmp_path / "a", numbered(1)) / "task.json").write_text("{")
    (write_task(tmp_path / "b", numbered(2)) / "bundle.tar.gz").unlink()
    (tmp_path / "c.tgz").write_bytes(b"")
    assert [task for task, _ in problems_in(tmp_path)] == ["a", "b", "c.tgz"]


def test_a_second_task_with_the_same_bundle_is_never_served(tmp_path: Path) -> None:
    write_task(tmp_path / "a", numbered(1))
    write_task(tmp_path / "b", numbered(1))
    ((task, fault),) = problems_in(tmp_path)
    assert task == "b"
    assert "`a`" in fault


def test_a_manifest_hash_that_nothing_has_is_a_problem(tmp_path: Path) -> None:
    truth = make_truth(manifest_sha256="ab" * 32)
    write_task(tmp_path / "a", make_task({"mcp.json": b"{}"}, skill_type=SkillType.MCP_SERVER, truth=truth))
    ((task, fault),) = problems_in(tmp_path / "a")
    assert task == "."
    assert "`truth.manifest_sha256`" in fault


def test_folders_deeper_than_the_interpreter_recurses_are_looked_through(tmp_path: Path) -> None:
    (tmp_path / "c.tgz").write_bytes(b"")
    deepest = tmp_path
    for _ in range(sys.getrecursionlimit() + 100):
        deepest /= "d"
        deepest.mkdir()
    goal = deepest / "workflow.json"
    goal.write_text("{")
    found = [task.path.name for task in check_tasks(tmp_path)]
    goal.unlink()
    os.removedirs(deepest)  # nobody else could: those who clean up recurse
    assert found == ["c.tgz", "workflow.json"]


def test_links_that_lead_in_circles_are_left_out(tmp_path: Path) -> None:
    write_task(tmp_path / "a", numbered(1))
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "self.tar.gz").symlink_to("self.tar.gz")
    (tmp_path / "folder.tar.gz").symlink_to(tmp_path / "a")
    assert [(task, "cannot be read" in fault) for task, fault in problems_in(tmp_path)] == [("self.tar.gz", True)]


def test_nothing_to_check_is_a_problem(tmp_path: Path) -> None:
    assert [task for task, _ in problems_in(tmp_path)] == ["."]
    with pytest.raises(TaskError, match="`gone` cannot be listed"):
        check_tasks(tmp_path / "gone")


def goal(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    path = folder / "workflow.json"
    path.write_bytes(msgspec.json.encode(task_document(**changes)))
    return path


def test_workflows_are_checked_beside_the_others(tmp_path: Path) -> None:
    write_task(tmp_path / "a", numbered(1))
    path = goal(tmp_path / "b")
    goal(tmp_path / "c", required_steps=0)
    goal(tmp_path / "d")
    goal(tmp_path / "e", type="agent")
    assert [task.path.relative_to(tmp_path).as_posix() for task in check_tasks(tmp_path)] == [
        "a",
        *(f"{name}/workflow.json" for name in "bcde"),
    ]
    steps, twice, reference = problems_in(tmp_path)
    assert steps[0] == "c/workflow.json"
    assert steps[1].startswith("workflow.json: ")
    assert "`$.required_steps`" in steps[1]
    assert twice == ("d/workflow.json", "the same task as `b/workflow.json`: it is never served")
    assert (reference[0], "`reference.text`" in reference[1]) == ("e/workflow.json", True)
    (alone,) = check_tasks(path)
    assert (alone.path, alone.problems, alone.notes[0][:7]) == (path, (), "worth 1")
    assert check_tasks(tmp_path / "b") == [alone]
