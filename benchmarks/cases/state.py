"""Benchmark of the mechanism's state: inputs frozen from it, a round as a step of it, its memory."""

import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Final

from group_rounds import Settled, worked_example
from harness import Case, microseconds
from msgspec import structs

from sssa.protocol.round import AgreementPair, MinerState
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, version
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import ENTRIES, RESULTS, ROLES, ROUNDS, SAMPLES, Miner, Pair, Shared, State, Window
from sssa.state.round_end import Ended, apply

_HERE: Final = 256
_DEPARTED: Final = 20_000
_ROUND: Final = 1_000
_TYPES: Final = tuple(SkillType)
_VERSION: Final = version(CURRENT)


def cases() -> Iterator[Case]:
    """Yield the time of freezing and of a step, and the memory of a state."""
    hotkeys = [f"{number:048d}" for number in range(_HERE)]
    state = _state(hotkeys)
    example = worked_example()
    for name, of in (("registered miners alone", state), ("20,000 departed ones with it", _with_departed(state))):
        yield Case(
            f"256 miners of 7 types frozen, and the round as a step; {name}",
            "ms",
            partial(_milliseconds, of, hotkeys, example),
            demand="≤ 50",
        )
    yield Case("a state of 256 miners of 7 types, everything full", "MiB", partial(_mebibytes, hotkeys), demand="≤ 50")


def _milliseconds(state: State, hotkeys: list[str], example: Settled) -> float:
    return microseconds(partial(_freeze_and_step, state, hotkeys, example), clock=time.process_time)() / 1_000


def _freeze_and_step(state: State, hotkeys: list[str], example: Settled) -> State:
    frozen = structs.replace(
        example.frozen, round_id=str(_ROUND), miners=tuple(_frozen(state, hotkey) for hotkey in hotkeys)
    )
    return apply(state, _VERSION.step(state, Ended(frozen, example.plan, "settled", example.outcome)))


def _frozen(state: State, hotkey: str) -> MinerState:
    rules = _VERSION.rules
    return freeze_miner(
        state,
        hotkey,
        _ROUND,
        history_rounds=rules.groups.history_rounds,
        samples=rules.collusion.window,
        skill_types=_TYPES,
        max_concurrent=1,
    )


def _mebibytes(hotkeys: list[str]) -> float:
    tracemalloc.start()
    state = _state(hotkeys)
    size = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    return size if state.miners else 0.0


def _state(hotkeys: list[str]) -> State:
    return State({hotkey: Miner({name: _pair() for name in _TYPES}) for hotkey in hotkeys}, Shared(since=0))


def _with_departed(state: State) -> State:
    one = Miner({SkillType.MCP_SERVER: _pair()})
    departed = {f"departed {number:039d}": structs.replace(one, earlier=number) for number in range(_DEPARTED)}
    return State({**departed, **state.miners}, state.shared)


def _pair() -> Pair:
    window = Window()
    for number in range(ENTRIES):
        window = window.entered(number, "task", number / ENTRIES)
    return Pair(
        reputation=0.5,
        agreements=tuple(AgreementPair(number / SAMPLES, 0.5, 0.5, 0.5) for number in range(SAMPLES)),
        roles="pa" * (ROLES // 2),
        counts=tuple((number, 1, 0) for number in range(_ROUND - ROUNDS, _ROUND)),
        window=window,
        results=((_ROUND - 1, False),) * RESULTS,
    )
