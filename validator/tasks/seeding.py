"""Tasks with planted faults, and with the truth about them, from benign bundles (SPEC 16, D-33)."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import rmtree
from typing import Final, NamedTuple

import msgspec

from validator.files import sync
from validator.planting.draws import Draws
from validator.planting.marks import plant_mark
from validator.planting.planting import Planted, plant
from validator.planting.shape import Shape
from validator.protocol.answer import CanarySpec
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType, is_runtime
from validator.protocol.task import Provenance, Task, Truth
from validator.sources import SeededRandom
from validator.tasks.bases import Base
from validator.tasks.checks import sourced_task
from validator.tasks.folder import label, writing
from validator.tasks.layout import marker_file
from validator.tasks.packing import write_task
from validator.tasks.source import SourcedTask, TaskError

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

    Raises:
        TaskError: what came out is no task that could be dispatched, or faults were drawn and none has a place.
    """
    marked = plant_mark(base.files, base.skill_type, marking or draws)
    planted = plant(base.files if marked is None else marked.files, base.skill_type, draws, shapes, wanted)
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
        truth=truth,
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


def seeded(base: Base, seed: str, count: int, shapes: Sequence[Shape]) -> Iterator[Seeded]:
    """Yield up to `count` different tasks of a base, at most one of them without a fault: the same for the same seed.

    There are fewer where the base has too few places for so many different ones.

    Args:
        base: the benign bundle.
        seed: any text. Whoever knows it and the base can make the tasks again, and knows their truth.
        count: how many tasks are wanted.
        shapes: those to plant of.

    Raises:
        TaskError: see `planted_task`.
    """
    made: set[str] = set()
    plain = _UNSAFE.sub("-", base.name)[:60].strip("-.") or "skill"
    for attempt in range(_MOST_TRIES * count):
        draws = Draws(SeededRandom(f"seed|{seed}|{base.skill_type}|{base.sha256}|{attempt}"))
        task, planted = planted_task(base, draws, shapes, "curated")
        same = task.task.bundle_sha256 if planted.faults else ""
        if same in made:
            continue
        made.add(same)
        yield Seeded(f"{plain}-{base.sha256[:8]}-{len(made):03}", base.name, task, planted)
        if len(made) == count:
            return


def seeded_all(bases: Iterable[Base], seed: str, count: int, shapes: Sequence[Shape]) -> Iterator[Seeded]:
    """Yield the tasks of each base in turn, one at a time in memory; a base that came before gives none.

    See `seeded`. The next base is asked for once the tasks of the one before it are taken.
    """
    had: set[tuple[SkillType, str]] = set()
    for base in bases:
        if (base.skill_type, base.sha256) not in had:
            had.add((base.skill_type, base.sha256))
            yield from seeded(base, seed, count, shapes)


def write_seeded(tasks: Iterator[Seeded], out: Path) -> Iterator[Seeded]:
    """Write each task to a folder of its own, and yield it; they come to `out` together, once all of them are written.

    Until then they lie in a hidden folder there, which no source of tasks looks into. What ends it early takes all of
    them away again; what kills it leaves that folder, and the next call says so.

    Raises:
        TaskError: a folder is there already, or cannot be written.
    """
    with ExitStack() as undo:
        _made(out, undo)
        beside = _beside(out, undo)
        names: list[str] = []
        for task in tasks:
            _require_free(out, task.name)
            write_task(task.task, beside / task.name)
            names.append(task.name)
            yield task
        for name in names:
            _require_free(out, name)
            with writing(out):
                (beside / name).rename(out / name)
            undo.callback(rmtree, out / name, ignore_errors=True)
        with writing(out):
            beside.rmdir()
            sync(out)
        undo.pop_all()


def _beside(out: Path, undo: ExitStack) -> Path:
    folder = out / _PART
    if os.path.lexists(folder):
        told = f"`{label(out)}/{_PART}` is there: another seeding runs, or one was killed; if none runs, remove it"
        raise TaskError(told)
    with writing(out):
        folder.mkdir()
    undo.callback(rmtree, folder, ignore_errors=True)
    return folder


def _require_free(out: Path, name: str) -> None:
    if os.path.lexists(out / name):
        raise TaskError(f"`{label(out)}/{name}` is there already: name another folder (--output)")


def _made(folder: Path, undo: ExitStack) -> None:
    """Make a folder and note that it goes, once it is empty, where the whole fails."""
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        try:
            missing.mkdir()
        except OSError as error:
            raise TaskError(f"`{label(missing)}` cannot be made: {error.strerror}") from None
        undo.callback(_rmdir, missing)


def _rmdir(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
