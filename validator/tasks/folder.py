"""Tasks on disk: a folder with task.json and bundle.tar.gz, or an archive of the two; drafts; faults (SPEC 5, 13)."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from sssa.files import why
from sssa.protocol import limits
from sssa.protocol.archives import ArchiveError, unpack
from sssa.protocol.bundles import count_lines, evidence_resolves, read_bundle, with_canary
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.sssa import EvidenceRef, parse_evidence_ref
from sssa.protocol.strict_json import JsonError, SchemaError, decode_plain
from sssa.protocol.task import Task, check_task, parse_task
from sssa.protocol.text import printable
from validator.tasks.source import SourcedTask, TaskError

_ANY_NONCE = "0" * 64


def sourced_task(task: Task, bundle: bytes) -> SourcedTask:
    """Return the task with its bundle if nothing speaks against them, hashes in lower case.

    Raises:
        TaskError: the first fault, with the field it is at.
    """
    for fault in faults(task, bundle):
        raise TaskError(fault)
    return SourcedTask(lower_hashes(task), bundle)


def faults(task: Task, bundle: bytes) -> Iterator[str]:
    """Yield what is wrong with the task or its bundle, each with its field; nothing when they can be used."""
    try:
        check_task(task)
    except SchemaError as error:
        yield error.detail
        return
    if (digest := sha256_hex(bundle)) != task.bundle_sha256.lower():
        yield f"the bundle hashes to {digest} - at `bundle_sha256`"
    try:
        files = read_bundle(bundle)
    except ArchiveError as error:
        yield f"{error.detail} - at `bundle`"
        return
    if not files:
        yield "the bundle holds no file - at `bundle`"
    yield from _unresolved(task, files)
    if task.canary is not None:
        yield from _canary_faults(task.canary.file, files)


def _unresolved(task: Task, files: Mapping[str, bytes]) -> Iterator[str]:
    if task.truth is None:
        return
    places = [(f"injections[{i}]", ref) for i, ref in enumerate(task.truth.injections or ())]
    places += [(f"findings[{i}].evidence_ref", one.evidence_ref) for i, one in enumerate(task.truth.findings or ())]
    lines = {path: count_lines(content) for path, content in files.items()} if places else {}
    for where, text in places:
        if not evidence_resolves(parse_evidence_ref(text), lines):
            yield f"`{printable(text)}` does not resolve in the bundle - at `truth.{where}`"


def _canary_faults(path: str, files: Mapping[str, bytes]) -> Iterator[str]:
    if path not in files or parse_evidence_ref(path) != EvidenceRef(path):
        yield f"`{printable(path)}` is no file of the bundle that evidence can name - at `canary.file`"
        return
    try:
        read_bundle(with_canary(files, path, _ANY_NONCE))
    except ArchiveError as error:
        # What is dispatched is the bundle packed again: it must keep the limits as well.
        yield f"with its marker the bundle is refused: {error.detail} - at `bundle`"


def lower_hashes(task: Task) -> Task:
    """Return the task with its hashes in lower case."""
    truth = task.truth
    if truth is not None and truth.manifest_sha256 is not None:
        truth = msgspec.structs.replace(truth, manifest_sha256=truth.manifest_sha256.lower())
    return msgspec.structs.replace(task, bundle_sha256=task.bundle_sha256.lower(), truth=truth)


TASK_NAME: Final = "task.json"
BUNDLE_NAME: Final = "bundle.tar.gz"
WORKFLOW_NAME: Final = "workflow.json"
DRAFT_NAME: Final = "task.draft.json"
ARCHIVE_ENDINGS: Final = (".tar.gz", ".tgz")
_ARCHIVE_BYTES = limits.MAX_TASK_BODY + limits.MAX_BUNDLE_COMPRESSED + limits.MIB
_ARCHIVE_ENTRIES = 16


def read_task(path: Path) -> SourcedTask:
    """Return the task in the folder or archive `path`, checked whole. Blocks: call it in a thread.

    Raises:
        TaskError: names the last component of the path, the fault and the field it is at.
    """
    try:
        task, bundle = read_parts(path)
        return sourced_task(parse_task(task), bundle)
    except JsonError as error:
        raise TaskError(f"`{label(path)}`: {TASK_NAME}: {error.detail}") from None
    except TaskError as error:
        raise TaskError(f"`{label(path)}`: {error.detail}") from None


def label(path: Path) -> str:
    """Return the path's last component, safe to show."""
    return printable(path.name or path.resolve().name)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let what keeps the body from writing `path` be one line (TaskError: it cannot be written)."""
    try:
        yield
    except OSError as error:
        raise TaskError(f"`{label(path)}` cannot be written: {why(error)}") from None


def read_parts(path: Path) -> tuple[bytes, bytes]:
    """Return the bytes of `task.json` and of the bundle, each within its limit, neither looked into.

    Raises:
        TaskError: one of them is missing, too large or no regular file.
    """
    if path.is_dir():
        task = read_bounded(path / TASK_NAME, limits.MAX_TASK_BODY)
        return task, read_bounded(path / BUNDLE_NAME, limits.MAX_BUNDLE_COMPRESSED)
    return _archived(read_bounded(path, _ARCHIVE_BYTES))


def read_document(path: Path) -> bytes:
    """Return the bytes of `task.json`, within their limit, not looked into; of a folder its bundle is not read.

    Raises:
        TaskError: it is missing, too large or no regular file.
    """
    return read_bounded(path / TASK_NAME, limits.MAX_TASK_BODY) if path.is_dir() else read_parts(path)[0]


def read_bounded(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """Return the content of the regular file `path`, at most `limit` bytes; a link is followed only if `follow`.

    Raises:
        TaskError: missing, unreadable, larger, or a pipe or device (which could block for ever).
    """
    name = printable(path.name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise TaskError(f"`{name}` is no regular file")
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise TaskError(f"`{name}` cannot be read: {getattr(error, 'strerror', None) or 'bad name'}") from None
    if len(data) > limit:
        raise TaskError(f"`{name}` is larger than {limit} bytes")
    return data


def holds_task(path: Path) -> bool:
    """Return whether `path` is an archive of a task: it has a `task.json` and a bundle, whatever they hold."""
    try:
        read_parts(path)
    except TaskError:
        return False
    return True


def _archived(data: bytes) -> tuple[bytes, bytes]:
    """Return the two parts of an archive; they may be in one folder inside it."""
    parts: dict[str, bytes] = {}
    try:
        for name, content in unpack(
            data, expanded=_ARCHIVE_BYTES, file_size=limits.MAX_BUNDLE_COMPRESSED, entries=_ARCHIVE_ENTRIES
        ):
            folder, _, last = name.rpartition("/")
            if last in (TASK_NAME, BUNDLE_NAME) and "/" not in folder:
                if last in parts:
                    raise TaskError(f"the archive holds more than one {last}")
                parts[last] = content
    except ArchiveError as error:
        raise TaskError(f"archive: {error.detail}") from None
    for name in (TASK_NAME, BUNDLE_NAME):
        if name not in parts:
            raise TaskError(f"the archive holds no {name}")
    return parts[TASK_NAME], parts[BUNDLE_NAME]


def find_tasks(root: Path) -> list[Path]:
    """Return every task folder and archive at or below `root`, sorted by path. Blocks: call it in a thread.

    A folder with a `task.json` is one task and is not looked into further; the bundle next to a draft is none. Hidden
    names are left out, and links to folders are not followed (they could lead in circles).

    Raises:
        TaskError: `root` cannot be listed.
    """
    if root.is_file():
        return [] if root.name in {WORKFLOW_NAME, DRAFT_NAME} else [root]
    paths: list[Path] = []
    try:
        with os.scandir(root):
            pass  # below, a folder that cannot be listed is empty
        for folder, names, files in folders(root):
            if TASK_NAME in files:
                paths.append(Path(folder))
                names.clear()
                continue
            no_task = {BUNDLE_NAME} if DRAFT_NAME in files else set()
            paths += [Path(folder, name) for name in files if _is_archive(name) and name not in no_task]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "bad name"
        raise TaskError(f"`{label(root)}` cannot be listed: {reason}") from None
    return sorted(paths, key=lambda path: path.relative_to(root).as_posix())


def _is_archive(name: str) -> bool:
    return name.endswith(ARCHIVE_ENDINGS) and not name.startswith(".")


def folders(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every folder at or below `root`, its folders and its other names, as `os.walk` does, however deep they are.

    Hidden folders, links to folders and what cannot be listed are left out; names that are taken out of the list of
    folders are not looked into.
    """
    waiting = [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        names: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not _is_folder(entry, links=True):
                        files.append(entry.name)
                    elif _is_folder(entry, links=False) and not entry.name.startswith("."):
                        names.append(entry.name)
        except OSError:
            continue
        yield folder, names, files
        waiting += [os.path.join(folder, name) for name in names]  # noqa: PTH118 - tens of thousands of them


def _is_folder(entry: os.DirEntry[str], *, links: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:  # a link in a circle
        return False


PAGE_NAME: Final = "task.draft.txt"
TODO: Final = "TODO"
_DECISIONS: Final = {
    "verdict": "ALLOW, REVIEW or BLOCK",
    "reference_risk": "how great the risk is, from 0 to 1",
    "transitive_risk": "how great the risk is that the children bring, from 0 to 1",
}
_CANDIDATES: Final = "remove what is not true, add what is missing, then remove this entry"


def open_list(candidates: list[Any]) -> list[Any]:
    """Return a list of candidates that is still to be decided."""
    return [{TODO: _CANDIDATES}, *candidates]


def undecided(data: bytes) -> list[str]:
    """Return what is still to be decided in a task, each with its field (JsonError: no JSON document)."""
    document = decode_plain(data, limit=limits.MAX_TASK_BODY)
    truth = document.get("truth") if isinstance(document, dict) else None
    if not isinstance(truth, dict):
        return []
    fields = [name for name, value in truth.items() if _is_open(value)]
    return [f"{TODO}: {_DECISIONS.get(name, _CANDIDATES)} - at `truth.{name}`" for name in fields]


def find_drafts(root: Path) -> Iterator[Path]:
    """Yield every `task.draft.json` at or below `root`. Blocks: call it in a thread."""
    if root.is_file():
        yield from [root] if root.name == DRAFT_NAME else []
        return
    for folder, _, files in folders(root):
        if DRAFT_NAME in files:
            yield Path(folder, DRAFT_NAME)


def _is_open(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(entry, dict) and TODO in entry for entry in value)
    return isinstance(value, str) and value == TODO


_NOTE: Final = re.compile(r"seeded-[0-9a-f]{8}\.txt")
_NOTE_BYTES: Final = 8 * limits.MIB  # some 129,000 tasks


def seeded_digests(root: Path) -> frozenset[str]:
    """Return the digests of bundles that seedings noted at or below `root`, next to their tasks. Blocks.

    A note that cannot be read counts as absent: its tasks then look packed.
    """
    digests: set[str] = set()
    for folder, inner, names in folders(root):
        if TASK_NAME in names:  # a task's folder is not looked into further
            inner.clear()
            continue
        for name in filter(_NOTE.fullmatch, names):
            with suppress(TaskError):
                digests.update(read_bounded(Path(folder, name), _NOTE_BYTES).decode("ascii", "replace").split())
    return frozenset(digests)


_AT: Final = " - at `"


class Located(NamedTuple):
    """A problem or a note in two parts: the path of its field (`truth.policy_rules[3].pattern`), None for the whole."""

    field: str | None
    text: str


def located(text: str) -> Located:
    """Return a problem or a note with its field apart."""
    message, _, field = text.rpartition(_AT)
    return Located(field.removesuffix("`").removeprefix("$.") or None, message) if message else Located(None, text)
