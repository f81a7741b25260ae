"""Turns among keys: round robin, and nothing lost when somebody gives up waiting."""

import asyncio

import pytest

from validator.workers.pool import Turns


async def test_keys_are_served_one_after_the_other() -> None:
    turns, served = Turns(1), []

    async def take(key: str) -> None:
        async with turns.turn(key):
            served.append(key)
            await asyncio.sleep(0)

    async with turns.turn("holder"):
        waiting = [asyncio.create_task(take(key)) for key in "aaaabbc"]
        await asyncio.sleep(0)
        assert served == []
    await asyncio.gather(*waiting)
    assert "".join(served) == "abcabaa"


async def test_no_more_than_so_many_turns_at_a_time() -> None:
    turns, now, most = Turns(3), 0, 0

    async def take(key: int) -> None:
        nonlocal now, most
        async with turns.turn(str(key % 4)):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    await asyncio.gather(*(take(key) for key in range(40)))
    assert (now, most) == (0, 3)


@pytest.mark.parametrize("at_its_turn", [False, True])
async def test_who_gives_up_waiting_leaves_its_turn_to_the_next(at_its_turn: bool) -> None:
    turns = Turns(1)
    taken: list[str] = []

    async def take(key: str) -> None:
        async with turns.turn(key):
            taken.append(key)

    holding = turns.turn("holder")
    await holding.__aenter__()
    first, second = asyncio.create_task(take("a")), asyncio.create_task(take("b"))
    await asyncio.sleep(0)
    if at_its_turn:
        await holding.__aexit__(None, None, None)
    first.cancel()
    if not at_its_turn:
        await asyncio.gather(first, return_exceptions=True)
        await holding.__aexit__(None, None, None)
    await second
    assert taken == ["b"]
