"""Tasks with planted faults, from bases of every form."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from task_builders import SKILL, make_task, make_truth, write_task
from toy_shapes import ALONE, appending, shape

from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, Rule
from sssa.protocol.task import KnownFinding, Windows
from sssa.sources import Draws, SeededRandom
from taskmaker.analysers import Analyser, findings_before
from taskmaker.check import check_tasks
from taskmaker.planting.planting import Family
from taskmaker.seeding import (
    Base,
    Seeded,
    Seeding,
    base_of,
    planted_task,
    read_bases,
    seeded,
    seeded_all,
    write_seeded,
)
from validator.tasks.folder import find_tasks, read_task, seeded_digests
from validator.tasks.source import TaskError

FAMILIES: tuple[Family, ...] = get_args(Family)
SHAPES = [shape(f"{family}-shape", appending(family, "SKILL.md"), family=family) for family in FAMILIES]
WINDOWS = Windows(primary=(0, 6), auditor=(0, 4))
BASE = base_of(make_task(SKILL, canary="SKILL.md", windows=WINDOWS), "greet")


def drawn(seed: str) -> Draws:
    return Draws(SeededRandom(seed))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_seeded_task_differs_from_its_base_by_its_faults_alone() -> None:
    task, planted = planted_task(BASE, drawn("a"), SHAPES, "curated", wanted=5, company=ALONE)
    assert (task.task.task_version, task.task.windows, task.task.provenance) == ("1.1", WINDOWS, "curated")
    assert task.task.canary is not None
    assert task.task.canary.file == "SKILL.md"
    assert task.task.truth == planted.truth
    assert len(planted.truth.findings or ()) == 5
    files = read_bundle(task.bundle)
    assert [line for line in files["SKILL.md"].decode().splitlines() if line not in FAMILIES] == SKILL[
        "SKILL.md"
    ].decode().splitlines()


def test_a_twin_without_a_fault_keeps_what_is_known_of_its_base() -> None:
    rule = Rule("network", "deny", "*")
    known = base_of(
        make_task(truth=make_truth(policy_rules=(rule,), shell_commands=("ls",), reference_risk=0.125)), "known"
    )
    task, _ = planted_task(known, drawn("a"), SHAPES, "curated", wanted=0, company=ALONE)
    truth = task.task.truth
    assert truth is not None
    assert (truth.verdict, truth.policy_rules, truth.shell_commands) == ("ALLOW", (rule,), ("ls",))
    assert (truth.reference_risk, truth.transitive_risk, truth.findings) == (0.125, None, ())
    assert task.bundle == make_task().bundle
    faulty, _ = planted_task(known, drawn("a"), SHAPES, "curated", wanted=1)
    assert faulty.task.truth is not None
    assert faulty.task.truth.policy_rules is None


def test_the_same_seed_gives_the_same_tasks_and_no_bundle_twice() -> None:
    made = list(seeded(BASE, Seeding("word", 20, SHAPES, company=ALONE)))
    assert made == list(seeded(BASE, Seeding("word", 20, SHAPES, company=ALONE)))
    assert len({one.task.task.bundle_sha256 for one in made}) == 20
    assert len({one.name for one in made}) == 20
    assert sum(not one.planted.faults for one in made) == 1
    assert list(seeded(BASE, Seeding("other", 2, SHAPES, company=ALONE))) != made[:2]


def test_bases_are_read_one_at_a_time_and_each_is_taken_once() -> None:
    read: list[str] = []

    def bases() -> Iterator[Base]:
        for number in "0010":
            read.append(number)
            yield BASE._replace(name=f"greet{number}", sha256=number * 64)

    tasks = seeded_all(bases(), Seeding("word", 2, SHAPES, company=ALONE))
    assert [(next(tasks).base, len(read)) for _ in range(4)] == [("greet0", 1)] * 2 + [("greet1", 3)] * 2
    assert list(tasks) == []


def test_a_base_with_few_places_gives_few_tasks() -> None:
    made = list(seeded(BASE, Seeding("word", 12, [shape("only", appending("x", "SKILL.md"))], company=ALONE)))
    assert 3 <= len(made) < 12


def test_a_base_without_a_place_is_refused() -> None:
    with pytest.raises(TaskError, match="`greet` has no place"):
        planted_task(BASE, drawn("a"), [shape("nowhere", appending("x", "absent.md"))], "curated", wanted=8)


@pytest.mark.parametrize(
    "truth",
    [
        make_truth(verdict="REVIEW"),
        make_truth(injections=("SKILL.md",)),
        make_truth(poisoned_tools=("x",)),
        make_truth(findings=(KnownFinding("other", "low", "SKILL.md", (), "", "by/hand"),)),
    ],
)
def test_what_is_known_to_be_at_fault_is_no_base(truth: object) -> None:
    with pytest.raises(TaskError, match="`bad` is no benign task"):
        base_of(make_task(truth=truth), "bad")  # type: ignore[arg-type]


def bases(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """Yield everything that bases are read from, and how many each holds."""
    task = make_task(canary="SKILL.md")
    yield write_task(tmp_path / "one", task), 1
    yield write_task(tmp_path / "many" / "a" / "b", task).parent.parent, 1
    archive = tmp_path / "task.tgz"
    archive.write_bytes(pack(everything(tmp_path / "one")))
    yield archive, 1
    bundle = tmp_path / "bundles" / "greet.tar.gz"
    bundle.parent.mkdir()
    bundle.write_bytes(task.bundle)
    yield bundle, 1
    skill = tmp_path / "skill"
    skill.mkdir()
    for name, content in SKILL.items():
        (skill / name).write_bytes(content)
    (skill / "task.json").write_text("{}")  # a file of that name alone makes no task, and is never packed
    yield skill, 1


def test_bases_are_read_from_tasks_bundles_and_skills(tmp_path: Path) -> None:
    for path, count in bases(tmp_path):
        found = list(read_bases(path))
        assert len(found) == count
        assert [(one.files, one.skill_type, one.marked) for one in found] == [
            (SKILL, SkillType.DECLARATIVE, "SKILL.md")
        ] * count, path


def test_tasks_are_written_and_check(tmp_path: Path) -> None:
    made = list(write_seeded(seeded(BASE, Seeding("word", 3, SHAPES, company=ALONE)), tmp_path / "new" / "tasks"))
    assert not any(task.problems for task in check_tasks(tmp_path / "new"))
    assert [read_task(tmp_path / "new" / "tasks" / one.name) for one in made] == [one.task for one in made]
    assert seeded_digests(tmp_path) == {one.task.task.bundle_sha256 for one in made}
    before = everything(tmp_path)
    with pytest.raises(TaskError, match="exists already"):
        list(write_seeded(seeded(BASE, Seeding("word", 3, SHAPES, company=ALONE)), tmp_path / "new" / "tasks"))
    assert everything(tmp_path) == before


def test_planted_and_ordinary_tasks_are_noted_next_to_them_and_in_no_bundle(tmp_path: Path) -> None:
    made = [*write_seeded(seeded(BASE, Seeding("one", 2, SHAPES, ordinary=2)), tmp_path / "in")]
    made += write_seeded(seeded(BASE._replace(sha256="0" * 64), Seeding("one", 1, SHAPES, ordinary=1)), tmp_path / "in")
    assert [one.task.task.truth is None for one in made] == [False, False, True, True, False, True]
    assert seeded_digests(tmp_path) == {one.task.task.bundle_sha256 for one in made}
    first, second = sorted((tmp_path / "in").glob("seeded-*.txt"))
    noted = {*first.read_text().split(), *second.read_text().split()}
    for one in made:
        assert sorted(path.name for path in (tmp_path / "in" / one.name).iterdir()) == ["bundle.tar.gz", "task.json"]
        assert not [name for name in read_bundle(one.task.bundle) if "seeded" in name]
        assert not [
            data for data in read_bundle(one.task.bundle).values() if any(sha.encode() in data for sha in noted)
        ]
    (tmp_path / "in" / "seeded-00000000.txt").symlink_to("nowhere")
    assert seeded_digests(tmp_path) == noted
    deep = tmp_path / "in" / made[0].name / "deep"  # what is in a task's folder is the task's
    deep.mkdir()
    first.rename(deep / first.name)
    second.write_bytes(b"\xff" * 100)
    assert not seeded_digests(tmp_path) & noted


def test_a_base_that_varies_little_gives_each_bundle_once() -> None:
    only = [shape("only", appending("x", "SKILL.md"))]
    made = list(seeded(BASE, Seeding("word", 12, only, ordinary=5, company=ALONE)))
    assert len({one.task.task.bundle_sha256 for one in made}) == len(made) < 12


def test_what_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.txt").write_text("mine")

    def failing(base: Base) -> Iterator[Seeded]:
        yield from seeded(base, Seeding("word", 3, SHAPES, company=ALONE))
        raise TaskError("no more")

    for out in (tmp_path / "deep" / "er", tmp_path / "kept"):
        with pytest.raises(TaskError, match="no more"):
            list(write_seeded(failing(BASE), out))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["kept", "mine.txt"]


def test_no_task_is_in_its_folder_before_all_are_and_a_killed_seeding_is_told(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    out = tmp_path / "out"
    writing = write_seeded(seeded(BASE, Seeding("word", 3, SHAPES, company=ALONE)), out)
    for _ in writing:
        seen.append(sorted(path.name for path in out.iterdir()))
        assert find_tasks(tmp_path) == []  # as a kill here would leave it
        with pytest.raises(TaskError, match=r"`out/\.seeding\.part` exists: another seeding runs, or one was killed"):
            next(write_seeded(seeded(BASE, Seeding("other", 1, SHAPES, company=ALONE)), out))
    assert seen == [[".seeding.part"]] * 3
    assert len(find_tasks(tmp_path)) == 3
    assert not (out / ".seeding.part").exists()


def test_a_seeding_that_fails_at_its_end_leaves_no_note(tmp_path: Path) -> None:
    writing = write_seeded(seeded(BASE, Seeding("word", 1, SHAPES, company=ALONE)), tmp_path)
    next(writing)
    (tmp_path / ".seeding.part" / "stray").touch()
    with pytest.raises(TaskError, match="cannot be written"):
        next(writing)
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_taken_meanwhile_leaves_what_was_there(tmp_path: Path) -> None:
    writing = write_seeded(seeded(BASE, Seeding("word", 3, SHAPES, company=ALONE)), tmp_path)
    names = [next(writing).name for _ in range(3)]
    (tmp_path / names[1]).mkdir()
    with pytest.raises(TaskError, match="exists already: name another folder"):
        next(writing)
    assert [path.name for path in tmp_path.iterdir()] == [names[1]]


def test_an_analyser_looks_at_a_base_and_one_that_fails_is_a_line() -> None:
    base = Base("greet", "0" * 64, {"SKILL.md": b"# x\n"}, SkillType.DECLARATIVE, None, None, None)
    finding = Finding("f1", "prompt_injection", "high", "An order.", "SKILL.md#L1", (), "SKILL.md")

    def reading(*_: object) -> SimpleNamespace:
        return SimpleNamespace(verdict="BLOCK", findings=[finding] * 6)

    def failing(*_: object) -> SimpleNamespace:
        raise OSError("no scanner\nhere")

    assert findings_before(base, None).startswith("no analyser looked at it")
    told = findings_before(base, Analyser("reader", lambda: reading))
    assert told.startswith("before planting reader finds 6: high prompt_injection at SKILL.md#L1; ")
    assert told.endswith("; and 1 more")
    told = findings_before(base, Analyser("bad", lambda: failing))
    assert told.startswith("the analyser `bad` failed: OSError: no scanner")
    assert told.isprintable()
