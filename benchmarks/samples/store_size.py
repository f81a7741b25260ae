"""Size of a round in a store: twelve tasks for five of 64 miners each, answers of four findings, and weights.

Weights come with every seventh round: an epoch has 360 blocks of twelve seconds, a round takes ten minutes.
"""

import asyncio
import random
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import zstandard
from sqlalchemy import text
from world import VALIDATOR, Script, World, answer_to, on_virtual_time, tasks_of_all_types

from samples.postgres import postgres
from samples.silent_log import drop_log
from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Finding
from validator.miners.scripted import ScriptedReply
from validator.settings.model import WeightsSettings
from validator.store import Store, open_store
from validator.store.connections import make_engine
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import VectorRecord
from validator.store.size import table_sizes
from validator.store.urls import parse_url
from validator.store.vector_inputs import basis_of
from validator.tasks.source import MemorySource
from validator.weights.plan import mechanisms, plan_vector
from validator.weights.submission import WeightsLog

MINERS: Final = 64
FINDINGS: Final = 4
PASSING: Final = ("answers", "bundles")  # go when their retention ends
EPOCH: Final = 7  # rounds
BEFORE: Final = 7  # rounds that are not counted: tables that hold one row per miner fill
ROUNDS: Final = 21  # that are
_VOCABULARY: Final = [
    "a",
    "command",
    "is",
    "built",
    "from",
    "what",
    "the",
    "caller",
    "sends",
    "and",
    "run",
    "in",
    "a",
    "shell",
    "of",
    "the",
    "host,",
    "which",
    "nobody",
    "asks",
    "for;",
    "the",
    "result",
    "is",
    "written",
    "to",
    "a",
    "file",
    "that",
    "everybody",
    "can",
    "read,",
    "a",
    "token",
    "stands",
    "in",
    "the",
    "source",
    "and",
    "is",
    "sent",
    "along",
    "with",
    "each",
    "request",
]


class Sizes(NamedTuple):
    """Bytes that a round adds: by table, and of all its documents in one stream of zstd -19 over all rounds."""

    tables: Mapping[str, float]
    floor: float


@cache
def sizes() -> Sizes:
    """Play the rounds into a SQLite store and measure."""
    with tempfile.TemporaryDirectory(prefix="sized") as folder:
        return sizes_in(f"sqlite:///{Path(folder) / 'store.sqlite'}")


@cache
def sizes_in_postgres() -> Sizes:
    """Play the same rounds into a Postgres store vacuumed after each of them, and measure."""
    with postgres() as url:
        return sizes_in(url)


def sizes_in(url: str) -> Sizes:
    """Play the rounds into an empty database and measure."""
    drop_log()
    return asyncio.run(_measured(url))


def kept_of_full_round(script: Script, database: str) -> float:
    """Return the MiB that a round of 60 such answers adds, raw answers and bundles aside, which retention removes."""
    drop_log()
    if database == "Postgres":
        with postgres() as url:
            return asyncio.run(_kept(url, script))
    with tempfile.TemporaryDirectory(prefix="kept") as folder:
        return asyncio.run(_kept(f"sqlite:///{Path(folder) / 'store.sqlite'}", script))


async def _kept(url: str, script: Script) -> float:
    async with open_store(url, create=True) as store:
        world = World(store, miners=5, source=MemorySource(tasks_of_all_types(each=2)))
        await on_virtual_time(world, world.service.one_round())
        before = await _tables(store)
        world.script = script
        await on_virtual_time(world, world.service.one_round())
        await _vacuumed(url)
        after = await _tables(store)
    return sum(after[name] - before[name] for name in after if name not in PASSING) / 2**20


async def _measured(url: str) -> Sizes:
    async with open_store(url, create=True) as store:
        source = MemorySource(tasks_of_all_types(each=2))
        world = World(store, miners=MINERS, source=source, script=with_findings)
        await _play(world, BEFORE, url)
        before = await _tables(store)
        await _play(world, ROUNDS, url)
        after = await _tables(store)
        floor = len(zstandard.ZstdCompressor(compression_params=_floor()).compress(await _documents(store)))
    return Sizes({name: (after[name] - before[name]) / ROUNDS for name in after}, floor / (BEFORE + ROUNDS))


