"""Canaries of an operator's own bases, and the result of bases that are none (SPEC 16, D-33)."""

import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from task_builders import SKILL, make_task, make_truth, write_task
from toy_shapes import appending, shape

from sssa.protocol.bundles import read_bundle
from sssa.protocol.limits import MIB
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from sssa.sources import SeededRandom
from taskmaker.canary import Canaries, is_harmless, planting_workers
from taskmaker.planting.planting import Shape
from validator.tasks.directory import DirectorySource
from validator.workers.interface import Budget
from validator.workers.pool import WorkerPool

DECLARATIVE = SkillType.DECLARATIVE
WINDOWS, STANDARD = Windows((1, 7), (0, 5)), Windows((0, 60), (0, 60))


def canaries(folder: Path, seed: str = "s") -> Canaries:
    return Canaries(SeededRandom(seed), DirectorySource(folder), STANDARD)


async def test_a_canary_is_made_of_a_drawn_base_and_has_its_windows_and_its_marker(tmp_path: Path) -> None:
    marked = {**SKILL, "notes.md": b"# Notes\n"}
    for number in range(3):
        files = {**marked, f"only-{number}.md": b"# Only\n"}
        write_task(tmp_path / str(number), make_task(files, canary="notes.md", windows=WINDOWS))
    maker = canaries(tmp_path)
    drawn = set()
    for _ in range(12):
        made = await maker.make(DECLARATIVE)
        assert made is not None
        assert made.task.canary is not None
        assert (made.task.windows, made.task.canary.file, made.task.provenance) == (WINDOWS, "notes.md", "canary")
        files = read_bundle(made.bundle)
        drawn |= {name for name in files if name.startswith("only-")}
        assert files.keys() >= marked.keys()
    assert drawn == {"only-0.md", "only-1.md", "only-2.md"}


async def test_a_type_without_a_base_has_a_canary_all_the_same_and_that_is_told_once(tmp_path: Path) -> None:
    write_task(tmp_path / "one", make_task())
    maker = canaries(tmp_path)
    with capture_logs() as logs:
        made, _ = [await maker.make(SkillType.MCP_SERVER) for _ in range(2)]
    assert made is not None
    assert (made.task.skill_type, made.task.windows) == (SkillType.MCP_SERVER, STANDARD)
    assert [(line["event"], line["skill_type"]) for line in logs] == [("canary_built_in", "mcp_server")]


async def test_a_type_whose_only_base_breaks_is_told_again(tmp_path: Path) -> None:
    maker = canaries(tmp_path)
    with capture_logs() as logs:
        assert await maker.make(DECLARATIVE) is not None
        write_task(tmp_path / "one", make_task())
        assert await maker.make(DECLARATIVE) is not None
        (tmp_path / "one" / "bundle.tar.gz").write_bytes(b"torn")
        assert await maker.make(DECLARATIVE) is not None
    assert [line["event"] for line in logs] == ["canary_built_in", "task_refused", "canary_built_in"]


async def test_a_base_is_planted_in_by_a_process_as_it_would_be_here(tmp_path: Path) -> None:
    write_task(tmp_path / "one", make_task())
    here = await canaries(tmp_path).make(DECLARATIVE)
    source = DirectorySource(tmp_path)
    assert await Canaries(SeededRandom("s"), source, STANDARD, planting_workers).make(DECLARATIVE) == here
    assert here is not None


async def test_a_base_that_is_too_costly_costs_its_canary_and_is_tried_once(tmp_path: Path) -> None:
    write_task(tmp_path / "one", make_task({**SKILL, "large.md": os.urandom(MIB)}))
    begun: list[WorkerPool] = []

    def workers() -> WorkerPool:
        begun.append(WorkerPool(1, preload=("taskmaker.canary",), budget=Budget(memory=0)))
        return begun[-1]

    maker = Canaries(SeededRandom("s"), DirectorySource(tmp_path), STANDARD, workers)
    with capture_logs() as logs:
        assert await maker.make(DECLARATIVE) is None
    assert len(begun) == 1
    failed = [line["reason"] for line in logs if line["event"] == "canary_failed"]
    assert [reason.partition("` ")[2] for reason in failed] == [
        "is too costly to plant in: out of memory (exit code 76)",
        *["was too costly before"] * 2,
    ]


@pytest.mark.parametrize(
    ("truth", "reason"),
    [(make_truth(verdict="BLOCK"), "is no benign task"), (make_truth(injections=("SKILL.md",)), "is no benign task")],
)
async def test_what_is_at_fault_is_no_base(tmp_path: Path, truth: object, reason: str) -> None:
    write_task(tmp_path / "bad", make_task(truth=truth))  # type: ignore[arg-type]
    with capture_logs() as logs:
        assert await canaries(tmp_path).make(DECLARATIVE) is None
    assert {(line["event"], line["skill_type"]) for line in logs} == {("canary_failed", "declarative")}
    assert all(reason in line["reason"] for line in logs)


async def test_a_folder_that_is_not_there_costs_the_canary(tmp_path: Path) -> None:
    with capture_logs() as logs:
        assert await canaries(tmp_path / "absent").make(DECLARATIVE) is None
    assert [line["event"] for line in logs] == ["canary_failed"]


def failing(*_: object) -> None:
    raise ValueError("no \x1b[31mplace")


@pytest.mark.parametrize(
    "shapes", [(shape("fails", failing),), (shape("nowhere", appending("x", "absent.md")),)], ids=["fails", "nowhere"]
)
async def test_a_shape_that_fails_or_finds_no_place_ends_no_round(
    tmp_path: Path, shapes: tuple[Shape, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskmaker.canary.shapes_with", lambda _: shapes)
    write_task(tmp_path / "one", make_task())
    maker = canaries(tmp_path)
    with capture_logs() as logs:
        made = [await maker.make(DECLARATIVE) for _ in range(12)]
    assert None in made
    assert all(one is None or is_harmless(one) for one in made)
    assert logs
    assert "\x1b" not in str([line["reason"] for line in logs])
