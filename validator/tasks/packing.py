"""Making a task from a folder, an archive, an installed distribution or a fetched package (`validator tasks pack`)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from validator.files import made_folders, new_file, settle
from validator.planting.draws import json_file
from validator.protocol import limits
from validator.protocol.answer import CanarySpec
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, decode
from validator.protocol.task import Provenance, Task, Truth, Windows, version_for
from validator.protocol.text import printable
from validator.tasks.admission import admit, squeeze
from validator.tasks.checks import sourced_task
from validator.tasks.collecting import Collection
from validator.tasks.fetching import Pin
from validator.tasks.folder import BUNDLE_NAME, TASK_NAME, label, read_bounded, writing
from validator.tasks.gathering import gathered
from validator.tasks.guessing import Guess, guess_skill_type
from validator.tasks.layout import MANIFEST, REQUIREMENTS, completed, marker_file, requirements
from validator.tasks.source import SourcedTask, TaskError

_SKILL: Final = "SKILL.md"
_WITH_REQUIREMENTS = frozenset({SkillType.EXECUTABLE_PYTHON, SkillType.MCP_SERVER})


@dataclass(frozen=True, slots=True)
class PackOptions:
    """What may be said beside the thing to be packed.

    Attributes:
        skill_type: None to take it from the manifest or guess it from the files.
        truth: a JSON file with a truth object (SPEC 13); None makes a task without truth (D-7).
        windows: None for the standard profile.
        canary: the file that takes the marker; None to choose one for content types.
        replace: whether a task that is already in the output folder may be replaced.
    """

    skill_type: SkillType | None = None
    truth: Path | None = None
    windows: Windows | None = None
    canary: str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Packed:
    """A task that was made.

    Attributes:
        task: checked like any other.
        files: number of files in its bundle.
        reason: what says that it is of its skill type, in one line.
        pin: what exactly was packed.
        notes: one line for everything that was left out or added.
    """

    task: SourcedTask
    files: int
    reason: str
    pin: Pin
    notes: tuple[str, ...]


def pack_path(
    what: str | Path,
    out: Path,
    options: PackOptions | None = None,
    around: Callable[[Packed], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> Packed:
    """Make a task and write it to the folder `out` as `task.json` and `bundle.tar.gz`. Blocks.

    Args:
        what: see `pack_task`.
        out: the task's folder.
        options: None for all the defaults.
        around: what is entered before the task is written and left after it.

    Raises:
        TaskError: nothing that can be packed, or `out` holds a task already, or cannot be written.
    """
    chosen = options or PackOptions()
    if (out / TASK_NAME).exists() and not chosen.replace:
        raise TaskError(f"`{label(out)}` holds a task already: name another folder, or replace it (--replace)")
    packed = pack_task(what, chosen)
    with around(packed):
        write_task(packed.task, out)
    return packed


def pack_task(what: str | Path, options: PackOptions | None = None) -> Packed:
    """Make a task in memory; the same files give the same bytes. Blocks.

    Args:
        what: a folder, an archive, an installed distribution, or a package that is fetched first; see `gathered`.
        options: None for all the defaults.

    Raises:
        TaskError: nothing that can be packed; the text says why.
    """
    chosen = options or PackOptions()
    truth = None if chosen.truth is None else _read_truth(chosen.truth)
    with gathered(what) as (collection, pin):
        files = admit(collection)
    if not files:
        raise TaskError(f"`{collection.name}` holds nothing that can be packed")
    skill_type, reason = _skill_type(files, chosen, collection)
    _note_skills_below(files, skill_type, collection)
    added = _complete(files, skill_type, collection)
    files, bundle = squeeze(files, added, collection)
    marked = chosen.canary or marker_file(files, skill_type)
    provenance: Provenance = "none" if truth is None else "curated"
    task = Task(
        task_version=version_for(truth),
        skill_type=skill_type,
        windows=chosen.windows,
        bundle_sha256=sha256_hex(bundle),
        provenance=provenance,
        truth=truth,
        canary=None if marked is None else CanarySpec(marked),
    )
    return Packed(sourced_task(task, bundle), len(files), reason, pin, tuple(collection.notes))


def write_task(task: SourcedTask, out: Path) -> None:
    """Write `task.json` and `bundle.tar.gz` to the folder `out`, made where missing.

    `task.json` comes last: whoever looks meanwhile sees no task, never half of one. A task that is there goes only once
    the new one lies beside it.

    Raises:
        TaskError: it cannot be written; what was there is left, and no folder was made.
    """
    document = json_file(msgspec.to_builtins(task.task))
    with writing(out), made_folders(out), _new(out / TASK_NAME) as last, _new(out / BUNDLE_NAME) as first:
        for stream, content in ((first, task.bundle), (last, document)):
            stream.write(content)
            settle(stream)
        (out / TASK_NAME).unlink(missing_ok=True)


def _new(file: Path) -> AbstractContextManager[BinaryIO]:
    return new_file(file, mode=None, replace=True)


def _skill_type(files: Mapping[str, bytes], options: PackOptions, collection: Collection) -> Guess:
    if options.skill_type is not None:
        return Guess(options.skill_type, "it was named")
    guess = guess_skill_type(files)
    if guess is None:
        raise TaskError(f"`{collection.name}` could be anything: name its skill type (--type)")
    return guess


def _note_skills_below(files: Mapping[str, bytes], skill_type: SkillType, collection: Collection) -> None:
    """Say so where what is packed is no declarative skill and holds folders that are."""
    below = sorted(name for name in files if name.endswith(f"/{_SKILL}"))
    if below and _SKILL not in files and skill_type is not SkillType.DECLARATIVE:
        more = f" and {len(below) - 1} more" if below[1:] else ""
        collection.notes.append(f"`{printable(below[0], 200)}`{more}: a folder with {_SKILL} is a skill of its own")


def _complete(files: dict[str, bytes], skill_type: SkillType, collection: Collection) -> list[str]:
    """Add the files that the layout asks for and that can be made; return their names."""
    wanted = requirements(files) if skill_type in _WITH_REQUIREMENTS else None
    if wanted is not None and REQUIREMENTS not in files:
        files[REQUIREMENTS] = wanted
        collection.notes.append(f"added {REQUIREMENTS} from the distribution's metadata")
    if MANIFEST not in files:
        files[MANIFEST] = json_file(completed(files, skill_type, collection.name))
        collection.notes.append(f"added {MANIFEST}")
    return [name for name in (MANIFEST, REQUIREMENTS) if name in files]


def _read_truth(path: Path) -> Truth:
    try:
        return decode(read_bounded(path, limits.MAX_TASK_BODY), Truth, limit=limits.MAX_TASK_BODY)
    except JsonError as error:
        raise TaskError(f"`{label(path)}`: {error.detail}") from None
