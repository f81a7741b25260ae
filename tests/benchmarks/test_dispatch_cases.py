"""The calls and dispatches that `make bench ONLY=dispatch` measures are whole: signed, answered, stored."""

from functools import partial

import pytest
from samples.calls import bare, ours
from samples.dispatched_rounds import dispatched
from samples.lag import lags, p99

MANY = 5


@pytest.mark.parametrize("what", ["ours", "bare", "dispatched"])
async def test_a_turn_ends_only_when_every_call_was_answered(what: str, sqlite_url: str) -> None:
    plays = {
        "ours": partial(ours, MANY),
        "bare": partial(bare, MANY),
        "dispatched": partial(dispatched, MANY, sqlite_url),
    }
    turn = await plays[what]()
    assert turn.rate > 0
    assert turn.cpu_us > 0


async def test_lag_is_what_a_timer_came_late() -> None:
    async with lags() as found:
        pass
    assert p99([*found, 0.5]) == 0.5
    assert p99([float(number) for number in range(100)]) == 98
