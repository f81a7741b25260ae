"""The mechanism's state as a value: what decides the next round or vector, and nothing else (SPEC 8 to 11; 16, D-23).

A round is a step: a scoring version's `step(state, ended)` returns what an ended round changes, `apply` the next state.
Every frozen round is one, void and abandoned ones too. What a log does not show is unknown: a step carries that on.
Pure: no clock, no randomness, no I/O, no settings.
"""

from validator.state.ended import Change, Ended, UnknownFlagError, apply, clouded, known_from, paid
from validator.state.inputs import frozen_miner, learned
from validator.state.late import DeferredAnswer, ExecutedTask, Late, late_key
from validator.state.values import (
    ENTRIES,
    RESULTS,
    ROLES,
    ROUNDS,
    SAMPLES,
    Delta,
    FrozenRound,
    Miner,
    Pair,
    PairKey,
    Shared,
    State,
    Window,
)

__all__ = [
    "ENTRIES",
    "RESULTS",
    "ROLES",
    "ROUNDS",
    "SAMPLES",
    "Change",
    "DeferredAnswer",
    "Delta",
    "Ended",
    "ExecutedTask",
    "FrozenRound",
    "Late",
    "Miner",
    "Pair",
    "PairKey",
    "Shared",
    "State",
    "UnknownFlagError",
    "Window",
    "apply",
    "clouded",
    "frozen_miner",
    "known_from",
    "late_key",
    "learned",
    "paid",
]
