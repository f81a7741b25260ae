"""Execution marks show when a bundle is run, and only then (SPEC 15)."""

import pytest
from marked_bundles import LANGUAGES, files_in
from tracing_kit import fields, manifest, read, traced

from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.traces import signature_digest
from sssa.sources import Draws, SeededRandom
from taskmaker.canary import make_canary
from taskmaker.planting.marks import COMPUTATIONS, plant_mark

SAMPLE = len(COMPUTATIONS)


@pytest.mark.parametrize("number", range(SAMPLE))
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_run_shows_the_mark_both_times(language: str, number: int) -> None:
    files, kind = files_in(language, f"run {number}")
    planted = plant_mark(files, kind, Draws(SeededRandom(f"shown {language} {number}")))
    assert planted is not None
    mark = planted.path_in(planted.files)
    without = await traced(files, kind)
    assert ("write", mark) not in fields(without.records, "fs", "op", "path")
    for _ in range(2):
        result = await traced(planted.files, kind)
        assert ("write", mark) in fields(result.records, "fs", "op", "path")
        assert [run.ended for run in result.runs] == [run.ended for run in without.runs], result.runs[0].detail


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [kind for kind in SkillType if kind is not SkillType.WORKFLOW and is_runtime(kind)])
async def test_a_canary_shows_what_its_truth_says(kind: SkillType, seed: int) -> None:
    made = make_canary(kind, SeededRandom(f"shown {seed}"), wanted=0)
    assert made.task.truth is not None
    mark = made.task.truth.mark
    assert isinstance(mark, str)
    signatures = read((await traced(read_bundle(made.bundle), kind)).records, kind).signatures
    assert signature_digest("fs", {"op": "write", "path": mark}) in signatures["fs"]


MOVING = b'#!/bin/sh\nset -eu\ncd "$(dirname "$0")"\n\nmkdir -p out\ncd out\n\n[ -n "${1:-}" ] || exit 0\n\necho "$1"\n'
WAITING = b"import asyncio\n\n\nasync def run():\n    await asyncio.sleep(0)\n\n\ndef main():\n    asyncio.run(run())\n"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "entry", "path", "code"),
    [
        (SkillType.EXECUTABLE_SCRIPT, "bin/run.sh", "bin/run.sh", MOVING),
        (SkillType.EXECUTABLE_PYTHON, "job:run", "job.py", WAITING),
    ],
)
async def test_code_that_leaves_its_folder_or_never_starts_has_its_mark(
    kind: SkillType, entry: str, path: str, code: bytes, seed: int
) -> None:
    files = {"manifest.json": manifest(entry), path: code}
    planted = plant_mark(files, kind, Draws(SeededRandom(f"moving {seed}")))
    assert planted is not None
    records = (await traced(planted.files, kind)).records
    assert ("write", planted.path_in(planted.files)) in fields(records, "fs", "op", "path")
