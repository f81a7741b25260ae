"""Tasks: how many of each type there are, and when the last new one came; or whether the task server serves."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from validator.health.doctor.finding import Check, Finding, fault, note, ok, unknown, warning
from validator.health.doctor.site import Site
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.strict_json import JsonError
from validator.protocol.task import parse_task
from validator.protocol.text import printable
from validator.protocol.times import format_time
from validator.tasks.folder import TASK_NAME, find_tasks, read_document
from validator.tasks.goals import find_goals, read_goal
from validator.tasks.http import HttpSource
from validator.tasks.order import InTurn
from validator.tasks.source import TaskError, TaskSourceError

_MOST: Final = 2_000  # that are looked into
_SERVER_S: Final = 8.0
_CHECK: Final = "`validator tasks check DIR` lists every fault of every task"
_NONE: Final = "put tasks into it: `validator tasks pack FOLDER --out DIR/NAME`, or set tasks.server_url"
_SERVER: Final = "look at tasks.server_url, at the server and at the network between"
_REFUSALS: Final = {
    "status 401": "compare tasks.server_hotkey with the server's hotkey, and both clocks with a time server",
    "status 403": "let the server's operator serve this hotkey: `validator tasks serve … --validator HOTKEY`",
}


class _Folder(NamedTuple):
    """What lies below a folder.

    Attributes:
        types: how many of each type.
        broken: how many cannot be read; `first` names one, with its fault.
        newest: when a task's file was last changed; None without one.
        passed_over: how many were not looked into, because there are so many.
    """

    types: Mapping[str, int]
    broken: int
    first: str
    newest: datetime | None
    passed_over: int


async def _look(site: Site) -> list[Finding]:
    tasks = site.settings.tasks
    if tasks.server_url is not None and tasks.server_hotkey is not None:
        if site.signer is None:
            return [unknown("tasks", "needs the hotkey, which cannot be read, to ask the task server")]
        return [await _server(site, site.signer, tasks.server_url, tasks.server_hotkey)]
    try:
        found = await asyncio.to_thread(_read, tasks.directory)
    except TaskError as error:
        return [
            fault("tasks", f"tasks.directory: {error.detail}", "set tasks.directory to a folder of tasks, or make it")
        ]
    return list(_judged(found, tasks.directory, canaries=tasks.canaries))


def _read(root: Path) -> _Folder:
    tasks, goals = find_tasks(root), find_goals(root)
    types: Counter[str] = Counter()
    broken: list[str] = []
    newest = 0.0
    for path in tasks[:_MOST]:
        try:
            types[parse_task(read_document(path)).skill_type] += 1
        except (TaskError, JsonError) as error:
            broken.append(f"{printable(path.name, 60)}: {error.detail}")
        newest = max(newest, _changed(path))
    for path in goals[:_MOST]:
        try:
            read_goal(path)
            types[SkillType.WORKFLOW] += 1
        except TaskError as error:
            broken.append(f"{printable(path.parent.name, 60)}: {error.detail}")
        newest = max(newest, _changed(path))
    over = max(0, len(tasks) - _MOST) + max(0, len(goals) - _MOST)
    when = datetime.fromtimestamp(newest, UTC) if newest else None
    return _Folder(types, len(broken), broken[0] if broken else "", when, over)


def _changed(path: Path) -> float:
    try:
        return (path / TASK_NAME if path.is_dir() else path).stat().st_mtime
    except OSError:
        return 0.0


def _judged(found: _Folder, root: Path, *, canaries: bool) -> Iterator[Finding]:
    shown = printable(str(root))
    if found.broken:
        yield warning(
            "tasks", f"{found.broken} broken in {shown}, the first: {found.first}", _CHECK.replace("DIR", shown)
        )
    if not found.types:
        only = "; rounds have canaries alone" if canaries else ""
        yield warning("tasks", f"none in {shown}{only}", _NONE.replace("DIR", shown))
        return
    counts = ", ".join(f"{found.types[kind]} {kind}" for kind in SkillType if found.types.get(kind))
    more = f", and {found.passed_over} that were not looked into" if found.passed_over else ""
    last = f"; the newest of {format_time(found.newest)}" if found.newest else ""
    yield ok("tasks", f"{counts} in {shown}{more}{last}")
    lacking = [str(kind) for kind in SkillType if not found.types.get(kind)]
    if lacking and not found.passed_over:
        yield note("tasks", f"none of the types {', '.join(lacking)}: their miners earn nothing here")


async def _server(site: Site, signer: Signer, url: str, hotkey: str) -> Finding:
    workers = site.workers()
    source = HttpSource(url, hotkey, signer, site.clock, timeout_s=_SERVER_S, workers=workers)
    try:
        served = await _served(source)
    except TaskSourceError as error:
        return fault("tasks", f"{printable(url)}: {error.detail}", _REFUSALS.get(error.detail, _SERVER))
    finally:
        await source.close()
        await workers.close()
    if not served:
        return warning("tasks", f"{printable(url)} answers and offers no task", "put tasks into the server's folder")
    return ok("tasks", f"{printable(url)} serves {', '.join(served)}")


async def _served(source: HttpSource) -> list[str]:
    """Return the types of which the server has a task; the first failure is raised."""
    found = await asyncio.gather(*(source.fetch(kind, 1, InTurn()) for kind in ASSESSED_TYPES))
    return [str(kind) for kind, tasks in zip(ASSESSED_TYPES, found, strict=True) if tasks]


CHECK: Final = Check(
    "tasks",
    "The task folder by type with its newest task and what is broken; or whether the task server serves this hotkey.",
    "look at the disk that tasks.directory lies on, or at the task server",
    14.0,
    _look,
)
