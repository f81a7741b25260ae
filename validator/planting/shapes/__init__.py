"""All shapes of faults."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code import CODE_SHAPES
from validator.planting.shapes.later import LATER_SHAPES
from validator.planting.shapes.text import TEXT_SHAPES

SHAPES: Final[tuple[Shape, ...]] = (*TEXT_SHAPES, *CODE_SHAPES, *LATER_SHAPES)
