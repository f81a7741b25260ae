"""The two supplies of a local network's tasks: bundles that it brings, or an owner's tasks from disk at their pace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from localnet.executions.local_engine import Executions
from localnet.library import WINDOWS, Library, analyse_plain
from localnet.own.own_tasks import OwnSource, OwnTasks, TimedAnalyses
from miner.analysis_pool import Analyser, AnalysisPool
from miner.behaviours import PACE_S
from miner.goals.goal_files import local_goals
from miner.services.catalogue import Service, ServiceAddress
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.task import Windows
from sssa.protocol.workflow_task import WorkflowTask
from sssa.sources import Clock
from validator.tasks.source import MemorySource, SourcedTask, TaskSource

_BLOCK_S: Final = 1.0
_NEVER_RUN: Final = "the miners run no bundle of yours, so there is nothing to compare"
Addresses = Mapping[Service, ServiceAddress]


@dataclass(frozen=True, slots=True)
class LibraryStock:
    """The bundles that the local network brings.

    Args:
        library: what there is.
        canary_windows: of a canary as it is made.

    Attributes:
        block_s: seconds from block to block.
        least_s: seconds before which no miner answers.
    """

    library: Library
    canary_windows: Windows
    block_s: ClassVar[float] = _BLOCK_S
    least_s: ClassVar[float] = PACE_S

    @property
    def own(self) -> frozenset[str]:
        """Sha256 of the bundles that the network made itself: only those are ever run."""
        return self.library.own

    @property
    def names(self) -> Mapping[str, str]:
        """Names of the bundles, by sha256."""
        return self.library.names

    def source(self, analyses: AnalysisPool, doing: Callable[[str], None]) -> TaskSource:  # noqa: ARG002 - as of the other stock
        """Return the bundles, from memory."""
        return MemorySource(self.library.tasks)

    def goals(self, services: Addresses) -> list[WorkflowTask]:
        """Return the local network's own goals."""
        return [*local_goals(services, WINDOWS).values()]

    def canary(self, made: SourcedTask) -> SourcedTask:
        """Return it as it is."""
        return made

    def analyses(self, pool: AnalysisPool, clock: Clock) -> Analyser:  # noqa: ARG002 - as of the other stock
        """Return shared analyses, which take time once."""
        return pool

    def executions(self, executions: Executions) -> Executions:
        """Return them all."""
        return executions

    async def prepare(self, pool: AnalysisPool, stage: Callable[[str], None]) -> None:
        """Analyse the library: its short windows leave no time for a first look."""
        stage("analysing the library")
        await analyse_plain(self.library, pool)


@dataclass(frozen=True, slots=True)
class OwnStock:
    """An owner's tasks; the network made none of their bundles, and canaries have the standard windows."""

    tasks: OwnTasks
    own: ClassVar[frozenset[str]] = frozenset()
    least_s: ClassVar[float] = 0.0
    canary_windows: ClassVar[Windows | None] = None

    @property
    def names(self) -> Mapping[str, str]:
        """Names of the bundles, by sha256."""
        return self.tasks.names

    @property
    def block_s(self) -> float:
        """Seconds from block to block at this pace."""
        return self.tasks.pace.block_s(_BLOCK_S)

    def source(self, analyses: AnalysisPool, doing: Callable[[str], None]) -> TaskSource:
        """Return the tasks, from disk."""
        return OwnSource(self.tasks, analyses, doing)

    def goals(self, services: Addresses) -> list[WorkflowTask]:  # noqa: ARG002 - as of the other stock
        """Return the owner's goals; they name the owner's services."""
        return list(self.tasks.goals)

    def canary(self, made: SourcedTask) -> SourcedTask:
        """Return it at this pace, as the other tasks are."""
        return self.tasks.pace.task(made)

    def analyses(self, pool: AnalysisPool, clock: Clock) -> Analyser:
        """Return shared analyses, each of which takes every miner its time."""
        return TimedAnalyses(pool, self.tasks.pace, clock)

    def executions(self, executions: Executions) -> Executions:
        """Return code's alone: traces of probes do not compare with a run."""
        return replace(executions, sandbox=None, image=UNPUBLISHED, why_not=executions.why_not or _NEVER_RUN)

    async def prepare(self, pool: AnalysisPool, stage: Callable[[str], None]) -> None:
        """Do nothing: each is analysed when its turn comes."""


Stock = LibraryStock | OwnStock
"""What is given out, and how fast the network's time runs over it."""
