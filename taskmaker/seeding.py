"""Seeding: tasks with planted faults and their truth, from benign bundles (SPEC 16, D-33).

`validator tasks seed` writes them to folders. `planted_task` and `base_of`, in memory, also make every canary of live
rounds.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import Final, NamedTuple

import msgspec

from sssa.files import made_folders, sync, write_file
from sssa.protocol.answer import CanarySpec
from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.task import Provenance, Task, Truth, Windows
from sssa.protocol.text import printable
from sssa.sources import Draws, SeededRandom
from taskmaker.packing import PackOptions, pack_task, write_task
from taskmaker.planting.marks import plant_mark
from taskmaker.planting.planting import Company, Files, Planted, Shape, plant, readable
from taskmaker.planting.shapes import company_with
from taskmaker.planting.variation import recorded, varied
from validator.tasks.folder import (
    ARCHIVE_ENDINGS,
    BUNDLE_NAME,
    TASK_NAME,
    folders,
    holds_task,
    label,
    read_task,
    sourced_task,
    writing,
)
from validator.tasks.layout import MANIFEST, REQUIREMENTS, marker_file
from validator.tasks.source import SourcedTask, TaskError


class Base(NamedTuple):
    """A benign bundle, as far as anybody knows.

    Attributes:
        name: what it is called, for people.
        sha256: of the bundle as it was found, or packed.
        windows: None for the standard profile.
        marked: the file that takes the marker; None for a bundle without one.
        truth: what is known of it, ALLOW; None where nothing is.
        notes: one line for everything that was left out of it or added when it was packed.
    """

    name: str
    sha256: str
    files: Files
    skill_type: SkillType
    windows: Windows | None
    marked: str | None
    truth: Truth | None
    notes: tuple[str, ...] = ()


def base_of(sourced: SourcedTask, name: str) -> Base:
    """Return a task as a base.

    Raises:
        TaskError: its truth is not ALLOW, or names findings or injections: what else is wrong with it is not known; or
            it holds no text.
    """
    task = sourced.task
    truth = task.truth
    if truth is not None and (truth.verdict != "ALLOW" or truth.injections or truth.poisoned_tools or truth.findings):
        raise TaskError(f"`{printable(name)}` is no benign task: its truth must be ALLOW without a finding, or absent")
    files = read_bundle(sourced.bundle)
    marked = None if task.canary is None else task.canary.file
    return _with_text(Base(name, task.bundle_sha256, files, task.skill_type, task.windows, marked, truth))


def read_bases(source: str | Path, skill_type: SkillType | None = None) -> Iterator[Base]:
    """Yield what `source` is: a task's folder or archive, a bundle, a skill; of a folder of task folders, each. Blocks.

    Args:
        source: see `pack_task` for skills that are no bundle yet.
        skill_type: of what is no task; None to take it from the manifest or guess it from the files.

    Raises:
        TaskError: it is none of that, or no benign task; the text names it.
    """
    what = Path(source)
    if what.is_dir():
        tasks = sorted(Path(folder) for folder, _, names in folders(what) if {TASK_NAME, BUNDLE_NAME} <= set(names))
        for path in tasks:
            yield base_of(read_task(path), label(path))
        if not tasks:
            yield _packed(str(what), _name(what), skill_type)
        return
    if what.is_file() and what.name.endswith(ARCHIVE_ENDINGS) and holds_task(what):
        yield base_of(read_task(what), _name(what))
    else:
        yield _packed(str(what), _name(what), skill_type)


def _packed(what: str, name: str, skill_type: SkillType | None) -> Base:
    packed = pack_task(what, PackOptions(skill_type=skill_type))
    return base_of(packed.task, name)._replace(notes=packed.notes)


def _with_text(base: Base) -> Base:
    if not readable(base.files).keys() - {MANIFEST, REQUIREMENTS}:
        raise TaskError(f"`{printable(base.name)}` holds no text that a fault could be planted in")
    return base


def _name(what: Path) -> str:
    name = label(what)
    for ending in (*ARCHIVE_ENDINGS, ".whl", ".zip"):
        name = name.removesuffix(ending)
    return label(what.resolve().parent) if name == BUNDLE_NAME.removesuffix(".tar.gz") else name


_MOST_TRIES: Final = 4  # for each task that is wanted: a bundle with few places gives the same one twice
_PART: Final = ".seeding.part"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Seeded(NamedTuple):
    """A task that was made: its name, the task, and what was planted in it."""

    name: str
    base: str
    task: SourcedTask
    planted: Planted


def planted_task(  # noqa: PLR0913 - everything that a bundle is made of
    base: Base,
    draws: Draws,
    shapes: Sequence[Shape],
    provenance: Provenance,
    *,
    wanted: int | None = None,
    marking: Draws | None = None,
    company: Company | None = None,
) -> tuple[SourcedTask, Planted]:
    """Return a task of the base with planted faults and, where it is run, an execution mark (SPEC 15).

    It differs from others of the base by these alone.

    Args:
        base: the benign bundle; windows and marker file are its own.
        draws: decides how many faults, which and where.
        shapes: those to plant of.
        provenance: of the task.
        wanted: how many faults; None to draw that as well.
        marking: decides about the mark; None for `draws`.
        company: harmless additions; None for the built-in ones.

    Raises:
        TaskError: what came out is no task that could be dispatched, or faults were drawn and none has a place.
    """
    form = varied(base.files, draws)
    marked = plant_mark(form, base.skill_type, marking or draws)
    files = form if marked is None else marked.files
    planted = plant(files, base.skill_type, draws, shapes, wanted, company or company_with())
    planted = planted._replace(files=recorded(planted.files))
    if planted.wanted and not planted.faults:
        raise TaskError(f"`{base.name}` has no place for any fault of {base.skill_type}")
    truth = planted.truth if planted.faults else _with_known(planted.truth, base.truth)
    if marked is not None:  # what runs do is no longer what was known of the base
        truth = msgspec.structs.replace(truth, policy_rules=None, mark=marked.path_in(planted.files))
    bundle = pack(planted.files)
    marker = base.marked or (None if is_runtime(base.skill_type) else marker_file(planted.files, base.skill_type))
    task = Task(
        task_version="1.1",
        skill_type=base.skill_type,
        windows=base.windows,
        bundle_sha256=sha256_hex(bundle),
        provenance=provenance,
        truth=None if provenance == "none" else truth,
        canary=None if marker is None else CanarySpec(marker),
    )
    try:
        return sourced_task(task, bundle), planted
    except TaskError as error:
        raise TaskError(f"`{base.name}`: {error.detail}") from None


def _with_known(planted: Truth, known: Truth | None) -> Truth:
    """Return the truth of a bundle in which nothing was planted, with what is known of it beyond that."""
    if known is None:
        return planted
    return msgspec.structs.replace(
        planted,
        policy_rules=known.policy_rules,
        shell_commands=known.shell_commands,
        reference_risk=planted.reference_risk if known.reference_risk is None else known.reference_risk,
        transitive_risk=planted.transitive_risk if known.transitive_risk is None else known.transitive_risk,
    )


class Seeding(NamedTuple):
    """Options of seeding.

    Attributes:
        seed: any text. Anyone who knows it and the base can make the tasks again, and knows their truth.
        tasks: of each base, with drawn faults; fewer where it has too few places for so many different ones.
        shapes: those to plant of.
        ordinary: further tasks in which nothing is planted, without a truth: what planted ones hide among. Fewer where
            the base varies little.
        company: harmless additions; None for the built-in ones.
    """

    seed: str
    tasks: int
    shapes: Sequence[Shape]
    ordinary: int = 0
    company: Company | None = None


def seeded(base: Base, how: Seeding) -> Iterator[Seeded]:
    """Yield different tasks of a base: the same for the same seed (TaskError: see `planted_task`)."""
    made: set[str] = set()
    plain = _UNSAFE.sub("-", base.name)[:60].strip("-.") or "skill"
    batches: tuple[tuple[str, int, Provenance, int | None], ...] = (
        ("seed", how.tasks, "curated", None),
        ("ordinary", how.ordinary, "none", 0),
    )
    for batch, number, provenance, wanted in batches:
        end = len(made) + number
        for attempt in range(_MOST_TRIES * number):
            if len(made) == end:
                break
            task, planted = _seeded(base, how, f"{batch}|{attempt}", provenance, wanted)
            if task.task.bundle_sha256 not in made:
                made.add(task.task.bundle_sha256)
                yield Seeded(f"{plain}-{base.sha256[:8]}-{len(made):03}", base.name, task, planted)


def _seeded(
    base: Base, how: Seeding, which: str, provenance: Provenance, wanted: int | None
) -> tuple[SourcedTask, Planted]:
    draws = Draws(SeededRandom(f"{how.seed}|{base.skill_type}|{base.sha256}|{which}"))
    return planted_task(base, draws, how.shapes, provenance, wanted=wanted, company=how.company)


def seeded_all(bases: Iterable[Base], how: Seeding) -> Iterator[Seeded]:
    """Yield the tasks of each base in turn, one at a time in memory; a base that came before gives none.

    See `seeded`. The next base is asked for once the tasks of the one before it are taken.
    """
    had: set[tuple[SkillType, str]] = set()
    for base in bases:
        if (base.skill_type, base.sha256) not in had:
            had.add((base.skill_type, base.sha256))
            yield from seeded(base, how)


def write_seeded(tasks: Iterator[Seeded], out: Path) -> Iterator[Seeded]:
    """Write each task to its own folder, and yield it; all move to `out` together, once all of them are written.

    Until then they are in a hidden folder there, which no source of tasks looks into. What ends it early takes all of
    them away again; what kills it leaves that folder, and the next call says so. A note next to the tasks has the
    digests of their bundles: see `seeded_digests`.

    Raises:
        TaskError: a folder exists already, or cannot be written.
    """
    with writing(out), made_folders(out), ExitStack() as undo:
        folder = out / _PART
        if os.path.lexists(folder):
            advice = f"`{label(out)}/{_PART}` exists: another seeding runs, or one was killed; if none runs, remove it"
            raise TaskError(advice)
        folder.mkdir()
        undo.callback(rmtree, folder, ignore_errors=True)
        digests: dict[str, str] = {}
        for task in tasks:
            _require_free(out, task.name)
            write_task(task.task, folder / task.name)
            digests[task.name] = task.task.task.bundle_sha256
            yield task
        for name in digests:
            _require_free(out, name)
            (folder / name).rename(out / name)
            undo.callback(rmtree, out / name, ignore_errors=True)
        lines = "".join(f"{sha256}\n" for sha256 in digests.values()).encode()
        note = out / f"seeded-{sha256_hex(lines)[:8]}.txt"
        undo.callback(note.unlink, missing_ok=True)
        write_file(note, lines, mode=None, replace=True)
        folder.rmdir()
        sync(out)
        undo.pop_all()


def _require_free(out: Path, name: str) -> None:
    if os.path.lexists(out / name):
        raise TaskError(f"`{label(out)}/{name}` exists already: name another folder (--output)")
