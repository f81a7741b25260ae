"""Smoke runs of `make bench` over stores: each case once, at a small size."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cases.history import seconds_of_reading
from cases.settle import settled_ms
from samples.aged_store import age
from samples.full_windows import fill
from samples.played_rounds import play
from samples.processes import cpu_s
from world import miner_signer

from validator.audit.explain.miner import explain_miner
from validator.audit.explain.round_explanation import explain_round
from validator.audit.replay import replay_round
from validator.store import open_store

MINERS = [miner_signer(number).hotkey for number in range(6)]
AGED = 3


@pytest.fixture(scope="module")
def played_on(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a round that was played on top of others of the same miners."""
    url = age(tmp_path_factory.mktemp("aged") / "store.sqlite", AGED, MINERS)
    asyncio.run(play(url, 1, each=1))
    return url


def test_the_round_on_top_of_others_is_explained_and_replayed(played_on: str) -> None:
    async def query() -> None:
        async with open_store(played_on) as store, store.read() as tx:
            found = await explain_round(tx, AGED, MINERS[0])
            assert any(entry.position > 1 for window in found.windows for entry in window.entries)
            last = await explain_miner(tx, MINERS[0], 9, datetime(2026, 1, 2, tzinfo=UTC))
            assert last.rounds[0] == AGED
            assert len(last.rounds) > 1

            replayed = await replay_round(tx, AGED)
            assert replayed is not None
            assert replayed.verdict == "equal"

    asyncio.run(query())
    assert asyncio.run(seconds_of_reading(played_on, AGED)) > 0


def test_an_epoch_ends_again_and_again_with_every_window_full(tmp_path: Path) -> None:
    url, snapshot = fill(tmp_path / "store.sqlite", 5)
    assert settled_ms(url, snapshot) > 0
    assert settled_ms(url, snapshot) > 0


def test_the_clock_of_processes_runs_on_with_work() -> None:
    before = cpu_s()
    while cpu_s() <= before:
        sum(range(10_000))
