"""Retention and remaining room of a store, with and without archiving."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from old_rounds import ARCHIVED as ROUNDS_ARCHIVED
from old_rounds import archived, opened, put

from validator.store.forecast import Files, Growth, Pace, TableSize, files_of, growth, table_sizes

PACE = Pace(200, 20.0, 10.0)  # ten a day
KEPT = {"answers": 30, "bundles": 5}
TABLES = [
    TableSize("answers", 1, 200_000),
    TableSize("bundles", 1, 50_000),
    TableSize("records", 1, 200_000),
    TableSize("receipts", 1, 20_000),
]


NO_FILES = Files(0, 0, 200.0)


def grown(pace: Pace = PACE, files: Files = NO_FILES) -> Growth:
    return growth(pace, TABLES, KEPT, 90, files)


def test_rounds_that_were_archived_too_late_grow_to_what_is_kept_of_them() -> None:
    found = grown(Pace(2_000, 200.0, 10.0), Files(1_800, 0, 200.0))
    (of_rounds,) = [one for one in found.kinds if one.kind == "rounds"]
    assert (of_rounds.per_round, of_rounds.archived_in_a_year) == (1_000.0, 900_000.0)


def test_each_kind_is_as_large_as_what_is_kept_of_it() -> None:
    found = {one.kind: (one.bytes, one.per_round, one.in_a_year, one.archived_in_a_year) for one in grown().kinds}
    assert found == {
        "raw answers": (200_000, 1_000.0, 300_000.0, 300_000.0),  # 30 days at ten rounds
        "bundles": (50_000, 1_000.0, 50_000.0, 50_000.0),  # older than their five days already
        "rounds": (200_000, 1_000.0, 3_850_000.0, 900_000.0),  # 385 days, or 90
        "what stays": (20_000, 100.0, 385_000.0, 385_000.0),
    }
    assert grown().in_a_year == 300_000 + 50_000 + 3_850_000 + 385_000
    assert grown().files_after(365) == (385 - 90) * 10 * 200.0
    assert grown().files_after(10) == 0


def test_rounds_that_are_in_files_are_not_counted_as_if_they_were_in_the_store() -> None:
    found = grown(files=Files(100, 20_000, 200.0))
    rounds = next(one for one in found.kinds if one.kind == "rounds")
    assert rounds.per_round == 2_000.0
    assert found.files_after(365) == 20_000 + ((385 - 90) * 10 - 100) * 200.0


@pytest.mark.parametrize(
    ("free", "archived", "files_too", "days"),
    [
        (0, False, False, 1),
        (100_000, False, False, 5),  # 10,000 of rounds and of answers, and 1,000 more a day
        (1_000_000, False, False, 82),  # of answers no more than 100,000 come
        (1_000_000, True, False, 201),  # of rounds no more than 700,000
        (1_000_000, True, True, 114),  # and 2,000 of files a day, from day 70 on
        (10**12, True, True, None),
    ],
)
def test_the_disk_is_full_on_the_first_day_that_asks_for_more(
    free: int, archived: bool, files_too: bool, days: int | None
) -> None:
    assert grown().full_after(free, archived=archived, files_too=files_too) == days


def test_without_a_pace_nothing_is_said() -> None:
    found = grown(Pace(2, 0.0, None))
    assert found.full_after(0, archived=False, files_too=False) is None
    assert {one.in_a_year for one in found.kinds} == {None}
    assert found.files_after(365) is found.in_a_year is None
    assert replace(found, files=Files(0, 0, None)).files_after(365) is None


def test_a_round_in_a_file_takes_about_what_was_said_before(played: Path, tmp_path: Path) -> None:
    async def said(url: str) -> tuple[Files, dict[str, int]]:
        async with opened(url) as store, store.read() as tx:
            return await files_of(tx.connection), {one.name: one.bytes for one in await table_sizes(tx.connection)}

    url = put(played, f"sqlite:///{tmp_path}/store.sqlite")
    before, size = asyncio.run(said(url))
    assert (before.rounds, before.bytes) == (0, 0)
    assert before.per_round is not None
    asyncio.run(archived(url, tmp_path))
    after, still = asyncio.run(said(url))
    assert after.rounds == ROUNDS_ARCHIVED
    assert after.bytes == sum(file.stat().st_size for file in tmp_path.glob("*.archive"))
    assert after.per_round is not None
    assert 0.5 < after.per_round / before.per_round < 3
    assert size["dispatches"] == still["dispatches"]
