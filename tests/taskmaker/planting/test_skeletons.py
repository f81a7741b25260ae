import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.planting import Files
from taskmaker.planting.skeletons import draw_skeleton
from validator.tasks.layout import guess_skill_type, marker_file

CONTENT = {SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE}
SEEDS = [f"skeleton {n}" for n in range(8)]


def drawn(skill_type: SkillType, seed: str) -> tuple[Files, str | None]:
    return draw_skeleton(skill_type, Draws(SeededRandom(seed)))


def unpacked(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def guessed(files: Files) -> SkillType | None:
    guess = guess_skill_type(files)
    return None if guess is None else guess.skill_type


def run(folder: Path, *command: str) -> str:
    """Return the output of a command in `folder`; it must succeed without complaints."""
    done = subprocess.run(command, cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
@settings(max_examples=10)
@given(seed=st.text(max_size=6))
def test_a_skeleton_is_a_bundle_of_its_type(skill_type: SkillType, seed: str) -> None:
    files, marked = drawn(skill_type, seed)
    assert (files, marked) == drawn(skill_type, seed)
    assert read_bundle(pack(files)) == dict(sorted(files.items()))
    assert guessed(files) is skill_type
    assert guessed({name: content for name, content in files.items() if name != "manifest.json"}) is skill_type
    assert (marked is not None) == (skill_type in CONTENT)
    assert marked is None or marked in files
    assert (marker_file(files, skill_type) is not None) == (marked is not None)
    for name, content in files.items():
        assert content.endswith(b"\n")
        assert b"\r" not in content
        assert b"@" not in content
        if name.endswith(".json"):
            json.loads(content)
        if name.endswith(".jsonl"):
            assert all(json.loads(line) for line in content.splitlines())


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_two_skeletons_rarely_look_alike(skill_type: SkillType) -> None:
    made = [drawn(skill_type, f"alike {n}")[0] for n in range(24)]
    sizes = sorted(sum(map(len, files.values())) for files in made)
    assert len({str(sorted(files.items())) for files in made}) == len(made)
    assert len({tuple(sorted(files)) for files in made}) >= 12
    assert sizes[0] >= 1_000
    assert sizes[-1] <= 100_000
    assert sizes[-3] >= 2 * sizes[2]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_python_skeleton_runs_with_and_without_arguments(tmp_path: Path, seed: str) -> None:
    files, _ = drawn(SkillType.EXECUTABLE_PYTHON, seed)
    folder = unpacked(tmp_path, files)
    module, _, function = json.loads(files["manifest.json"])["entry_point"].partition(":")
    start = f"import sys; sys.path.insert(0, '.'); sys.argv = ['x']; import {module} as m; assert m.{function}() == 0"
    printed = run(folder, sys.executable, "-I", "-W", "error", "-B", "-c", start)
    assert printed.strip()
    assert printed == run(folder, sys.executable, "-W", "error", "-B", "-m", module)
    if "tests/test_functions.py" in files:
        subprocess.run(
            [sys.executable, "-B", "tests/test_functions.py"],
            cwd=folder,
            check=True,
            capture_output=True,
            env={"PYTHONPATH": "."},
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_script_skeleton_runs_with_and_without_a_step(tmp_path: Path, seed: str) -> None:
    files, _ = drawn(SkillType.EXECUTABLE_SCRIPT, seed)
    folder = unpacked(tmp_path, files)
    before = set(folder.rglob("*"))
    assert run(folder, "bash", "main.sh").strip()
    assert any(path.is_file() for path in set(folder.rglob("*")) - before)
    if "tests/run.sh" in files:
        assert run(folder, "bash", "tests/run.sh").endswith("passed\n")
    assert subprocess.run(["bash", "main.sh", "nonsense"], cwd=folder, check=False, capture_output=True).returncode == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_children_of_a_composition_are_skeletons_in_their_folders(seed: str) -> None:
    files, _ = drawn(SkillType.AGENT_COMPOSITION, seed)
    composition = json.loads(files["composition.json"])
    named = {child["name"]: child for child in composition["children"]}
    assert 2 <= len(named) == len(composition["children"])
    assert {name for edge in composition["flow"] for name in edge} == {*named, composition["name"]}
    for child in named.values():
        inside = {
            name.removeprefix(f"{child['path']}/"): content
            for name, content in files.items()
            if name.startswith(f"{child['path']}/")
        }
        assert guessed(inside) == child["skill_type"]


def test_a_workflow_has_no_skeleton() -> None:
    with pytest.raises(ValueError, match="skill_type"):
        drawn(SkillType.WORKFLOW, "x")
