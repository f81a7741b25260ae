"""The mechanism's state as a value: what decides the next round or vector, and nothing else (SPEC 8 to 11; 16, D-23).

A round is a step: a scoring version's `step(state, ended)` returns what an ended round changes, `apply` the next state.
Every frozen round is one, void and abandoned ones too. What a log does not show is unknown: a step carries that on.
Pure: no clock, no randomness, no I/O, no settings.
"""

from validator.state.ended import Change, Ended, UnknownFlagError, apply, begin, clouded, known_from, paid, unscored
from validator.state.inputs import frozen_miner, learned
from validator.state.values import (
    ENTRIES,
    FROZEN_ROUNDS,
    LATE_ROUNDS,
    RESULTS,
    ROLES,
    ROUNDS,
    SAMPLES,
    Declarations,
    DeferredAnswer,
    Delta,
    ExecutedTask,
    FrozenRound,
    Late,
    Mechanism,
    Miner,
    Pair,
    PairKey,
    Shared,
    State,
    Window,
    late_key,
)

__all__ = [
    "ENTRIES",
    "FROZEN_ROUNDS",
    "LATE_ROUNDS",
    "RESULTS",
    "ROLES",
    "ROUNDS",
    "SAMPLES",
    "Change",
    "Declarations",
    "DeferredAnswer",
    "Delta",
    "Ended",
    "ExecutedTask",
    "FrozenRound",
    "Late",
    "Mechanism",
    "Miner",
    "Pair",
    "PairKey",
    "Shared",
    "State",
    "UnknownFlagError",
    "Window",
    "apply",
    "begin",
    "clouded",
    "frozen_miner",
    "known_from",
    "late_key",
    "learned",
    "paid",
    "unscored",
]
