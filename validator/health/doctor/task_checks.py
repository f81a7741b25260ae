"""Doctor's checks of tasks: the folder or the task server, and the bundles that canaries are made of."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.strict_json import JsonError
from sssa.protocol.task import parse_task
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from validator.cancellation import together
from validator.health.doctor.examination import Finding, Site, check, fault, note, ok, unknown, warning
from validator.tasks.folder import TASK_NAME, find_tasks, label, read_document, read_task, seeded_digests
from validator.tasks.goals import find_goals, read_goal
from validator.tasks.http import HttpSource
from validator.tasks.source import InTurn, TaskError, TaskSourceError
from validator.tasks.task_maker import NoTaskMakerError, TaskMaker, task_maker

_MOST_TASKS: Final = 2_000  # that are looked into
_READ_S: Final = 8.0  # for tasks with their bundles
_SERVER_S: Final = 8.0
_EVERY_FAULT: Final = "`validator tasks check DIR` lists every fault of every task"
_NEEDS_SEEDED: Final = "2.0.0"
"""The version whose pay rests on planted tasks that nobody can tell from ordinary ones."""
_RECOGNIZABLE: Final = "miners can tell planted tasks from such ordinary ones (docs/seeding.md)"
_UNSEEN: Final = (
    f"scoring.schedule names {_NEEDS_SEEDED}; it cannot be seen here which of the server's ordinary tasks were packed"
)
_SEED: Final = (
    "make ordinary tasks of them with `validator tasks seed PACKED --count 0 --ordinary 1 --output DIR`, and take the "
    "packed ones out"
)
_NO_CURATED: Final = (
    f"scoring.schedule names {_NEEDS_SEEDED}: a majority that recognizes planted tasks is paid as if it worked (D-49)"
)
_CURATE: Final = "keep some planted tasks of `validator tasks seed` with their truths among the ordinary ones"
_LOOK_AT_SERVER: Final = "look at tasks.server_url, at the server and at the network between"
_REFUSALS: Final = {
    "status 401": "compare tasks.server_hotkey with the server's hotkey, and both clocks with a time server",
    "status 403": "let the server's operator serve this hotkey: `validator tasks serve … --validator HOTKEY`",
}


class _Folder(NamedTuple):
    """Tasks or bases below a folder.

    Attributes:
        broken: one line for each that cannot be used.
        passed_over: how many were not looked into, because there are so many.
        unread: how many were looked into but for their bundle, because there are so many.
        newest: when a task's file was last changed; None without one.
        packed: how many tasks of each type have no truth and come from no seeding.
        curated: how many have a truth that lists their faults.
    """

    types: Mapping[str, int]
    broken: list[str]
    passed_over: int
    unread: int = 0
    newest: datetime | None = None
    packed: Mapping[str, int] = {}
    curated: int = 0

    def counts(self, shown: str) -> str:
        """Return the number of tasks of each type in the folder `shown`; empty without tasks."""
        counts = _by_type(self.types)
        more = f", and {self.passed_over} that were not looked into" if self.passed_over else ""
        more += f", the bundles of {self.unread} not read" if self.unread else ""
        return counts and f"{counts} in {shown}{more}"

    def lacking(self, kinds: Iterable[SkillType]) -> str:
        """Return the types without a task; empty if some tasks were not read."""
        return "" if self.passed_over else ", ".join(str(kind) for kind in kinds if not self.types.get(kind))


def _by_type(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{numbers[kind]} {kind}" for kind in SkillType if numbers.get(kind))


@check("check the disk of tasks.directory, or the task server", 14.0)
async def check_tasks(site: Site) -> list[Finding]:
    """The task folder by type, its newest task, its broken and packed tasks; or the task server's tasks."""
    tasks = site.settings.tasks
    scheduled = _NEEDS_SEEDED in (site.settings.scoring.schedule or ())
    if tasks.server_url is not None and tasks.server_hotkey is not None:
        if site.signer is None:
            return [unknown("tasks", "needs the hotkey, which cannot be read, to ask the task server")]
        served = await _server(site, site.signer, tasks.server_url, tasks.server_hotkey)
        return [served, warning("tasks", _UNSEEN, _SEED)] if scheduled else [served]
    try:
        contents = await asyncio.to_thread(_read_folder, tasks.directory)
    except TaskError as error:
        return [
            fault("tasks", f"tasks.directory: {error.detail}", "set tasks.directory to a folder of tasks, or make it")
        ]
    return list(_in_folder(contents, tasks.directory, canaries=tasks.canaries, scheduled=scheduled))


