"""A store in which the windows of many miners are full, and the metagraph that they are registered in."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from random_rounds import crowded

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, RoundInput, RoundPlan
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, version
from sssa.state.mechanism_state import Window
from sssa.state.round_end import Change, Ended, step_unscored
from validator.store import open_store

_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_VERSION: Final = version(CURRENT)
TYPES: Final = tuple(map(str, _VERSION.rules.types))
WINDOW: Final = _VERSION.rules.pay.window


def fill(path: Path, miners: int) -> tuple[str, MetagraphSnapshot]:
    """Make such a store where there is none; return its url and the metagraph.

    It has one round without tasks, in which everybody declared every type.
    """
    url = f"sqlite:///{path}"
    crowd, _, _ = crowded(miners, _VERSION, new=False)
    frozen = msgspec.structs.replace(crowd, tasks=())
    asyncio.run(_one_round(url, frozen))
    return url, frozen.snapshot


async def _one_round(url: str, frozen: RoundInput) -> None:
    async with open_store(url, create=True) as store, store.begin() as tx:
        await tx.miners.seen(frozen.snapshot)
        await tx.rounds.open(frozen, RoundPlan(frozen.round_id, ()), _BEGAN)
        await tx.rounds.settle(frozen.index, "void", Reason.VOID_OFFLINE, None, _BEGAN)
        await tx.state.step(Ended(frozen, RoundPlan(frozen.round_id, ()), "void"), step_unscored, _BEGAN)
        state = await tx.state.whole()
        change = Change(state)
        for neuron in frozen.snapshot.neurons:
            for kind in TYPES:
                window = Window()
                for number in range(WINDOW):
                    window = window.entered(frozen.index, str(number), number * 7 % 10 / 10)
                change.update((neuron.hotkey, SkillType(kind)), window=window)
        await tx.state.write(state.shared, change.delta())
