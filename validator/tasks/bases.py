"""Benign bundles that faults are planted in: tasks, bundles and skills as they lie on disk (SPEC 16, D-33)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from validator.planting.planting import readable
from validator.planting.shape import Files
from validator.protocol import limits
from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import read_bundle
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Truth, Windows
from validator.protocol.text import printable
from validator.tasks.folder import ARCHIVE_ENDINGS, BUNDLE_NAME, TASK_NAME, folders, label, read_bounded, read_task
from validator.tasks.layout import MANIFEST, REQUIREMENTS, guess_skill_type, marker_file
from validator.tasks.packing import PackOptions, pack_task
from validator.tasks.references import parse_reference
from validator.tasks.source import SourcedTask, TaskError

_LARGEST_ARCHIVE: Final = limits.MAX_TASK_BODY + limits.MAX_BUNDLE_COMPRESSED + limits.MIB


class Base(NamedTuple):
    """A benign bundle, as far as anybody knows.

    Attributes:
        name: what it is called, for people.
        sha256: of the bundle as it was found, or packed.
        files: of the bundle.
        skill_type: of the bundle.
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
    reference = parse_reference(source) if isinstance(source, str) else None
    if reference is not None:
        yield _packed(str(source), reference.folder_name, skill_type)
        return
    what = Path(source)
    if what.is_dir():
        tasks = sorted(Path(folder) for folder, _, names in folders(what) if {TASK_NAME, BUNDLE_NAME} <= set(names))
        for path in tasks:
            yield base_of(read_task(path), label(path))
        if not tasks:
            yield _packed(str(what), _name(what), skill_type)
        return
    if not (what.is_file() and what.name.endswith(ARCHIVE_ENDINGS)):
        yield _packed(str(what), _name(what), skill_type)
        return
    data = read_bounded(what, _LARGEST_ARCHIVE)
    if len(data) > limits.MAX_BUNDLE_COMPRESSED:
        yield base_of(read_task(what), _name(what))
        return
    try:
        files = read_bundle(data)
    except ArchiveError as error:
        raise TaskError(f"`{label(what)}`: {error.detail}") from None
    if any(os.path.basename(name) == BUNDLE_NAME for name in files):  # noqa: PTH119 - a name in an archive
        yield base_of(read_task(what), _name(what))
        return
    yield _unpacked(_name(what), data, files, skill_type)


def _packed(what: str, name: str, skill_type: SkillType | None) -> Base:
    packed = pack_task(what, PackOptions(skill_type=skill_type))
    return base_of(packed.task, name)._replace(notes=packed.notes)


def _unpacked(name: str, data: bytes, files: Files, skill_type: SkillType | None) -> Base:
    guess = guess_skill_type(files) if skill_type is None else None
    found = guess.skill_type if guess is not None else skill_type
    if not files:
        raise TaskError(f"`{name}` holds no file")
    if found is None:
        raise TaskError(f"`{name}` could be anything: name its skill type")
    return _with_text(Base(name, sha256_hex(data), files, found, None, marker_file(files, found), None))


def _with_text(base: Base) -> Base:
    if not readable(base.files).keys() - {MANIFEST, REQUIREMENTS}:
        raise TaskError(f"`{printable(base.name)}` holds no text that a fault could be planted in")
    return base


def _name(what: Path) -> str:
    name = label(what)
    for ending in (*ARCHIVE_ENDINGS, ".whl", ".zip"):
        name = name.removesuffix(ending)
    return label(what.resolve().parent) if name == BUNDLE_NAME.removesuffix(".tar.gz") else name
