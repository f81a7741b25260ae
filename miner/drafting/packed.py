"""The input of a draft: a task's folder or a bundle, read within its bounds, links not followed."""

from pathlib import Path
from typing import Final, NamedTuple

from validator.protocol import limits
from validator.protocol.answer import CanarySpec
from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import read_bundle
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError
from validator.protocol.task import Task, Windows, parse_task
from validator.tasks.folder import ARCHIVE_ENDINGS, BUNDLE_NAME, DRAFT_NAME, TASK_NAME, faults, label, read_bounded
from validator.tasks.layout import guess_skill_type, marker_file
from validator.tasks.source import TaskError

_TASKS: Final = Path("tasks")


class Packed(NamedTuple):
    """A packed bundle, and what was decided of it before.

    Attributes:
        folder: where the draft goes.
        bundle: its compressed bytes.
        files: of the bundle.
        skill_type: of the task, as it was named, or guessed.
        windows, canary: of the task; the standard profile and a chosen file where there is none.
        is_new: whether the bundle is still to be written to the folder.
    """

    folder: Path
    bundle: bytes
    files: dict[str, bytes]
    skill_type: SkillType
    windows: Windows | None
    canary: CanarySpec | None
    is_new: bool


def read_packed(what: Path, output: Path | None, skill_type: SkillType | None, *, replace: bool) -> Packed:
    """Return the bundle of a task's folder, or of a file.

    Args:
        what: a folder with `bundle.tar.gz`, or a bundle.
        output: the folder of a bundle that lies in no task's folder; None for tasks/NAME.
        skill_type: None for that of the task, else guessed.
        replace: whether a draft or a truth that is there already may be passed over.

    Raises:
        TaskError: nothing to draft from, or somebody decided something before.
    """
    lies_there = what.is_dir() or what.name == BUNDLE_NAME
    folder = (what if what.is_dir() else what.parent) if lies_there else _folder(what, output)
    if lies_there and output is not None:
        raise TaskError(f"`{label(what)}` has a folder of its own: its draft goes there - at `--output`")
    if (folder / DRAFT_NAME).exists() and not replace:
        raise TaskError(f"`{label(folder)}` holds a draft already, in which somebody may have decided: --replace it")
    file = folder / BUNDLE_NAME if lies_there else what
    if what.is_dir() and not (file.exists() or file.is_symlink()):
        raise TaskError(f"`{label(what)}` holds no {BUNDLE_NAME}: make its task first (`validator tasks pack`)")
    bundle = _unlinked(file, limits.MAX_BUNDLE_COMPRESSED)
    try:
        files = read_bundle(bundle)
    except ArchiveError as error:
        raise TaskError(f"`{label(file)}` is no bundle as `validator tasks pack` makes it: {error.detail}") from None
    if not files:
        raise TaskError(f"`{label(file)}` holds no file")
    task = _task(folder, bundle) if lies_there else None
    if task is not None:
        if skill_type not in (None, task.skill_type):
            raise TaskError(f"{TASK_NAME} says {task.skill_type} - at `--type`")
        if task.truth is not None and not replace:
            raise TaskError(f"{TASK_NAME} has a truth, which somebody decided: --replace makes a draft beside it")
        return Packed(folder, bundle, files, task.skill_type, task.windows, task.canary, is_new=False)
    kind = skill_type or _guessed(files)
    marked = marker_file(files, kind)
    canary = CanarySpec(marked) if marked is not None else None
    return Packed(folder, bundle, files, kind, None, canary, is_new=not lies_there)


def _folder(bundle: Path, output: Path | None) -> Path:
    """Return the folder for a bundle from elsewhere, in which there is no other."""
    name = bundle.name
    for ending in ARCHIVE_ENDINGS:
        name = name.removesuffix(ending)
    folder = output or _TASKS / name
    for taken in (TASK_NAME, BUNDLE_NAME):
        if (folder / taken).exists():
            raise TaskError(f"`{label(folder)}` holds a {taken} already: name another folder - at `--output`")
    return folder


def _task(folder: Path, bundle: bytes) -> Task | None:
    """Return the task of the folder, None without one."""
    path = folder / TASK_NAME
    if not path.exists() and not path.is_symlink():
        return None
    try:
        task = parse_task(_unlinked(path, limits.MAX_TASK_BODY))
    except JsonError as error:
        raise TaskError(f"{TASK_NAME}: {error.detail}") from None
    fault = next(faults(task, bundle), None)
    if fault is not None:
        raise TaskError(fault)
    return task


def _guessed(files: dict[str, bytes]) -> SkillType:
    guess = guess_skill_type(files)
    if guess is None:
        raise TaskError("the bundle could be anything: name its skill type - at `--type`")
    return guess.skill_type


def _unlinked(path: Path, limit: int) -> bytes:
    if path.is_symlink():
        raise TaskError(f"`{label(path)}` is a link: put the file itself there")
    return read_bounded(path, limit, follow=False)
