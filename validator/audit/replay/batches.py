"""Replay of many rounds by several processes on one machine, which only read the store; results come in round order."""

import asyncio
import gc
import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Self

from sqlalchemy.exc import DBAPIError

from validator.audit.replay.inputs import Past
from validator.audit.replay.round_replay import RoundReplay, replay_round
from validator.store import Store, open_store
from validator.store.schema import unreachable
from validator.store.urls import parse_url

_BATCH: Final = 8  # rounds whose results wait for each other
_OBJECTS: Final = 20_000  # new ones that the collector lets wait: some megabytes
_AHEAD: Final = 4  # batches of each process that wait for it, or for the reader


def replay_rounds(url: str, ids: Sequence[int], jobs: int = 1) -> Iterator[RoundReplay]:
    """Yield the replay of each round in the order of `ids`; those that are not in the store are left out.

    A few rounds are read in one transaction, so a validator may be running. `jobs` processes do it, 1: this one.

    Raises:
        StoreError: the store cannot be used.
    """
    batches = batches_of(ids)
    if jobs == 1:
        with Replayer(url) as replayer:
            for batch in batches:
                yield from replayer.replays(batch)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # imported once: it takes as long as ten rounds
    with ProcessPoolExecutor(min(jobs, len(batches) or 1), context, _open_here, (url,)) as pool:
        running: deque[Future[list[RoundReplay]]] = deque()
        try:
            for batch in batches:
                running.append(pool.submit(_replay_here, batch))
                if len(running) > _AHEAD * jobs:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def batches_of(ids: Sequence[int]) -> list[Sequence[int]]:
    """Return the rounds in the parts that one process does at a time."""
    return [ids[i : i + _BATCH] for i in range(0, len(ids), _BATCH)]


def replay_batch(url: str, ids: Sequence[int]) -> list[RoundReplay]:
    """Return the replays of a few rounds."""
    with Replayer(url) as replayer:
        return replayer.replays(ids)


@dataclass(slots=True)
class Replayer:
    """A store that stays open from batch to batch: opening it and preparing the statements takes as long as a round.

    Of rounds that come one after the other, each input is compared with what the rounds before it left.
    """

    url: str
    _runner: asyncio.Runner = field(init=False, default_factory=asyncio.Runner)
    _store: Store | None = field(init=False, default=None)
    _past: Past = field(init=False, default_factory=Past)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._runner as runner:
            if self._store is not None:
                runner.run(self._store.close())

    def replays(self, ids: Sequence[int]) -> list[RoundReplay]:
        """Return the replays of rounds; those that are not in the store are left out (StoreError)."""
        try:
            with _few_searches():
                return self._runner.run(self._replays(ids))
        except DBAPIError as error:
            raise unreachable(parse_url(self.url), error) from None

    async def _replays(self, ids: Sequence[int]) -> list[RoundReplay]:
        if self._store is None:
            self._store = await open_store(self.url)
        async with self._store.read() as tx:
            found = [await replay_round(tx, round_id, self._past) for round_id in ids]
        return [replay for replay in found if replay is not None]


@contextmanager
def _few_searches() -> Iterator[None]:
    """Look for garbage once in many rounds: what a round makes goes by itself, and a look at it costs a thirtieth."""
    before = gc.get_threshold()
    gc.set_threshold(max(_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_here: list[Replayer] = []  # of a process of the pool, which ends with it


def _open_here(url: str) -> None:
    _here.append(Replayer(url))


def _replay_here(ids: Sequence[int]) -> list[RoundReplay]:
    return _here[0].replays(ids)
