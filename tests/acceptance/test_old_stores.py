"""What an earlier program left behind is computed again as it was: a released version never changes."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from old_store import ROUNDS, explained, recorded, unpacked
from replays import replayed

from validator.audit.log import verify_file
from validator.store import Store, open_store, upgrade
from validator.store.copying import copy_store


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{unpacked('store.sqlite', tmp_path)}"
    await upgrade(url)
    if request.param == "postgres":
        source, url = url, request.getfixturevalue("empty_postgres_url")
        await copy_store(source, url, lambda _name, _rows: None)
    async with open_store(url) as store:
        yield store


async def test_an_old_store_is_computed_again_byte_for_byte(old: Store) -> None:
    for line in map(json.loads, recorded("replay.jsonl")):
        replay = await replayed(old, line["round_id"])
        assert (replay.verdict, replay.bodies.judged) == ("equal", line["bodies"]["judged"])
        del line["digests"]["rows"]  # tables may grow
        assert {name: replay.digests[name] for name in line["digests"]} == line["digests"]


async def test_everybody_of_an_old_store_is_explained_with_the_same_numbers(old: Store) -> None:
    assert [await explained(old, round_id) for round_id in range(ROUNDS)] == recorded("explained.txt")


def test_an_old_audit_file_verifies(tmp_path: Path) -> None:
    report = verify_file(unpacked("audit.jsonl", tmp_path))
    assert (report.tasks, report.answers, report.proofs) == (42, 194, 42)
