"""Shapes of faults in code that were written after the reference miner's rules."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.later import code_access, code_relayed, code_secrets, code_sent, code_updates

LATER_CODE: Final[tuple[Shape, ...]] = (
    *code_sent.SHAPES,
    *code_relayed.SHAPES,
    *code_secrets.SHAPES,
    *code_access.SHAPES,
    *code_updates.SHAPES,
)
