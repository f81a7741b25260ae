"""Shapes that were written after the rules of the reference miner were frozen, by somebody who had not read them."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.later.code import LATER_CODE
from validator.planting.shapes.later.texts_automation import AUTOMATION
from validator.planting.shapes.later.texts_disguised import DISGUISED
from validator.planting.shapes.later.texts_flows import FLOWS
from validator.planting.shapes.later.texts_logins import LOGINS
from validator.planting.shapes.later.texts_pins import LATER_PINS
from validator.planting.shapes.later.texts_rhetoric import RHETORIC
from validator.planting.shapes.later.texts_tools import TOOLS

LATER_TEXTS: Final[tuple[Shape, ...]] = (
    *RHETORIC,
    *DISGUISED,
    *TOOLS,
    *LOGINS,
    *AUTOMATION,
    *LATER_PINS,
    *FLOWS,
)
LATER_SHAPES: Final[tuple[Shape, ...]] = (*LATER_TEXTS, *LATER_CODE)
