"""All checks, in the order in which they are told."""

from collections.abc import Sequence
from typing import Final

from validator.health.doctor import (
    bases,
    clock,
    database,
    endpoints,
    engine,
    history,
    machine,
    miners,
    process,
    settings,
    subnet,
    tasks,
    wallet,
    weights,
)
from validator.health.doctor.finding import Check

CHECKS: Final[Sequence[Check]] = (
    settings.CHECK,
    wallet.CHECK,
    endpoints.CHECK,
    subnet.CHECK,
    clock.CHECK,
    database.CHECK,
    history.CHECK,
    weights.CHECK,
    tasks.CHECK,
    bases.CHECK,
    miners.CHECK,
    engine.CHECK,
    process.CHECK,
    machine.CHECK,
)
