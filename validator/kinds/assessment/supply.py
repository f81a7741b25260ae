"""The assessments of a round: slots of every type from a source, a canary slot for two of the types (SPEC 1, 5)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from validator.kinds.interface import PackedTask
from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import index_bundle, read_bundle, with_canary
from validator.protocol.canonical import sha256_hex
from validator.protocol.draws import NONCE_BYTES, task_id
from validator.protocol.round import AssessmentTask
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.scoring import Rules
from validator.sources import RandomBytes
from validator.tasks.canary import CANARY_TYPES
from validator.tasks.order import Order
from validator.tasks.source import SourcedTask, TaskSource, TaskSourceError

_log = structlog.get_logger()

CanaryMaker = Callable[[SkillType], SourcedTask]


@dataclass(frozen=True, slots=True)
class Bundles:
    """Fills the slots of assessments.

    Args:
        source: where curated tasks come from.
        canary: makes a canary task of a type; None for rounds without canaries.
        random: nonces.
    """

    source: TaskSource
    canary: CanaryMaker | None
    random: RandomBytes

    async def fill(self, rules: Rules, round_id: str, order: Order) -> list[PackedTask]:
        """Return the round's assessments; () when the source had none. See `Supply`."""
        packed: list[PackedTask] = []
        for skill_type in ASSESSED_TYPES:
            curated, canaries = await self._filling(rules, skill_type, order)
            for slot, sourced in enumerate(curated + canaries):
                nonce = self.random.token(NONCE_BYTES)
                task = await asyncio.to_thread(pack_task, rules, round_id, slot, sourced, nonce)
                if task is not None:
                    packed.append(task._replace(sourced=slot < len(curated)))
        return packed

    async def _filling(
        self, rules: Rules, skill_type: SkillType, order: Order
    ) -> tuple[list[SourcedTask], list[SourcedTask]]:
        """Return what fills a type's slots: tasks of the source, and canaries."""
        canaries = [self.canary(skill_type)] if self.canary and skill_type in CANARY_TYPES else []
        wanted = rules.groups.slots_per_type - len(canaries)
        try:
            curated = await self.source.fetch(skill_type, wanted, order)
        except TaskSourceError as error:
            _log.warning("task_source_failed", skill_type=str(skill_type), reason=str(error))
            curated = []
        return curated[:wanted], canaries


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
    packed = AssessmentTask(
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
        own_windows=task.windows is not None,
    )
    return PackedTask(packed, bundle)