def with_findings(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """An honest answer: findings of the group's own, of which each miner has most, in its own words."""
    group, own = random.Random(dispatch.bundle_sha256), random.Random(dispatch.nonce + signer.hotkey)
    lines = [f"src/part_{group.randrange(20)}.py#L{group.randrange(1, 400)}" for _ in range(FINDINGS + 1)]
    findings = tuple(
        Finding(f"f{n}", "other", "low", " ".join(own.choices(_VOCABULARY, k=12)), line, (), line.partition("#")[0])
        for n, line in enumerate(lines)
        if own.random() < FINDINGS / (FINDINGS + 1)
    )
    answer = answer_to(signer, dispatch)
    analysis = msgspec.structs.replace(answer.sssa.analysis, findings=findings, risk_score=round(own.random() / 3, 2))
    signed = signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=analysis))
    return ScriptedReply(msgspec.json.encode(msgspec.structs.replace(answer, sssa=signed)), seconds=1 + own.random())


async def _play(world: World, rounds: int, url: str) -> None:
    for number in range(rounds):
        await on_virtual_time(world, world.service.one_round())
        await _vacuumed(url)
        if number % EPOCH == 0:
            await _weights(world)


async def _weights(world: World) -> None:
    kinds = mechanisms(WeightsSettings())[0]
    telling = WeightsLog(VALIDATOR, world.clock, world.preparer.random, 1, 0, kinds)
    snapshot = await world.chain.snapshot()
    async with world.store.begin() as tx:
        basis = await basis_of(tx, 1, 0, snapshot.epoch, snapshot.block)
        vector = plan_vector(basis, snapshot, VALIDATOR.hotkey, kinds)
        link = await telling.vector(tx, snapshot, basis, vector, None)
        now, round_id = world.clock.now(), basis.round_id
        record = VectorRecord(1, 0, snapshot.epoch, round_id, snapshot.block, "1.0.0", True, vector.unpaid, now, link)
        await tx.vectors.put(record)
        await tx.state.pay((1, 0), snapshot.epoch, round_id)
        sent = {uid: round(65_535 * share) for uid, share in vector.uids.items()}
        planned = PlannedWeights(vector.weights, vector.scores, vector.unallocated, sent)
        await tx.weights.prepare(1, 0, snapshot.epoch, planned, now)
        await telling.fate(tx, link, "confirmed", snapshot.block, "0x" + "ab" * 32)


async def _tables(store: Store) -> Mapping[str, int]:
    async with store.read() as tx:
        return {one.name: one.bytes for one in await table_sizes(tx.connection)}


async def _vacuumed(url: str) -> None:
    """Let Postgres fill again what deleted rows have left, as it does by itself within minutes of a round."""
    place = parse_url(url)
    if place.path is None:
        engine = make_engine(place, pooled=False)
        async with engine.connect() as connection:
            await (await connection.execution_options(isolation_level="AUTOCOMMIT")).execute(text("VACUUM"))
        await engine.dispose()


async def _documents(store: Store) -> bytes:
    """Return every document of every round, one after the other."""
    parts: list[bytes] = []
    async with store.read() as tx:
        for round_id in await tx.rounds.ids():
            parts += [await tx.rounds.document_bytes(round_id, which) or b"" for which in ("input", "outcome")]
            parts += [msgspec.json.encode(answer) for answer in (await tx.submissions.results(round_id)).passed]
            parts += [group.proof or b"" async for group in tx.records.groups(round_id)]
            receipt = await tx.receipts.of_round(round_id)
            parts += [] if receipt is None else [receipt.line]
    return b"".join(parts)


def _floor() -> zstandard.ZstdCompressionParameters:
    return zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
