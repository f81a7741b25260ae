"""A network whose time runs faster: windows and blocks are shorter, and an analysis takes its part of them."""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.structs import replace

from miner.analyses import Analyser, Files
from miner.analysis.result import Analysis
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Windows
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import CURRENT, version
from validator.sources import Clock
from validator.tasks.source import SourcedTask

_BLOCK_S: Final = 12.0
_LEAST_BLOCK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How many times faster the network's time runs than on chain; 1 or more."""

    times: float = 1.0

    def windows(self, own: Windows | None, skill_type: SkillType) -> Windows:
        """Return a task's windows, else the standard ones of its type, in this network's seconds."""
        real = own or version(CURRENT).rules.windows_of(skill_type)
        (early, late), (auditor_early, auditor_late) = real.primary, real.auditor
        return Windows((early / self.times, late / self.times), (auditor_early / self.times, auditor_late / self.times))

    def task(self, sourced: SourcedTask) -> SourcedTask:
        """Return a task at this pace; at 1 it stays as it is."""
        if self.times == 1:
            return sourced
        task = sourced.task
        paced = replace(task, windows=self.windows(task.windows, task.skill_type))
        return SourcedTask(paced, sourced.bundle, sourced.nonce)

    def goal(self, goal: WorkflowTask) -> WorkflowTask:
        """Return a workflow task at this pace; at 1 it stays as it is."""
        if self.times == 1:
            return goal
        return replace(goal, windows=self.windows(goal.windows, SkillType.WORKFLOW))

    def block_s(self, most: float) -> float:
        """Return seconds from block to block: 12 on chain, here `most` at most."""
        return max(_LEAST_BLOCK_S, min(most, _BLOCK_S / self.times))


class Timed(Analyser, Protocol):
    """Makes analyses, and knows what they cost."""

    def seconds(self, sha256: str, skill_type: SkillType, marker: str | None) -> float:
        """Return seconds of processor time; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class TimedAnalyses:
    """Analyses that take every miner their own time, though they are made once for all and perhaps beforehand.

    What an analysis cost here in processor time is what it takes a miner on a machine of its own; at a pace that is a
    part of it, as the windows are a part of the real ones.

    Args:
        pool: makes them.
        pace: of the network.
        clock: waits.
    """

    pool: Timed
    pace: Pace
    clock: Clock

    async def analyse(self, sha256: str, files: Files, skill_type: SkillType, marker: str | None) -> Analysis:
        """Return the analysis when its time has passed; see `Analyser`."""
        began = self.clock.monotonic()
        analysis = await self.pool.analyse(sha256, files, skill_type, marker)
        due = began + self.pool.seconds(sha256, skill_type, marker) / self.pace.times
        left = due - self.clock.monotonic()
        await (self.clock.sleep(left) if left > 0 else asyncio.sleep(0))
        return analysis
