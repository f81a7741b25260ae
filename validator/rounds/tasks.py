"""The tasks of a round: two slots per type from the sources, a canary slot for two of the types (SPEC 1, 5)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import index_bundle, read_bundle, with_canary
from validator.protocol.canonical import sha256_hex
from validator.protocol.draws import task_id
from validator.protocol.round import RoundTask
from validator.protocol.scoring_version import ASSESSED_TYPES, SkillType
from validator.protocol.workflow_plan import goal_sha256
from validator.protocol.workflow_task import WorkflowTask, task_sha256
from validator.scoring import Rules
from validator.sources import RandomBytes
from validator.tasks.canary import CANARY_TYPES
from validator.tasks.goals import GoalSource, MemoryGoals
from validator.tasks.source import SourcedTask, TaskSource, TaskSourceError

_NONCE_BYTES = 32
_log = structlog.get_logger()

CanaryMaker = Callable[[SkillType], SourcedTask]


class PackedTask(NamedTuple):
    """A task of the round with the bundle as it is dispatched; None for a workflow."""

    task: RoundTask
    bundle: bytes | None


@dataclass(frozen=True, slots=True)
class TaskDesk:
    """Fills the slots of rounds.

    Args:
        source: where curated tasks come from.
        canary: makes a canary task of a type; None for rounds without canaries.
        random: nonces.
        goals: where workflow tasks come from; nowhere unless said.
    """

    source: TaskSource
    canary: CanaryMaker | None
    random: RandomBytes
    goals: GoalSource = field(default_factory=MemoryGoals)

    async def fill(self, rules: Rules, round_id: str, exclude: frozenset[str]) -> list[PackedTask]:
        """Return the round's tasks in plan order: types as in SPEC 1, then slots; () when no source had any.

        Args:
            rules: of the round's version: how many slots a type has, and the windows of tasks without their own.
            round_id: of the round.
            exclude: source bundles not to ask for again.
        """
        packed: list[PackedTask] = []
        for skill_type in ASSESSED_TYPES:
            for slot, sourced in enumerate(await self._sourced(rules, skill_type, exclude)):
                nonce = self.random.token(_NONCE_BYTES)
                task = await asyncio.to_thread(pack_task, rules, round_id, slot, sourced, nonce)
                if task is not None:
                    packed.append(task)
        for slot, goal in enumerate(await self.goals.fetch(rules.groups.slots_per_type, exclude)):
            packed.append(PackedTask(goal_task(rules, round_id, slot, goal, self.random.token(_NONCE_BYTES)), None))
        return packed

    async def _sourced(self, rules: Rules, skill_type: SkillType, exclude: frozenset[str]) -> list[SourcedTask]:
        canaries = [self.canary(skill_type)] if self.canary and skill_type in CANARY_TYPES else []
        wanted = rules.groups.slots_per_type - len(canaries)
        try:
            curated = await self.source.fetch(skill_type, wanted, exclude)
        except TaskSourceError as error:
            _log.warning("task_source_failed", skill_type=str(skill_type), reason=str(error))
            curated = []
        return curated[:wanted] + canaries


def goal_task(rules: Rules, round_id: str, slot: int, goal: WorkflowTask, nonce: bytes) -> RoundTask:
    """Return a workflow task as a task of the round; its document's hash stands for the source bundle's."""
    source = task_sha256(goal)
    return RoundTask(
        task_id=task_id(round_id, SkillType.WORKFLOW.value, slot, source),
        skill_type=SkillType.WORKFLOW,
        slot=slot,
        source_sha256=source,
        bundle_sha256=goal_sha256(goal),
        nonce=nonce.hex(),
        windows=goal.windows or rules.windows_of(SkillType.WORKFLOW),
        provenance="curated",
        truth=None,
        canary=None,
        index=(),
        workflow=goal,
    )


def pack_task(rules: Rules, round_id: str, slot: int, sourced: SourcedTask, nonce: bytes) -> PackedTask | None:
    """Return the task as it is dispatched, with its canary marker if it has one; None if it cannot be packed."""
    task = sourced.task
    try:
        files = read_bundle(sourced.bundle)
        bundle = sourced.bundle if task.canary is None else with_canary(files, task.canary.file, nonce.hex())
        index = index_bundle(files if task.canary is None else read_bundle(bundle))
    except ArchiveError as error:
        _log.warning("task_refused", bundle_sha256=task.bundle_sha256, reason=str(error))
        return None
    packed = RoundTask(
        task_id=task_id(round_id, str(task.skill_type), slot, task.bundle_sha256),
        skill_type=task.skill_type,
        slot=slot,
        source_sha256=task.bundle_sha256,
        bundle_sha256=sha256_hex(bundle),
        nonce=nonce.hex(),
        windows=task.windows or rules.windows_of(task.skill_type),
        provenance=task.provenance,
        truth=task.truth,
        canary=task.canary,
        index=index,
    )
    return PackedTask(packed, bundle)