def _read_folder(root: Path) -> _Folder:
    """Read the tasks as the daemon does, whole; the documents alone once that has taken long."""
    tasks, goals, known = find_tasks(root), find_goals(root), seeded_digests(root)
    until, unread = time.monotonic() + _READ_S, 0
    types: Counter[str] = Counter()
    packed: Counter[str] = Counter()
    curated = 0
    broken: list[str] = []
    for path in tasks[:_MOST_TASKS]:
        whole = time.monotonic() < until
        unread += not whole
        try:
            task = read_task(path).task if whole else parse_task(read_document(path))
        except (TaskError, JsonError) as error:
            broken.append(error.detail if whole else f"`{label(path)}`: {error.detail}")
            continue
        types[task.skill_type] += 1
        curated += task.truth is not None and isinstance(task.truth.findings, tuple)
        packed[task.skill_type] += task.truth is None and task.bundle_sha256.lower() not in known
    for path in goals[:_MOST_TASKS]:
        try:
            read_goal(path)
            types[SkillType.WORKFLOW] += 1
        except TaskError as error:
            broken.append(f"`{label(path.parent)}`: {error.detail}")
    newest = max(map(_changed, (*tasks[:_MOST_TASKS], *goals[:_MOST_TASKS])), default=0.0)
    over = max(0, len(tasks) - _MOST_TASKS) + max(0, len(goals) - _MOST_TASKS)
    return _Folder(
        types, broken, over, unread, datetime.fromtimestamp(newest, UTC) if newest else None, packed, curated
    )


def _changed(path: Path) -> float:
    try:
        return (path / TASK_NAME if path.is_dir() else path).stat().st_mtime
    except OSError:
        return 0.0


def _in_folder(contents: _Folder, root: Path, *, canaries: bool, scheduled: bool) -> Iterator[Finding]:
    shown = printable(str(root))
    if contents.broken:
        seen = f"{len(contents.broken)} broken in {shown}, the first: {contents.broken[0]}"
        yield warning("tasks", seen, _EVERY_FAULT.replace("DIR", shown))
    if not contents.types:
        only = "; rounds have canaries alone" if canaries else ""
        yield warning("tasks", f"none in {shown}{only}", condition="rounds_no_tasks")
        return
    last = f"; the newest of {format_time(contents.newest)}" if contents.newest else ""
    yield ok("tasks", f"{contents.counts(shown)}{last}")
    if ordinary := _by_type(contents.packed):
        finding, version = (fault, f", and scoring.schedule names {_NEEDS_SEEDED}") if scheduled else (warning, "")
        yield finding("tasks", f"straight from `tasks pack`: {ordinary}{version}; {_RECOGNIZABLE}", _SEED)
    if scheduled and not contents.curated and not contents.passed_over:
        yield warning("tasks", f"none has a truth that lists its faults, and {_NO_CURATED}", _CURATE)
    if lacking := contents.lacking(SkillType):
        earn = "canaries alone (of workflows nothing)" if canaries else "nothing"
        yield note("tasks", f"none of the types {lacking}: their miners get {earn} here")


