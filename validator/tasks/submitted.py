"""Submitted skills as tasks: the reading side of their queue in the store (SPEC 5, D-45)."""

import asyncio
from collections.abc import Collection

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task
from validator.store import Store
from validator.tasks.folder import sourced_task
from validator.tasks.source import SourcedTask


async def next_submitted(store: Store, skill_types: Collection[SkillType]) -> SourcedTask | None:
    """Return the bundle of these types that has waited longest."""
    async with store.read() as tx:
        queued = await tx.submitted.next(skill_types)
    if queued is None or queued.data is None:
        return None
    return await asyncio.to_thread(submitted_task, queued.data, queued.skill_type)


def submitted_task(data: bytes, skill_type: SkillType) -> SourcedTask:
    """Return a submitted bundle as a task of a type (TaskError: it is no bundle)."""
    return sourced_task(Task("1.0", skill_type, None, sha256_hex(data), "none", None, None), data)
