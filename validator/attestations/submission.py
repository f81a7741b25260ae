"""Queue of skills that strangers submit over the API: a round takes one, whose answers enter nothing (SPEC 5, D-45).

A submitter learns nothing of tasks: a bundle that was ever in a round is taken, too, and waits forever. The API
writes the queue in the store; the daemon reads it for a round.
"""

import asyncio
from collections.abc import Collection
from datetime import datetime

from validator.protocol.archives import ArchiveError
from validator.protocol.bundles import read_bundle
from validator.protocol.canonical import sha256_hex
from validator.protocol.errors import ValidatorError
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.task import Task
from validator.store import Store
from validator.tasks.folder import sourced_task
from validator.tasks.layout import guess_skill_type
from validator.tasks.source import SourcedTask, TaskError


class NotTakenError(ValidatorError):
    """The skill is not taken."""


class QueueFullError(NotTakenError):
    """Too many skills wait."""


async def submit(store: Store, data: bytes, skill_type: SkillType | None, now: datetime, most: int) -> str:
    """Queue a bundle and return its sha256; one that was submitted before stays where it is.

    Args:
        store: written in its own transaction.
        data: a bundle as SPEC 13 has it, of a stranger.
        skill_type: None to guess it from the files.
        now: when it came.
        most: bundles that may wait (`attestations.submissions`); 0: nobody can submit.

    Raises:
        NotTakenError: it is no bundle, or its type cannot be guessed.
        QueueFullError: `most` wait already.
    """
    task = await asyncio.to_thread(_task, data, skill_type) if most else None
    if task is None:
        raise QueueFullError("this validator takes none")
    async with store.begin() as tx:
        if not await tx.submitted.add(task.task.bundle_sha256, task.task.skill_type, data, now, most):
            raise QueueFullError("try again after some rounds")
    return task.task.bundle_sha256


async def next_submitted(store: Store, skill_types: Collection[SkillType]) -> SourcedTask | None:
    """Return the bundle of these types that has waited longest."""
    async with store.read() as tx:
        found = await tx.submitted.next(skill_types)
    if found is None or found.data is None:
        return None
    return await asyncio.to_thread(_task, found.data, found.skill_type)


def _task(data: bytes, skill_type: SkillType | None) -> SourcedTask:
    try:
        guess = None if skill_type is not None else guess_skill_type(read_bundle(data))
        kind = skill_type or (guess and guess.skill_type)
        if kind not in ASSESSED_TYPES:
            raise NotTakenError("name its skill type: it could be anything")
        return sourced_task(Task("1.0", kind, None, sha256_hex(data), "none", None, None), data)
    except (ArchiveError, TaskError) as error:
        raise NotTakenError(str(error)) from None
