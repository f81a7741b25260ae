"""What an earlier program left behind is computed again as it was: a released version never changes."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from old_store import ROUNDS, VERSIONS, explained, recorded, unpacked
from replays import replayed

from validator.audit.log import verify_file
from validator.scoring import VERSIONS as RELEASED
from validator.store import Store, open_store, upgrade
from validator.store.belonging import adopt_chain
from validator.store.copying import copy_store


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


@pytest.fixture(scope="module")
def upgraded(version: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = unpacked("store.sqlite", tmp_path_factory.mktemp("old"), version)
    assert asyncio.run(upgrade(f"sqlite:///{file}")) == "behind"
    return file


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, upgraded: Path, tmp_path: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{shutil.copy(upgraded, tmp_path / 'old.sqlite')}"
    if request.param == "postgres":
        source, url = url, request.getfixturevalue("empty_postgres_url")
        await copy_store(source, url, lambda _name, _rows: None)
    async with open_store(url) as store:
        yield store


def test_there_is_a_store_of_every_released_version() -> None:
    assert tuple(RELEASED) == VERSIONS


async def test_an_old_store_is_computed_again_byte_for_byte(old: Store, version: str) -> None:
    for line in map(json.loads, recorded("replay.jsonl", version)):
        replay = await replayed(old, line["round_id"])
        assert (replay.verdict, replay.scoring_version) == ("equal", version)
        assert replay.bodies.judged == line["bodies"]["judged"]
        del line["digests"]["rows"]  # tables may grow
        assert {name: replay.digests[name] for name in line["digests"]} == line["digests"]


async def test_everybody_of_an_old_store_is_explained_with_the_same_numbers(old: Store, version: str) -> None:
    assert [await explained(old, round_id) for round_id in range(ROUNDS)] == recorded("explained.txt", version)


async def test_an_old_store_adopts_the_chain_that_it_is_opened_with(old: Store) -> None:
    async with old.begin() as tx:
        assert await tx.chain.get() is None
        assert await adopt_chain(tx, "aa" * 32, 1, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(("version", "counts"), [("1.0.0", (42, 194, 42)), ("1.1.0", (42, 196, 42))])
def test_an_old_audit_file_verifies(tmp_path: Path, version: str, counts: tuple[int, int, int]) -> None:
    report = verify_file(unpacked("audit.jsonl", tmp_path, version))
    assert (report.tasks, report.answers, report.proofs) == counts
