import os
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from task_builders import make_task, numbered, write_task

from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from validator.tasks.directory import DirectorySource
from validator.tasks.source import InTurn, MemorySource, Order, Rotation, TaskShelf, TaskSourceError

DECLARATIVE = SkillType.DECLARATIVE
TASKS = [numbered(n) for n in range(4)]
HASHES = [task.task.bundle_sha256 for task in TASKS]


@pytest.fixture(params=["directory", "memory"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> TaskShelf:
    other = numbered(9, SkillType.RAG_KNOWLEDGE)
    if request.param == "memory":
        return MemorySource([*TASKS, other])
    for number, task in enumerate([*TASKS, other]):
        write_task(tmp_path / f"t{number}", task)
    return DirectorySource(tmp_path)


async def hashes(shelf: TaskShelf, count: int, order: Order | None = None) -> list[str]:
    return [task.task.bundle_sha256 for task in await shelf.fetch(DECLARATIVE, count, order or InTurn())]


class Backwards(InTurn):
    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        return list(sources)[::-1]


async def test_the_order_decides_what_is_served_of_a_type(shelf: TaskShelf) -> None:
    assert await hashes(shelf, 3) == HASHES[:3]
    assert await hashes(shelf, 3, Backwards()) == HASHES[:0:-1]
    assert [t.task.skill_type for t in await shelf.fetch(SkillType.RAG_KNOWLEDGE, 2, InTurn())] == ["rag_knowledge"]
    assert await shelf.fetch(SkillType.MCP_SERVER, 2, InTurn()) == []


async def test_a_server_lists_what_would_be_served(shelf: TaskShelf) -> None:
    assert await shelf.listed(DECLARATIVE, 3, Backwards()) == [task.task for task in TASKS[:0:-1]]
    assert await shelf.listed(SkillType.MCP_SERVER, 3, InTurn()) == []


async def test_what_is_served_is_the_task_with_its_bundle(shelf: TaskShelf) -> None:
    assert await shelf.fetch(DECLARATIVE, 16, InTurn()) == TASKS


async def test_bundles_are_found_by_hash(shelf: TaskShelf) -> None:
    assert await shelf.bundle(HASHES[2]) == TASKS[2].bundle
    assert await shelf.bundle("0" * 64) is None
    assert await shelf.reachable()
    await shelf.close()


@given(st.lists(st.tuples(st.integers(0, 4), st.frozensets(st.sampled_from("abcdef"))), max_size=30))
async def test_what_a_server_offers_goes_round_and_what_is_excluded_comes_last(
    calls: list[tuple[int, frozenset[str]]],
) -> None:
    keys, rotation = "abcdef", Rotation()
    last = dict.fromkeys(keys, -1)
    for moment, (count, exclude) in enumerate(calls):
        chosen = (await rotation.without(exclude).rank(DECLARATIVE, keys))[:count]
        fresh = [key for key in chosen if key not in exclude]
        assert len(fresh) == min(count, 6 - len(exclude))
        waiting = [last[key] for key in keys if key not in exclude and key not in chosen]
        assert all(last[key] <= past for key in fresh for past in waiting)
        for key in chosen:
            rotation.offered(DECLARATIVE, key)
            last[key] = moment


async def test_a_directory_is_seen_as_it_is_now(tmp_path: Path) -> None:
    source = DirectorySource(tmp_path)
    assert await hashes(source, 4) == []
    write_task(tmp_path / "b", TASKS[1])
    assert await hashes(source, 4) == [HASHES[1]]
    write_task(tmp_path / "a", TASKS[0])
    assert await hashes(source, 4) == [HASHES[0], HASHES[1]]
    write_task(tmp_path / "b", TASKS[2])
    assert sorted(await hashes(source, 4)) == sorted([HASHES[0], HASHES[2]])
    shutil.rmtree(tmp_path / "a")
    assert await hashes(source, 4) == [HASHES[2]]
    assert await source.bundle(HASHES[0]) is None
    assert await source.bundle(HASHES[2]) == TASKS[2].bundle


async def test_unchanged_tasks_are_not_read_again(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "a", TASKS[0])
    source = DirectorySource(tmp_path)
    first = (await source._scan()).entries[folder]
    assert (await source._scan()).entries[folder] is first
    os.utime(folder / "task.json", ns=(1, 1))
    assert (await source._scan()).entries[folder] is not first


async def test_a_broken_task_is_left_out_and_logged_once_for_each_state(tmp_path: Path) -> None:
    write_task(tmp_path / "good", TASKS[0])
    broken = write_task(tmp_path / "broken", TASKS[1])
    (broken / "task.json").write_text("{")
    source = DirectorySource(tmp_path)
    with capture_logs() as logs:
        assert await hashes(source, 4) == [HASHES[0]]
        assert await hashes(source, 4) == [HASHES[0]]
    assert [(line["event"], line["task"]) for line in logs] == [("task_refused", "broken")]
    assert "task.json" in logs[0]["reason"]
    with capture_logs() as logs:
        (broken / "task.json").write_text("{}")
        await hashes(source, 4)
        write_task(broken, TASKS[1])
        assert sorted(await hashes(source, 4)) == sorted(HASHES[:2])
    assert [line["task"] for line in logs] == ["broken"]


async def test_of_two_tasks_with_one_bundle_the_first_counts(tmp_path: Path) -> None:
    write_task(tmp_path / "b", TASKS[0])
    windows = Windows(primary=(0, 5), auditor=(0, 5))
    write_task(tmp_path / "a", make_task({"SKILL.md": b"# Skill 0\n"}, windows=windows))
    found = await DirectorySource(tmp_path).fetch(DECLARATIVE, 4, InTurn())
    assert [task.task.windows for task in found] == [windows]


async def test_a_directory_that_is_gone_is_an_error_and_unreachable(tmp_path: Path) -> None:
    source = DirectorySource(tmp_path / "gone")
    assert not await source.reachable()
    with pytest.raises(TaskSourceError, match="`gone`"):
        await source.fetch(DECLARATIVE, 1, InTurn())
