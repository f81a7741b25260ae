"""What an earlier program left behind is computed again as it was: a released version never changes."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from old_store import ROUNDS, explained, recorded, unpacked
from replays import replayed

from validator.audit.log import verify_file
from validator.store import Store, open_store
from validator.store.copying import copy_store


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{unpacked('store.sqlite', tmp_path)}"
    if request.param == "postgres":
        source, url = url, request.getfixturevalue("postgres_url")
        await copy_store(source, url, lambda _name, _rows: None)
    async with open_store(url, create=True) as store:
        yield store


async def test_an_old_store_is_computed_again_byte_for_byte(old: Store) -> None:
    replays = [await replayed(old, round_id) for round_id in range(ROUNDS)]
    assert [replay.verdict for replay in replays] == ["equal"] * ROUNDS
    assert [json.loads(msgspec.json.encode(replay)) for replay in replays] == [
        json.loads(line) for line in recorded("replay.jsonl")
    ]


async def test_everybody_of_an_old_store_is_explained_in_the_same_words(old: Store) -> None:
    assert [await explained(old, round_id) for round_id in range(ROUNDS)] == recorded("explained.txt")


def test_an_old_audit_file_verifies(tmp_path: Path) -> None:
    report = verify_file(unpacked("audit.jsonl", tmp_path))
    assert (report.tasks, report.answers, report.proofs) == (42, 194, 42)
