"""Rounds that give a task again store its bundle whole once, whatever its marker, and give it back as it was sent."""

import random
from collections import Counter

from sqlalchemy import select
from world import WINDOWS, World, on_virtual_time

from validator.protocol.answer import CanarySpec
from validator.protocol.archives import pack
from validator.protocol.bundles import index_bundle, read_bundle
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Task
from validator.store import Store
from validator.store.tables import bundles
from validator.tasks.memory import MemorySource
from validator.tasks.source import SourcedTask

ROUNDS = 3
FILES = {"README.md": b"What this is.\n", "z.md": random.Random(1).randbytes(2_000).hex().encode()}


def task(skill_type: SkillType, canary: CanarySpec | None) -> SourcedTask:
    bundle = pack(FILES | {"type.md": skill_type.encode()})
    return SourcedTask(Task("1.0", skill_type, WINDOWS, sha256_hex(bundle), "none", None, canary), bundle)


async def test_a_task_of_three_rounds_is_stored_whole_once(store: Store) -> None:
    tasks = [task(SkillType.RAG_KNOWLEDGE, CanarySpec("README.md")), task(SkillType.EXECUTABLE_PYTHON, None)]
    world = World(store, miners=3, source=MemorySource(tasks))
    for _ in range(ROUNDS):
        await on_virtual_time(world, world.service.one_round())
    wholes: Counter[str] = Counter()
    async with store.read() as tx:
        beside = set(await tx.connection.scalars(select(bundles.c.sha256).where(bundles.c.base_sha256.is_not(None))))
        frozen = [record.input for n in range(ROUNDS) if (record := await tx.rounds.get(n)) and record.input]
        sent = {task.bundle_sha256: task for one in frozen for task in one.tasks}
        for name, given in sent.items():
            data = await tx.bundles.get(name)
            assert data is not None
            assert sha256_hex(data) == name
            assert index_bundle(read_bundle(data)) == given.index  # type: ignore[union-attr]
            wholes[given.source_sha256] += name not in beside
    assert wholes == {one.task.bundle_sha256: 1 for one in tasks}
    assert len(sent) == ROUNDS + 1
    assert len(beside) == ROUNDS - 1
