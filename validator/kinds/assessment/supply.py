"""Supply of assessments: the bundles of a round, read from task sources or made as canaries (SPEC 1, 13)."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

import structlog
from msgspec import structs

from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import index_bundle, read_bundle, with_canary
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.draws import NONCE_BYTES, canary_types, task_id
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.scoring import Rules
from sssa.sources import Draws, RandomBytes
from validator.kinds.services import PackedTask
from validator.tasks.source import FETCH_S, Order, SourcedTask, TaskSource, TaskSourceError
from validator.tasks.task_maker import CanaryMaker

_log = structlog.get_logger()

SubmittedTasks = Callable[[Collection[SkillType]], Awaitable[SourcedTask | None]]


@dataclass(frozen=True, slots=True)
class Bundles:
    """Fills the slots of assessments.

    Args:
        canary: makes a canary task of a type, or none; None for rounds without canaries.
        random: nonces, and which slot of its type a canary has.
        submitted: returns the next submitted task of one of these types, or none; None where nobody can submit any.
    """

    source: TaskSource
    canary: CanaryMaker | None
    random: RandomBytes
    submitted: SubmittedTasks | None = None

    async def fill(self, rules: Rules, round_id: str, order: Order, salt: bytes) -> list[PackedTask]:
        """Return the round's assessments; () when the source had none. See `Supply`."""
        packed: list[PackedTask] = []
        loop = asyncio.get_running_loop()
        with_canary_slot = canary_types(salt, round_id, rules.groups.canary_slots) if self.canary else ()
        submitted = None
        if self.submitted is not None:  # not next to a canary: the type keeps a task of the source
            submitted = await self.submitted([one for one in ASSESSED_TYPES if one not in with_canary_slot])
        remaining_s = FETCH_S
        for types, skill_type in zip(range(len(ASSESSED_TYPES), 0, -1), ASSESSED_TYPES, strict=True):
            extra = await self.canary(skill_type) if self.canary and skill_type in with_canary_slot else None
            if submitted is not None and submitted.task.skill_type is skill_type:
                extra = submitted
            began = loop.time()
            filled = await self._slots(rules, skill_type, order, extra, remaining_s / types)
            remaining_s -= loop.time() - began
            for slot, sourced in enumerate(filled):
                nonce = sourced.nonce or self.random.token(NONCE_BYTES)
                task = await asyncio.to_thread(pack_task, rules, round_id, slot, sourced, nonce)
                if task is not None:
                    marked = _submitted(task) if sourced is submitted else task
                    packed.append(marked._replace(sourced=sourced is not extra))
        return packed

    async def _slots(
        self, rules: Rules, skill_type: SkillType, order: Order, extra: SourcedTask | None, within_s: float
    ) -> list[SourcedTask]:
        """Return the tasks of a type's slots: those of the source, and at a drawn place `extra`.

        A task's id tells its slot to anyone who has the bundle, so the slot must not tell what it is.
        """
        wanted = rules.groups.slots_per_type - (extra is not None)
        try:
            tasks = (await self.source.fetch(skill_type, wanted, order, within_s))[:wanted]
        except TaskSourceError as error:
            _log.warning("task_source_failed", skill_type=str(skill_type), reason=str(error))
            tasks = []
        if extra is not None and extra.task.bundle_sha256 not in {one.task.bundle_sha256 for one in tasks}:
            tasks.insert(Draws(self.random).number(0, len(tasks)), extra)
        return tasks


def _submitted(packed: PackedTask) -> PackedTask:
    if not isinstance(packed.task, AssessmentTask):
        return packed
    return packed._replace(task=structs.replace(packed.task, submitted=True))


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
