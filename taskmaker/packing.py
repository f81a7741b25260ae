"""Packing of a folder, archive, distribution or package into a task: for `tasks pack`, seeding, `attestation gate`."""

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from sssa.files import made_folders, new_file, settle
from sssa.protocol import limits
from sssa.protocol.answer import CanarySpec
from sssa.protocol.archives import ArchiveError, check_names, pack, plain_name
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.task import Provenance, Task, Truth, Windows, version_for
from sssa.protocol.text import nfc, printable
from validator.tasks.collection import Candidate, Collection, collected
from validator.tasks.folder import BUNDLE_NAME, TASK_NAME, label, read_bounded, sourced_task, writing
from validator.tasks.layout import MANIFEST, REQUIREMENTS, Guess, completed, guess_skill_type, marker_file, requirements
from validator.tasks.package_manifest import Artifact
from validator.tasks.source import SourcedTask, TaskError

_SKILL: Final = "SKILL.md"
_WITH_REQUIREMENTS = frozenset({SkillType.EXECUTABLE_PYTHON, SkillType.MCP_SERVER})


class Pin(NamedTuple):
    """Exact source of a pack: the version of an installed distribution, or the archive; both None for a folder."""

    version: str | None = None
    artifact: Artifact | None = None


@dataclass(frozen=True, slots=True)
class PackOptions:
    """Options of packing.

    Attributes:
        skill_type: None to take it from the manifest or guess it from the files.
        truth: a JSON file with a truth object (SPEC 13); None makes a task without truth (D-7).
        windows: None for the standard profile.
        canary: the file that takes the marker; None to choose one for content types.
        replace: whether `pack_path` may replace a task that is in the output folder.
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
        files: number of files in its bundle.
        reason: what says that it is of its skill type, in one line.
        pin: what exactly was packed.
        left_out: names of what was found and is not in its bundle.
        notes: lines for people, one for everything that was left out or added.
    """

    task: SourcedTask
    files: int
    reason: str
    pin: Pin
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def pack_task(what: str | Path, options: PackOptions | None = None) -> Packed:
    """Make a task in memory; the same files give the same bytes. Blocks.

    Args:
        what: a folder, an archive or an installed distribution; see `collected`.
        options: None for all the defaults.

    Raises:
        TaskError: nothing that can be packed; the text says why.
    """
    chosen = options or PackOptions()
    truth = None if chosen.truth is None else _read_truth(chosen.truth)
    collection = collected(what)
    files = _admitted(collection)
    if not files:
        raise TaskError(f"`{collection.name}` holds nothing that can be packed")
    skill_type, reason = _skill_type(files, chosen, collection)
    _note_skills_below(files, skill_type, collection)
    added = _complete(files, skill_type, collection)
    try:
        check_names(files)
    except ArchiveError as error:
        raise TaskError(f"`{collection.name}`: {error.detail}") from None
    files, bundle = _squeezed(files, added, collection)
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
    left_out, notes = tuple(collection.left_out), tuple(collection.notes)
    return Packed(sourced_task(task, bundle), len(files), reason, _pin(what), left_out, notes)


def _pin(what: str | Path) -> Pin:
    path = Path(what)
    if path.is_dir():
        return Pin()
    if not path.exists():
        return Pin(importlib.metadata.version(str(what)))
    try:
        with path.open("rb") as stream:
            return Pin(artifact=Artifact(printable(path.name), hashlib.file_digest(stream, "sha256").hexdigest()))
    except OSError as error:
        raise TaskError(f"`{label(path)}` cannot be read: {error.strerror}") from None


def write_task(task: SourcedTask, out: Path) -> None:
    """Write `task.json` and `bundle.tar.gz` to the folder `out`, made where missing.

    `task.json` comes last: anyone who looks meanwhile sees no task, never half of one. A task that exists goes only
    once the new one is next to it.

    Raises:
        TaskError: it cannot be written; what was there is left, and no folder was made.
    """
    document = json_file(msgspec.to_builtins(task.task))
    with writing(out), made_folders(out), _new(out / TASK_NAME) as last, _new(out / BUNDLE_NAME) as first:
        for stream, content in ((first, task.bundle), (last, document)):
            stream.write(content)
            settle(stream)
        (out / TASK_NAME).unlink(missing_ok=True)


def json_file(document: Any) -> bytes:
    """Return `document` as a JSON file that people can read."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


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
        collection.notes.append(f"`{printable(below[0], 200)}`{more}: a folder with {_SKILL} is a separate skill")


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


def _admitted(collection: Collection) -> dict[str, bytes]:
    """Return the files that can be in a bundle, by their names there; the collection notes the others.

    Raises:
        TaskError: a file cannot be read.
    """
    named = _named(collection)
    files: dict[str, bytes] = {}
    remaining = limits.MAX_BUNDLE_EXPANDED
    for name in sorted(named, key=lambda name: (named[name].size, name)):
        size = named[name].size
        if size > limits.MAX_BUNDLE_FILE:
            collection.leave_out(name, f"{size} bytes, at most {limits.MAX_BUNDLE_FILE} in a file")
        elif size > remaining:
            collection.leave_out(name, f"{size} bytes, over the {limits.MAX_BUNDLE_EXPANDED} of a bundle")
        elif len(files) >= limits.MAX_BUNDLE_ENTRIES:
            collection.leave_out(name, f"more than {limits.MAX_BUNDLE_ENTRIES} files")
        else:
            files[name] = content = named[name].read()
            remaining -= len(content)
    return files


def _squeezed(
    files: Mapping[str, bytes], keep: Iterable[str], collection: Collection
) -> tuple[dict[str, bytes], bytes]:
    """Return as many of the files as fit a bundle, smallest first, and the bundle."""
    first = frozenset(keep)
    order = sorted(files, key=lambda name: (name not in first, len(files[name]), name))
    bundle = _packed(files, order)
    low, high = 0, len(order)  # the first `low` fit, the first `high` do not
    if bundle is not None:
        low = high
    best = pack({})
    while high - low > 1:
        middle = (low + high) // 2
        attempt = _packed(files, order[:middle])
        low, high, best = (low, middle, best) if attempt is None else (middle, high, attempt)
    for name in order[low:]:
        collection.leave_out(name, f"{len(files[name])} bytes, too much for the bundle once compressed")
    return {name: files[name] for name in sorted(order[:low])}, best if bundle is None else bundle


def clean_name(name: str) -> str | None:
    """Return the name as it can be in a bundle (relative, NFC), None if it cannot."""
    try:
        return plain_name(nfc(name))
    except ArchiveError:
        return None


def _packed(files: Mapping[str, bytes], names: Iterable[str]) -> bytes | None:
    """Return the bundle of these files, None if it would be refused."""
    bundle = pack({name: files[name] for name in names})
    try:
        read_bundle(bundle)
    except ArchiveError:
        return None
    return bundle


def _named(collection: Collection) -> dict[str, Candidate]:
    named: dict[str, Candidate] = {}
    for candidate in sorted(collection.files, key=lambda candidate: candidate.name):
        name = clean_name(candidate.name)
        if name is None:
            collection.leave_out(candidate.name, "not a plain relative name")
        elif name in named:
            collection.leave_out(candidate.name, "there twice")
        else:
            named[name] = candidate
            if name != candidate.name:
                collection.notes.append(f"one name was normalised: `{printable(name)}`")
    return named
