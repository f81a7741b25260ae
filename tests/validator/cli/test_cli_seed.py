"""`validator tasks seed`, as a user would, on good and on hostile input."""

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_store import answered, called, validator

from sssa.protocol.archives import pack
from taskmaker.planting.shapes import builtin_shapes
from validator.tasks.folder import read_task

TEXT = "# Greet\n\nSay hello.\n\nThen say it again, in a friendly voice.\n\nDo it well.\n\nThat is all.\n"
KINDS = {f"{shape.family}/{shape.name}" for shape in builtin_shapes()}


def skill(folder: Path) -> Path:
    folder.mkdir()
    (folder / "SKILL.md").write_text(TEXT)
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_seeded_tasks_check_and_are_told(tmp_path: Path) -> None:
    skill(tmp_path / "greeter")
    done = validator(
        "tasks", "seed", "greeter", "--output", "out", "--seed", "word", "--count", "3", "--ordinary", "0", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    checked = called("tasks", "check", "out", cwd=tmp_path)
    assert checked.returncode == 0
    assert checked.stdout.endswith("\n3 tasks, 0 problems\n")
    for folder in (path.parent for path in sorted((tmp_path / "out").glob("*/task.json"))):
        task = read_task(folder).task
        assert task.truth is not None
        assert task.truth.findings is not None
        assert f"{Path('out') / folder.name}: declarative, " in done.stdout
        for finding in task.truth.findings or ():
            assert finding.kind in KINDS
            assert f"{folder.name}  {finding.kind}" in done.stdout
            assert f"{finding.severity}  " in done.stdout


def test_the_same_word_gives_the_same_bytes_and_nothing_is_written_over(tmp_path: Path) -> None:
    skill(tmp_path / "greeter")
    line = ["tasks", "seed", "greeter", "--seed", "word", "--count", "2"]
    first = answered(*line, "--output", "a", "--json", cwd=tmp_path)
    second = answered(*line, "--output", "b", "--json", cwd=tmp_path)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert [task | {"path": ""} for task in first["tasks"]] == [task | {"path": ""} for task in second["tasks"]]
    assert first["notes"]["greeter"][0] == "added manifest.json"
    assert re.match(
        "before planting .* finds |no analyser looked at it|the analyser .* failed: ", first["notes"]["greeter"][1]
    )
    truth = json.loads((tmp_path / first["tasks"][0]["path"] / "task.json").read_text())["truth"]
    for printed, known in zip(first["tasks"][0]["findings"], truth["findings"], strict=True):
        assert {key: printed[key] for key in ("kind", "category", "severity", "evidence_ref")} == {
            key: known[key] for key in ("kind", "category", "severity", "evidence_ref")
        }
    before = contents(tmp_path)
    again = called(*line, "--output", "a", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "planted", "ordinary"),
    [((), 4, 4), (("--count", "2"), 2, 2), (("--ordinary", "0"), 4, 0), (("--count", "0", "--ordinary", "3"), 0, 3)],
)
def test_each_bundle_gives_planted_and_ordinary_tasks(
    options: tuple[str, ...], planted: int, ordinary: int, tmp_path: Path
) -> None:
    skill(tmp_path / "greeter")
    done = validator("tasks", "seed", "greeter", "--seed", "word", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    truths = [read_task(path.parent).task.truth for path in sorted((tmp_path / "tasks").glob("*/task.json"))]
    assert [truth is None for truth in truths] == [False] * planted + [True] * ordinary
    assert done.stdout.count("ordinary, without a truth") == ordinary
    (note,) = (tmp_path / "tasks").glob("seeded-*.txt")
    assert len(note.read_text().split()) == len(truths)


def test_a_seeding_of_nothing_is_bad_usage(tmp_path: Path) -> None:
    skill(tmp_path / "greeter")
    done = called("tasks", "seed", "greeter", "--count", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "with --count 0, say how many ordinary tasks to make" in " ".join(done.stderr.replace("│", " ").split())


def test_a_word_is_drawn_where_none_is_given(tmp_path: Path) -> None:
    skill(tmp_path / "greeter")
    seeds = [answered("tasks", "seed", "greeter", "--output", out, "--json", cwd=tmp_path)["seed"] for out in "ab"]
    assert len({*seeds}) == 2
    assert all(len(word) == 32 for word in seeds)


def empty(path: Path) -> Path:
    path.mkdir()
    return path


def bomb(path: Path) -> Path:
    path = path.with_suffix(".tar.gz")
    path.write_bytes(gzip.compress(bytes(64 * 1024 * 1024)))
    return path


def binary(path: Path) -> Path:
    path.mkdir()
    (path / "SKILL.md").write_bytes(bytes(range(256)) * 20)
    return path


def device(path: Path) -> Path:
    os.mkfifo(path)
    return path


def broken_task(path: Path) -> Path:
    skill(path)
    (path / "task.json").write_text("{}")
    (path / "bundle.tar.gz").write_bytes(pack({}))
    return path


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda path: path, "no path that exists"),
        (empty, "holds nothing"),
        (bomb, "expands beyond"),
        (binary, "holds no text"),
        (device, "no folder, zip"),
        (broken_task, "task.json: "),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(tmp_path: Path, made: Callable[[Path], Path], why: str) -> None:
    skill(tmp_path / "good")
    bad = made(tmp_path / "bad")
    before = sorted(tmp_path.iterdir())
    done = called("tasks", "seed", "good", bad.name, "--output", "deep/out", "--seed", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert "`bad" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
