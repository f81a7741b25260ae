"""Submission of skills by strangers over the API, into the queue from which a round takes one (SPEC 5, D-45).

A submitter learns nothing of tasks: a bundle that was ever in a round is taken, too, and waits forever.
"""

import asyncio
from datetime import datetime

from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import read_bundle
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.store import Store
from validator.tasks.layout import guess_skill_type
from validator.tasks.source import SourcedTask, TaskError
from validator.tasks.submitted import submitted_task


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


def _task(data: bytes, skill_type: SkillType | None) -> SourcedTask:
    try:
        guess = None if skill_type is not None else guess_skill_type(read_bundle(data))
        kind = skill_type or (guess and guess.skill_type)
        if kind not in ASSESSED_TYPES:
            raise NotTakenError("name its skill type: it could be anything")
        return submitted_task(data, kind)
    except (ArchiveError, TaskError) as error:
        raise NotTakenError(str(error)) from None
