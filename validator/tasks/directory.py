"""Task source over a folder of the operator's: reads it again each round, refuses what is malformed (SPEC 13)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.strict_json import JsonError
from sssa.protocol.task import Task, parse_task
from sssa.protocol.text import printable
from validator.tasks.folder import (
    BUNDLE_NAME,
    TASK_NAME,
    find_tasks,
    lower_hashes,
    read_document,
    read_parts,
    read_task,
)
from validator.tasks.source import FETCH_S, Order, SourcedTask, TaskError, TaskSourceError

T = TypeVar("T")
Stamp = tuple[tuple[int, ...] | None, ...]
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Entry:
    """Cached facts of one task folder or archive (the bundle stays on disk).

    Attributes:
        stamp: state of its files; another stamp means that it must be read again.
        skill_type: None when it was refused.
        sha256: of the bundle, lower-case hex.
        refusal: why it cannot be used; None for a good task.
    """

    path: Path
    stamp: Stamp
    skill_type: SkillType | None = None
    sha256: str = ""
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class _Index:
    """One scan: every entry by path, in order; the usable ones by type and hash."""

    entries: dict[Path, _Entry] = field(default_factory=dict)
    usable: dict[SkillType, dict[str, _Entry]] = field(default_factory=lambda: {kind: {} for kind in ASSESSED_TYPES})


class DirectorySource:
    """Every task folder and archive below one directory.

    The directory is looked at again on every fetch, and what changed is read again, in a thread. A broken task is left
    out and logged (`task_refused`) once for each state it is found in. Of two tasks of a type with the same bundle the
    first counts.

    Args:
        path: the directory; it may be a single task folder or archive.
    """

    def __init__(self, path: Path) -> None:
        self._root = path
        self._index = _Index()
        self._lock = asyncio.Lock()

    async def fetch(
        self,
        skill_type: SkillType,
        count: int,
        order: Order,
        within_s: float = FETCH_S,  # noqa: ARG002 - of servers
    ) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource` (TaskSourceError: the directory cannot be listed)."""
        return await self._first(skill_type, count, order, _read_again)

    async def listed(self, skill_type: SkillType, count: int, order: Order) -> list[Task]:
        """Return up to `count` tasks without their bundles; see `TaskShelf`. No bundle in a folder is read for it.

        Raises:
            TaskSourceError: the directory cannot be listed.
        """
        return await self._first(skill_type, count, order, _document_again)

    async def bundle(self, sha256: str) -> bytes | None:
        """Return the bundle with the lower-case hex hash `sha256`, None if the directory has none."""
        async with self._lock:
            entry = self._find(sha256)
            if entry is None:
                await self._scan()
                entry = self._find(sha256)
        return None if entry is None else await asyncio.to_thread(_bundle, entry)

    async def reachable(self) -> bool:
        """Return whether the directory can be listed."""
        try:
            await asyncio.to_thread(find_tasks, self._root)
        except TaskError:
            return False
        return True

    async def close(self) -> None:
        """Do nothing: nothing stays open."""

    async def _first(
        self, skill_type: SkillType, count: int, order: Order, read: Callable[[_Entry], T | None]
    ) -> list[T]:
        async with self._lock:
            usable = (await self._scan()).usable[skill_type]
        tasks: list[T] = []
        for sha256 in await order.rank(skill_type, usable):
            if len(tasks) == count:
                break
            task = await asyncio.to_thread(read, usable[sha256])
            if task is not None:
                tasks.append(task)
        return tasks

    async def _scan(self) -> _Index:
        known = self._index
        try:
            self._index = await asyncio.to_thread(_look, self._root, known)
        except TaskError as error:
            raise TaskSourceError(error.detail) from None
        for path, entry in self._index.entries.items():
            if entry.refusal is not None and entry is not known.entries.get(path):
                _log.warning("task_refused", task=printable(path.name), reason=printable(entry.refusal, 500))
        return self._index

    def _find(self, sha256: str) -> _Entry | None:
        return next((tasks[sha256] for tasks in self._index.usable.values() if sha256 in tasks), None)


def _look(root: Path, known: _Index) -> _Index:
    """Return a new index of `root`; what has the stamp it had before is not read again."""
    index = _Index()
    for path in find_tasks(root):
        before, stamp = known.entries.get(path), _stamp(path)
        entry = before if before is not None and before.stamp == stamp else _read(path, stamp)
        index.entries[path] = entry
        if entry.skill_type is not None:
            index.usable[entry.skill_type].setdefault(entry.sha256, entry)
    return index


def _stamp(path: Path) -> Stamp:
    parts = (path / TASK_NAME, path / BUNDLE_NAME) if path.is_dir() else (path,)
    return tuple(_file_stamp(part) for part in parts)


def _file_stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _read(path: Path, stamp: Stamp) -> _Entry:
    try:
        task = read_task(path).task
    except TaskError as error:
        return _Entry(path, stamp, refusal=error.detail)
    return _Entry(path, stamp, task.skill_type, task.bundle_sha256)


def _read_again(entry: _Entry) -> SourcedTask | None:
    """Return the task as it is on disk now, None if it is no longer the one that was indexed."""
    try:
        task = read_task(entry.path)
    except TaskError:
        return None
    same = task.task.skill_type == entry.skill_type and task.task.bundle_sha256 == entry.sha256
    return task if same else None


def _document_again(entry: _Entry) -> Task | None:
    """Return the task's document as it is on disk now, None if it is no longer the one that was indexed."""
    try:
        task = lower_hashes(parse_task(read_document(entry.path)))
    except (TaskError, JsonError):
        return None
    return task if task.skill_type == entry.skill_type and task.bundle_sha256 == entry.sha256 else None


def _bundle(entry: _Entry) -> bytes | None:
    try:
        _, bundle = read_parts(entry.path)
    except TaskError:
        return None
    return bundle if sha256_hex(bundle) == entry.sha256 else None
