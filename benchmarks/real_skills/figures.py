"""Results of a run: tasks with planted faults, each analyser's findings, and the pass criterion."""

import hashlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from real_skills.analysers import REFERENCE, analysers
from real_skills.bases import Skill
from real_skills.network_run import Network
from real_skills.recall import Measured, Row, rows
from taskmaker.planting.planting import Shape
from taskmaker.seeding import Seeded, Seeding, seeded, write_seeded
from validator.tasks.source import TaskError

ROOT: Final = Path(__file__).parents[2]
RULES: Final = tuple(ROOT / "miner" / name for name in ("analysis.py", "scanners"))
RECALL: Final = 0.8
PRECISION: Final = 0.7


class Rules(NamedTuple):
    """Version of the measured rules: a digest of their files, the commit that last changed them, the day of the run."""

    digest: str
    commit: str
    measured: str


class OnPackage(NamedTuple):
    """Findings of the reference miner in one package; `alone` are those in the package without a fault."""

    name: str
    source: str
    skill_type: str
    files: int
    to_decide: int
    tasks: int
    planted: int
    hits: int
    alone: int
    seconds: float


class ByAnalyser(NamedTuple):
    """All that one analyser found of shapes that were there before the rules were frozen, or later ones.

    Attributes:
        row: over everything.
        alone: findings in the packages without a fault.
        follow: findings that a child is judged, in which a fault is; they count neither way.
    """

    analyser: str
    shapes: str
    row: Row
    alone: int
    follow: int

    @property
    def with_alone(self) -> float | None:
        """Precision if every finding in a package without a fault is a false alarm."""
        reported = self.row.named + self.row.false - self.row.before + self.alone
        return self.row.named / reported if reported else None


class Figures(NamedTuple):
    """Everything; `measured` is the reference miner's, by shapes."""

    rules: Rules
    seed: str
    packages: tuple[OnPackage, ...]
    analysers: tuple[ByAnalyser, ...]
    measured: Mapping[str, Measured]
    network: Network | None

    @property
    def enough(self) -> bool:
        """True if the reference miner reaches the required recall on the first shapes, with few enough false alarms."""
        row = next(one.row for one in self.analysers if one.analyser == REFERENCE)
        return (row.recall or 0.0) >= RECALL and (row.precision or 0.0) >= PRECISION


class Sown(NamedTuple):
    """A task with planted faults, the package that it was made of, and which shapes were planted."""

    skill: Skill
    shapes: str
    task: Seeded


def sow(
    skills: Sequence[Skill], seed: str, counts: Mapping[str, int], shapes: Mapping[str, Sequence[Shape]]
) -> list[Sown]:
    """Return tasks of each package with faults of each list of shapes; none where a package has no place for any.

    Where nothing was planted, a second list gives the same bundle as the first, and it is taken once.
    """
    sown = [
        Sown(skill, name, task)
        for skill in skills
        for name in shapes
        for task in _made(skill, f"{seed}|{name}", counts[name], shapes[name])
    ]
    return list({one.task.task.task.bundle_sha256: one for one in reversed(sown)}.values())[::-1]


def write_sown(sown: Sequence[Sown], out: Path) -> None:
    """Write the tasks' folders, below a folder for each list of shapes: their names begin anew with each list.

    Raises:
        TaskError: one exists already, or cannot be written.
    """
    for shapes in dict.fromkeys(one.shapes for one in sown):
        for _ in write_seeded((one.task for one in sown if one.shapes == shapes), out / shapes):
            pass


def measure(
    sown: Sequence[Sown], skills: Sequence[Skill], step: Callable[[], None]
) -> tuple[tuple[OnPackage, ...], tuple[ByAnalyser, ...], Mapping[str, Measured]]:
    """Let every analyser look at every task and at what it was made of; `step` is called after each task."""
    by = analysers()
    alone = {
        name: {s.package.name: len(look(s.base.files, s.base.skill_type)) for s in skills} for name, look in by.items()
    }
    seen = {name: {one.shapes: Measured() for one in sown} for name in by}
    packages = {skill.package.name: Measured() for skill in skills}
    seconds = dict.fromkeys(packages, 0.0)
    for skill, shapes, task in sown:
        base, files, faults = skill.base, task.planted.files, task.planted.truth.findings or ()
        for name, look in by.items():
            began = time.process_time()
            look(files, base.skill_type)
            if name == REFERENCE:
                seconds[skill.package.name] += time.process_time() - began
                packages[skill.package.name].take(files, base.files, base.skill_type, faults, look)
            seen[name][shapes].take(files, base.files, base.skill_type, faults, look)
        step()
    return (
        tuple(_package(s, sown, packages[s.package.name], alone[REFERENCE], seconds) for s in skills),
        tuple(
            ByAnalyser(name, shapes, total(measured), sum(alone[name].values()), len(measured.follow))
            for name in by
            for shapes, measured in seen[name].items()
        ),
        seen[REFERENCE],
    )


def total(measured: Measured) -> Row:
    """Return one line over everything."""
    lines = rows(measured, "category")
    return lines[-1] if lines else Row("all", 0, 0, 0, 0, 0)


def rules() -> Rules:
    """Return which rules are measured now."""
    command = ["git", "log", "-1", "--format=%h", "--", *map(str, RULES)]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, check=False).stdout.decode().strip()
    return Rules(rules_digest(), commit or "unknown", datetime.now(UTC).date().isoformat())


def rules_digest() -> str:
    """Return the first 16 hex digits of a SHA-256 over the names and bytes of the scanners and their files of rules."""
    digest = hashlib.sha256()
    paths = [path for each in RULES for path in (each.rglob("*") if each.is_dir() else [each])]
    for path in sorted(path for path in paths if path.is_file() and path.parent.name != "__pycache__"):
        digest.update(f"{path.relative_to(ROOT)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _made(skill: Skill, seed: str, count: int, shapes: Sequence[Shape]) -> Iterator[Seeded]:
    if not count or not any(skill.base.skill_type in shape.types for shape in shapes):
        return
    try:
        yield from seeded(skill.base, Seeding(seed, count, shapes))
    except TaskError:
        return  # of some draws nothing has a place there


def _package(
    skill: Skill, sown: Sequence[Sown], measured: Measured, alone: Mapping[str, int], seconds: Mapping[str, float]
) -> OnPackage:
    name, tasks, row = skill.package.name, sum(one.skill is skill for one in sown), total(measured)
    return OnPackage(
        name,
        skill.package.package or skill.package.source,
        skill.base.skill_type.value,
        len(skill.base.files),
        skill.to_decide,
        tasks,
        row.planted,
        row.hits,
        alone[name],
        seconds[name] / max(1, tasks),
    )
