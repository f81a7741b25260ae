"""Tasks of the local network, packed in memory: written bundles with truth, and installed distributions (D-7)."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from miner.analysis_pool import Analyser
from miner.bundles.written import WrittenBundle, written_bundles
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from taskmaker.packing import PackOptions, pack_task
from validator.tasks.folder import sourced_task
from validator.tasks.source import SourcedTask, TaskError

WINDOWS: Final = Windows(primary=(0.5, 8.0), auditor=(0.5, 6.0))
LONG_WINDOWS: Final = Windows(primary=(0.5, 90.0), auditor=(0.5, 90.0))
DISTRIBUTIONS: Final = (
    "aiosqlite",
    "bandit",
    "iniconfig",
    "mako",
    "prometheus-client",
    "rfc8785",
    "stamina",
    "structlog",
    "typer",
)
WANTED: Final = 6  # third-party bundles at least


@dataclass(frozen=True, slots=True)
class Library:
    """Tasks, and sha256 of the bundles that the local network made itself (only those are ever run).

    Attributes:
        names: what the bundles are called, by sha256.
    """

    tasks: Sequence[SourcedTask]
    own: frozenset[str]
    names: Mapping[str, str]


def build_library(windows: Windows = WINDOWS) -> Library:
    """Pack everything. Blocks for a second or two.

    Raises:
        TaskError: fewer than six third-party distributions could be packed.
    """
    own = {bundle.name: _written(bundle, windows) for bundle in written_bundles()}
    foreign = dict(_foreign(windows))
    if len(foreign) < WANTED:
        raise TaskError(
            f"only {len(foreign)} of {len(DISTRIBUTIONS)} distributions could be packed, {WANTED} are needed"
        )
    return Library(
        tasks=(*own.values(), *foreign.values()),
        own=frozenset(task.task.bundle_sha256 for task in own.values()),
        names={sourced.task.bundle_sha256: name for name, sourced in {**foreign, **own}.items()},
    )


async def analyse_plain(library: Library, analyses: Analyser) -> None:
    """Analyse what carries no marker beforehand: short windows leave no time for a first look at large bundles."""
    plain = [sourced for sourced in library.tasks if sourced.task.canary is None]
    await asyncio.gather(
        *(analyses.analyse(s.task.bundle_sha256, read_bundle(s.bundle), s.task.skill_type, None) for s in plain)
    )


def _written(bundle: WrittenBundle, windows: Windows) -> SourcedTask:
    return sourced_task(bundle.task(windows), bundle.packed())


def _foreign(windows: Windows) -> Iterator[tuple[str, SourcedTask]]:
    for name in DISTRIBUTIONS:
        try:
            packed = pack_task(name, PackOptions(skill_type=SkillType.EXECUTABLE_PYTHON, windows=windows))
        except TaskError:
            continue  # not installed here
        yield name, packed.task
