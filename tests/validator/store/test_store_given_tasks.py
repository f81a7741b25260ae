"""Counts of dispatched tasks (SPEC 16, D-29)."""

import random

import pytest

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from validator.store import Store
from validator.tasks.source import least_given

MCP, RAG = SkillType.MCP_SERVER, SkillType.RAG_KNOWLEDGE
A, B, C = (sha256_hex(letter) for letter in (b"a", b"b", b"c"))
SALT = bytes(32)


async def give(store: Store, round_id: int, *sources: str, skill_type: SkillType = MCP) -> None:
    async with store.begin() as tx:
        await tx.given_tasks.give(round_id, {skill_type: sources})


async def counts(store: Store, *sources: str, skill_type: SkillType = MCP) -> dict[str, int]:
    async with store.read() as tx:
        return await tx.given_tasks.counts(skill_type, sources)


async def test_each_task_of_a_type_has_a_count_of_its_own(store: Store) -> None:
    assert await counts(store, A, B) == {}
    await give(store, 0, A, B)
    await give(store, 0, A, skill_type=RAG)
    await give(store, 1, A)
    assert await counts(store, A, B, C) == {A: 2, B: 1}
    assert await counts(store, A, B, C, skill_type=RAG) == {A: 1}
    assert await counts(store, B) == {B: 1}
    await give(store, 2)
    assert await counts(store, A, B) == {A: 2, B: 1}


async def test_what_was_given_less_often_catches_up_at_once(store: Store) -> None:
    for round_id in range(5):
        await give(store, round_id, A)
    await give(store, 5, B)
    assert await counts(store, A, B) == {A: 5, B: 5}
    await give(store, 6, A, C)
    assert await counts(store, A, B, C) == {A: 6, B: 5, C: 5}


async def test_what_was_given_last_is_told_first(store: Store) -> None:
    await give(store, 0, A, B)
    await give(store, 1, C, skill_type=RAG)
    await give(store, 2, C)
    await give(store, 3, B)
    async with store.read() as tx:
        assert await tx.given_tasks.recent(MCP, 9) == [B, C, A]
        assert await tx.given_tasks.recent(MCP, 2) == [B, C]
        assert await tx.given_tasks.recent(RAG, 2) == [C]


async def test_thousands_of_tasks_are_asked_for_at_once(store: Store) -> None:
    many = [sha256_hex(b"%d" % number) for number in range(10_001)]
    await give(store, 0, *many)
    assert await counts(store, *many, A) == dict.fromkeys(many, 1)


@pytest.mark.parametrize("seed", range(3))
async def test_a_folder_goes_round_whatever_comes_and_goes(store: Store, seed: int) -> None:
    """Founders are there all the time; others come, go and come back."""
    draws = random.Random(seed)
    founders = [sha256_hex(b"founder %d" % number) for number in range(5)]
    given = dict.fromkeys(founders, 0)
    since: dict[str, int] = {}  # of those that came later: how often they were given since they came
    least: dict[str, int] = {}  # and the founders' least at that time
    away: list[str] = []
    for round_id in range(120):
        if draws.random() < 0.15:
            sha256 = away.pop() if away and draws.random() < 0.5 else sha256_hex(b"late %d" % round_id)
            since[sha256], least[sha256] = 0, min(given.values())
        if since and draws.random() < 0.1:
            away.append(draws.choice(sorted(since)))
            del since[away[-1]]
        folder = [*founders, *since]
        known = await counts(store, *folder)
        chosen = least_given(known, SALT, round_id // 10, folder)[: draws.randint(1, 4)]
        never = [sha256 for sha256 in folder if sha256 not in known]
        assert set(chosen[: len(never)]) <= set(never) or set(never) <= set(chosen)  # the new ones first
        await give(store, round_id, *chosen)
        for sha256 in chosen:
            if sha256 in since:
                since[sha256] += 1
                assert since[sha256] <= min(given.values()) - least[sha256] + 3  # and they starve nobody
            else:
                given[sha256] += 1
        assert max(given.values()) - min(given.values()) <= 1  # each before any once more
    assert min(given.values()) > 8
