"""No miner can tell a canary from a curated task that was seeded from the same bases, by its form (SPEC 16, D-33).

A classifier learns from 200 examples and is asked for 200 others, half of them canaries. So that this says something,
it has to tell apart what does differ: the canaries of older programs, and canaries that give themselves away.
"""

import asyncio
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from builders import V1
from classifier import accuracy
from form_features import features
from task_builders import make_task, write_task

from miner.bundles.written import written_bundles
from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.task import Windows
from sssa.sources import Draws, SeededRandom
from taskmaker.canary import Canaries
from taskmaker.planting.shapes import builtin_shapes
from taskmaker.planting.skeletons import draw_skeleton
from taskmaker.seeding import Seeding, planted_task, read_bases, seeded
from validator.kinds.assessment.supply import pack_task
from validator.kinds.services import PackedTask
from validator.tasks.directory import DirectorySource
from validator.tasks.source import SourcedTask

pytestmark = pytest.mark.attack

EACH = 200  # canaries, and as many curated tasks: half of both is held out
WINDOWS = Windows((3, 60), (1, 20))
OLD_TYPES = (SkillType.DECLARATIVE, SkillType.MCP_SERVER)
Form = list[float]
Dispatched = dict[SkillType, list[PackedTask]]


def dispatched(tasks: list[SourcedTask], seed: str) -> list[PackedTask]:
    """The tasks as miners get them."""
    random = SeededRandom(seed)
    packed = [pack_task(V1.rules, "0", 0, task, random.token(NONCE_BYTES)) for task in tasks]
    return [one for one in packed if one is not None]


def share(skill_type: SkillType) -> int:
    return len(range(ASSESSED_TYPES.index(skill_type), EACH, len(ASSESSED_TYPES)))


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three packed tasks of each type without a truth; every second one with its own windows."""
    folder = tmp_path_factory.mktemp("bases")
    for number, bundle in enumerate(written_bundles()):
        canary = None if bundle.canary is None else bundle.canary.file
        windows = WINDOWS if number % 2 else None
        write_task(
            folder / bundle.name, make_task(bundle.files, skill_type=bundle.skill_type, canary=canary, windows=windows)
        )
    return folder


@pytest.fixture(scope="module")
def curated(bases: Path) -> Dispatched:
    found: dict[SkillType, list[SourcedTask]] = {kind: [] for kind in ASSESSED_TYPES}
    for base in read_bases(bases):
        found[base.skill_type] += [
            one.task for one in islice(seeded(base, Seeding("curated", EACH, builtin_shapes())), EACH // 18 + 1)
        ]
    return {kind: dispatched(tasks[: share(kind)], "curated") for kind, tasks in found.items()}


@pytest.fixture(scope="module")
def canaries(bases: Path) -> Dispatched:
    async def made() -> dict[SkillType, list[SourcedTask]]:
        maker = Canaries(SeededRandom("canaries"), DirectorySource(bases))
        return {
            kind: [one for _ in range(share(kind)) if (one := await maker.make(kind)) is not None]
            for kind in ASSESSED_TYPES
        }

    return {kind: dispatched(tasks, "canaries") for kind, tasks in asyncio.run(made()).items()}


def forms(tasks: Dispatched, change: Callable[[PackedTask], PackedTask] = lambda task: task) -> list[Form]:
    """Their numbers, type after type, so that both halves have all types."""
    return [features(change(task)) for kind in ASSESSED_TYPES for task in tasks.get(kind, ())]


def test_canaries_and_seeded_tasks_cannot_be_told_apart(canaries: Dispatched, curated: Dispatched) -> None:
    ones, others = forms(canaries), forms(curated)
    assert len(ones) == len(others) == EACH
    assert accuracy(ones, others) <= 0.60


def test_canaries_of_older_programs_can(curated: Dispatched) -> None:
    """One fixed form in two types, and never a fault (SPEC 5): what the classifier must find."""
    old: Dispatched = {}
    for kind in OLD_TYPES:
        drawn = [draw_skeleton(kind, Draws(SeededRandom(f"{kind} {n}"))) for n in range(len(curated[kind]))]
        tasks = [make_task(files, skill_type=kind, canary=marked, provenance="canary") for files, marked in drawn]
        old[kind] = dispatched(tasks, "old")
    assert accuracy(forms(old), forms({kind: curated[kind] for kind in OLD_TYPES})) > 0.90


def test_canaries_that_never_had_a_fault_could_be_told(bases: Path, curated: Dispatched) -> None:
    """Even of the same bases: what was planted shows in the form of most tasks."""
    found: dict[SkillType, list[SourcedTask]] = {kind: [] for kind in ASSESSED_TYPES}
    for base in read_bases(bases):
        plain, _ = planted_task(base, Draws(SeededRandom("plain")), builtin_shapes(), "canary", wanted=0)
        found[base.skill_type] += [plain] * 10
    never = {kind: dispatched(tasks, "never") for kind, tasks in found.items()}
    some = {kind: tasks[: len(never[kind])] for kind, tasks in curated.items()}
    assert accuracy(forms(never), forms(some)) > 0.80


def other_windows(packed: PackedTask) -> PackedTask:
    return packed._replace(task=msgspec.structs.replace(packed.task, windows=Windows((3, 61), (1, 20))))


def dated(packed: PackedTask) -> PackedTask:
    """Its gzip header names a time."""
    assert packed.bundle is not None
    return packed._replace(bundle=packed.bundle[:4] + b"\x00\x10\x20\x30" + packed.bundle[8:])


@pytest.mark.parametrize("give_away", [other_windows, dated])
def test_what_gives_canaries_away_is_found(
    give_away: Callable[[PackedTask], PackedTask], canaries: Dispatched, curated: Dispatched
) -> None:
    some = {kind: tasks[:20] for kind, tasks in curated.items()}
    given = {kind: tasks[:20] for kind, tasks in canaries.items()}
    assert accuracy(forms(given, give_away), forms(some)) > 0.90
