"""Sources of workflow tasks: files below the task folder, or memory."""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from workflow_builders import make_workflow, task_document

from sssa.protocol.limits import MAX_TASK_BODY
from sssa.protocol.workflow_task import WorkflowTask, task_sha256
from validator.tasks.goals import DirectoryGoals, GoalSource, MemoryGoals, find_goals, read_goal
from validator.tasks.source import InTurn, TaskError

TASKS = [make_workflow(goal=f"Goal {number}.") for number in range(4)]
HASHES = [task_sha256(task) for task in TASKS]


def write(folder: Path, number: int = 0, **changes: Any) -> Path:
    """Write a workflow task into its own folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "workflow.json"
    path.write_bytes(msgspec.json.encode(task_document(goal=f"Goal {number}.", **changes)))
    return path


@pytest.fixture(params=["directory", "memory"])
def goals(request: pytest.FixtureRequest, tmp_path: Path) -> GoalSource:
    if request.param == "memory":
        return MemoryGoals(TASKS)
    for number in range(4):
        write(tmp_path / f"t{number}", number)
    return DirectoryGoals(tmp_path)


async def served(goals: GoalSource, count: int, exclude: frozenset[str] = frozenset()) -> list[str]:
    return [task_sha256(task) for task in await goals.fetch(count, InTurn(exclude=exclude))]


async def test_goals_are_served_whole_in_the_order_that_is_asked_for(goals: GoalSource) -> None:
    assert await goals.fetch(4, InTurn()) == TASKS
    assert await served(goals, 3) == HASHES[:3]
    assert await served(goals, 3, frozenset(HASHES[:2])) == [HASHES[2], HASHES[3], HASHES[0]]
    assert await served(goals, 9) == HASHES
    assert await served(goals, 0) == []


async def test_the_same_goal_twice_counts_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name)
    assert await served(DirectoryGoals(tmp_path), 5) == HASHES[:1]
    assert await served(MemoryGoals([TASKS[0], TASKS[0]]), 5) == HASHES[:1]


async def test_a_folder_is_read_again_every_time(tmp_path: Path) -> None:
    goals = DirectoryGoals(tmp_path / "later")
    assert await served(goals, 5) == []
    write(tmp_path / "later" / "a")
    assert await served(goals, 5) == HASHES[:1]
    write(tmp_path / "later" / "a", 1)
    write(tmp_path / "later" / "b" / "c", 2)
    assert await served(goals, 5) == HASHES[1:3]
    shutil.rmtree(tmp_path / "later")
    with capture_logs() as logs:
        assert await served(goals, 5) == []
    assert logs == []


async def test_a_broken_file_is_told_once_for_each_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "bad", required_steps=0)
    write(tmp_path / "good")
    goals = DirectoryGoals(tmp_path)

    async def warnings_of() -> list[tuple[str, str]]:
        with capture_logs() as logs:
            assert await served(goals, 5) == HASHES[:1]
        assert all(line["log_level"] == "warning" and line["event"] == "task_refused" for line in logs)
        return [(line["task"], line["reason"]) for line in logs]

    ((name, reason),) = await warnings_of()
    assert name == "bad"
    assert "required_steps" in reason
    assert await warnings_of() == []
    path.write_text("{")
    assert len(await warnings_of()) == 1
    assert await warnings_of() == []
    write(tmp_path / "bad")
    assert await warnings_of() == []  # sound, and the same as the other
    write(tmp_path / "bad", required_steps=0)
    assert len(await warnings_of()) == 1  # broken again is news again


async def test_what_a_log_line_shows_of_a_file_is_harmless(tmp_path: Path) -> None:
    write(tmp_path / "a\x1b[31mb\nc", **{"x\x1b[31m\n" * 50: 1})
    with capture_logs() as logs:
        await DirectoryGoals(tmp_path).fetch(1, InTurn())
    (line,) = logs
    assert (line["task"] + line["reason"]).isprintable()
    assert len(line["reason"]) <= 600


async def test_files_that_cannot_be_tasks_are_refused_without_being_read_whole(tmp_path: Path) -> None:
    huge = write(tmp_path / "huge")
    with huge.open("ab") as file:
        file.truncate(MAX_TASK_BODY + 1)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "workflow.json")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "workflow.json").symlink_to("workflow.json")
    (tmp_path / "folder" / "workflow.json").mkdir(parents=True)
    write(tmp_path / "good")
    with capture_logs() as logs:
        assert await served(DirectoryGoals(tmp_path), 5) == HASHES[:1]
    assert {line["task"]: line["reason"] for line in logs} == {
        "huge": f"`workflow.json` is larger than {MAX_TASK_BODY} bytes",
        "pipe": "`workflow.json` is no regular file",
        "loop": "`workflow.json` cannot be read: Too many levels of symbolic links",
    }


def test_hidden_folders_and_links_to_folders_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    found = [write(root / name) for name in ("b/c", "a")]
    write(root / ".git" / "x")
    write(root / "a" / ".cache")
    write(tmp_path / "elsewhere")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    assert find_goals(root) == sorted(found)
    assert find_goals(tmp_path / "absent") == []
    assert find_goals(found[0]) == [found[0]]
    assert find_goals(root / "a") == [root / "a" / "workflow.json"]


def test_a_file_is_read_or_refused_with_the_field(tmp_path: Path) -> None:
    task: WorkflowTask = read_goal(write(tmp_path / "a", 3))
    assert task == TASKS[3]
    with pytest.raises(TaskError, match=r"workflow\.json: .*at `goal`"):
        read_goal(blank(tmp_path))
    with pytest.raises(TaskError, match="cannot be read"):
        read_goal(tmp_path / "absent" / "workflow.json")


def blank(folder: Path) -> Path:
    """A task without a goal."""
    path = folder / "workflow.json"
    path.write_bytes(msgspec.json.encode(task_document(goal=" ")))
    return path
