"""Many rounds, in as many processes as asked for; the results come in the order of the rounds."""

import asyncio
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from sqlalchemy.exc import DBAPIError

from validator.audit.replay.report import RoundReplay
from validator.audit.replay.rounds import replay_round
from validator.store import Transaction, open_store
from validator.store.schema import unreachable
from validator.store.urls import parse_url

_BATCH: Final = 8  # rounds for which a store is opened once


async def round_ids(tx: Transaction, since: int = 0) -> tuple[int, ...]:
    """Return the ids of the stored rounds from `since` on, oldest first."""
    return await tx.rounds.ids(since)


def replay_rounds(url: str, ids: Sequence[int], jobs: int = 1) -> Iterator[RoundReplay]:
    """Yield the replay of each round in the order of `ids`; those that are not in the store are left out.

    Each round is read in one transaction of its own, so a validator may be running.

    Args:
        url: the store.
        ids: which rounds.
        jobs: processes; 1 does it in this one.

    Raises:
        StoreError: the store cannot be used.
    """
    batches = batches_of(ids)
    if jobs == 1:
        for batch in batches:
            yield from replay_batch(url, batch)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(batches) or 1), mp_context=context) as pool:
        running = [pool.submit(replay_batch, url, batch) for batch in batches]
        try:
            for future in running:
                yield from future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def batches_of(ids: Sequence[int]) -> list[Sequence[int]]:
    """Return the rounds in the parts that one process does at a time."""
    return [ids[i : i + _BATCH] for i in range(0, len(ids), _BATCH)]


def replay_batch(url: str, ids: Sequence[int]) -> list[RoundReplay]:
    """Return the replays of a few rounds."""
    try:
        return asyncio.run(_replay_batch(url, ids))
    except DBAPIError as error:
        raise unreachable(parse_url(url), error) from None


async def _replay_batch(url: str, ids: Sequence[int]) -> list[RoundReplay]:
    async with open_store(url) as store:
        found = []
        for round_id in ids:
            async with store.read() as tx:
                found.append(await replay_round(tx, round_id))
    return [replay for replay in found if replay is not None]