async def _server(site: Site, signer: Signer, url: str, hotkey: str) -> Finding:
    workers = site.workers()
    source = HttpSource(url, hotkey, signer, site.clock, timeout_s=_SERVER_S, workers=workers)
    try:
        served = await _served(source)
    except TaskSourceError as error:
        return fault("tasks", f"{printable(url)}: {error.detail}", _REFUSALS.get(error.detail, _LOOK_AT_SERVER))
    finally:
        await source.close()
        await workers.close()
    if not served:
        return warning(
            "tasks",
            f"{printable(url)} answers and offers no task",
            "put tasks into the server's folder",
            "rounds_no_tasks",
        )
    return ok("tasks", f"{printable(url)} serves {', '.join(served)}")


async def _served(source: HttpSource) -> list[str]:
    """Return the types of which the server has a task; the first failure is raised."""
    fetched = await together(source.fetch(kind, 1, InTurn()) for kind in ASSESSED_TYPES)
    return [str(kind) for kind, tasks in zip(ASSESSED_TYPES, fetched, strict=True) if tasks]


_MOST_BASES: Final = 200  # that are read whole
_BUILT_IN: Final = "set tasks.bases to the benign tasks that the others were seeded from (docs/seeding.md)"

_PUBLIC: Final = (
    "no private shapes: a miner that knows the built-in ones earns 0.25 of the reference miner from a diff against "
    "the public package alone"
)
_INSTALL_MAKER: Final = "install the task maker of the validator's version, or set tasks.canaries = false"
_WRITE_SHAPES: Final = "write some, and name their folder in tasks.shapes (docs/seeding.md#your-own-shapes)"


@check("check the disk of tasks.bases", 14.0)
async def check_bases(site: Site) -> list[Finding]:
    """Material of canaries: the benign tasks of tasks.bases by type, the shapes of tasks.shapes, and their faults."""
    tasks = site.settings.tasks
    if not tasks.canaries:
        return [ok("bases", "none needed: rounds hold no canaries")]
    try:
        maker = await asyncio.to_thread(task_maker)
        own = await asyncio.to_thread(maker.own_shapes, tasks.shapes)
    except NoTaskMakerError as error:
        finding = fault if _NEEDS_SEEDED in (site.settings.scoring.schedule or ()) else warning
        return [finding("bases", error.detail, _INSTALL_MAKER, "canaries_unavailable")]
    except TaskError as error:
        return [fault("bases", f"tasks.shapes: {error.detail}", "correct the file, or take tasks.shapes away")]
    public = [] if own else [note("bases", _PUBLIC, _WRITE_SHAPES)]
    if tasks.bases is None:
        seen = "canaries are made of built-in bundles, which miners can tell from other tasks"
        return [note("bases", seen, _BUILT_IN), *public]
    try:
        contents = await asyncio.to_thread(_read_bases, tasks.bases, maker)
    except TaskError as error:
        return [
            fault("bases", f"tasks.bases: {error.detail}", "set tasks.bases to a folder of benign tasks, or make it")
        ]
    return [*_of_bases(contents, printable(str(tasks.bases))), *public]


def _read_bases(root: Path, maker: TaskMaker) -> _Folder:
    paths = find_tasks(root)
    types: Counter[str] = Counter()
    unusable: list[str] = []
    for path in paths[:_MOST_BASES]:
        try:
            sourced = read_task(path)
            maker.require_base(sourced, label(path))
            types[sourced.task.skill_type] += 1
        except TaskError as error:
            unusable.append(error.detail)
    return _Folder(types, unusable, max(0, len(paths) - _MOST_BASES))


def _of_bases(folder: _Folder, shown: str) -> Iterator[Finding]:
    if folder.broken:
        yield warning(
            "bases",
            f"{len(folder.broken)} in {shown} cannot be used, the first: {folder.broken[0]}",
            "take it away, or correct it: a canary that is drawn from it is not made",
        )
    if counts := folder.counts(shown):
        yield ok("bases", counts)
    if lacking := folder.lacking(ASSESSED_TYPES):
        yield warning(
            "bases",
            f"none of the types {lacking} in {shown}: their canaries come from built-in bundles, which miners can tell",
            "put a benign task of each into it: `validator tasks pack FOLDER --out DIR/NAME`",
        )
