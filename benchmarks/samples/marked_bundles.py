"""Size of bundles in a SQLite store: installed distributions, with a marker of each round where one fits."""

import asyncio
import random
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from localnet.library import DISTRIBUTIONS
from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, version
from taskmaker.packing import PackOptions, pack_task
from validator.kinds.assessment.supply import pack_task as dispatched
from validator.store import Store, open_store
from validator.store.size import table_sizes
from validator.tasks.source import SourcedTask

TYPES: Final = (SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE, SkillType.EXECUTABLE_PYTHON)
BEFORE: Final = 18  # rounds that are not counted: every distribution is given once as each type
ROUNDS: Final = 36  # that are
_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Marked(NamedTuple):
    """Bytes that a round adds: to the table, and of those of its bundles that were never sent before."""

    table: float
    sent: float


@cache
def marked() -> Marked:
    """Pack the distributions as each type, give two of each type in every round, and measure."""
    with tempfile.TemporaryDirectory(prefix="marked") as folder:
        return asyncio.run(_measured(f"sqlite:///{Path(folder) / 'store.sqlite'}"))


async def _measured(url: str) -> Marked:
    tasks = [[pack_task(name, PackOptions(skill_type=one)).task for name in DISTRIBUTIONS] for one in TYPES]
    async with open_store(url, create=True) as store:
        seen: set[str] = set()
        await _play(store, tasks, range(BEFORE), seen)
        before = await _bytes(store)
        sent = await _play(store, tasks, range(BEFORE, BEFORE + ROUNDS), seen)
        return Marked((await _bytes(store) - before) / ROUNDS, sent / ROUNDS)


async def _play(store: Store, tasks: list[list[SourcedTask]], rounds: range, seen: set[str]) -> int:
    """Store the bundles of rounds; return the bytes of those that are not among `seen`, and add them."""
    rules, sent = version(CURRENT).rules, 0
    for number in rounds:
        nonces = random.Random(number)
        async with store.begin() as tx:
            for slot in range(2 * len(TYPES)):
                of_type = tasks[slot // 2]
                sourced = of_type[(2 * number + slot % 2) % len(of_type)]
                packed = dispatched(rules, str(number), slot, sourced, nonces.randbytes(NONCE_BYTES))
                assert packed is not None
                assert packed.bundle is not None
                task = packed.task
                await tx.bundles.put(task.bundle_sha256, packed.bundle, _AT)
                sent += 0 if task.bundle_sha256 in seen else len(packed.bundle)
                seen.add(task.bundle_sha256)
    return sent


async def _bytes(store: Store) -> int:
    async with store.read() as tx:
        return next(table.bytes for table in await table_sizes(tx.connection) if table.name == "bundles")
