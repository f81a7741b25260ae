"""What canaries are made of: the operator's own benign tasks, or the built-in bundles (SPEC 16, D-33)."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from validator.health.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.health.doctor.site import Site
from validator.protocol.skill_types import ASSESSED_TYPES
from validator.protocol.text import printable
from validator.tasks.bases import base_of
from validator.tasks.folder import find_tasks, label, read_task
from validator.tasks.source import TaskError

_MOST: Final = 200  # that are read whole
_BUILT_IN: Final = "set tasks.bases to the benign tasks that the others were seeded from (docs/seeding.md)"


class _Bases(NamedTuple):
    """What lies below the folder: how many of each type, and what cannot be used, each with its fault."""

    types: Mapping[str, int]
    unusable: list[str]
    passed_over: int


async def _look(site: Site) -> list[Finding]:
    tasks = site.settings.tasks
    if not tasks.canaries:
        return [ok("bases", "none needed: rounds hold no canaries")]
    if tasks.bases is None:
        return [
            note("bases", "canaries are made of built-in bundles, which miners can tell from other tasks", _BUILT_IN)
        ]
    try:
        found = await asyncio.to_thread(_read, tasks.bases)
    except TaskError as error:
        return [
            fault("bases", f"tasks.bases: {error.detail}", "set tasks.bases to a folder of benign tasks, or make it")
        ]
    return list(_judged(found, printable(str(tasks.bases))))


def _read(root: Path) -> _Bases:
    paths = find_tasks(root)
    types: Counter[str] = Counter()
    unusable: list[str] = []
    for path in paths[:_MOST]:
        try:
            types[base_of(read_task(path), label(path)).skill_type] += 1
        except TaskError as error:
            unusable.append(error.detail)
    return _Bases(types, unusable, max(0, len(paths) - _MOST))


def _judged(found: _Bases, shown: str) -> Iterator[Finding]:
    if found.unusable:
        yield warning(
            "bases",
            f"{len(found.unusable)} in {shown} cannot be used, the first: {found.unusable[0]}",
            "take it away, or correct it: a canary that is drawn from it is not made",
        )
    counts = ", ".join(f"{found.types[kind]} {kind}" for kind in ASSESSED_TYPES if found.types[kind])
    more = f", and {found.passed_over} that were not looked into" if found.passed_over else ""
    if counts:
        yield ok("bases", f"{counts} in {shown}{more}")
    lacking = [str(kind) for kind in ASSESSED_TYPES if not found.types[kind]]
    if lacking and not found.passed_over:
        yield warning(
            "bases",
            f"none of the types {', '.join(lacking)} in {shown}: their canaries are made of built-in bundles, which "
            "miners can tell",
            "put a benign task of each into it: `validator tasks pack FOLDER --out DIR/NAME`",
        )


CHECK: Final = Check(
    "bases",
    "What canaries are made of: the benign tasks of tasks.bases by type, and those that cannot be used.",
    "look at the disk that tasks.bases lies on",
    14.0,
    _look,
)
