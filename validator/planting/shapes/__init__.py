"""All shapes of faults."""

from typing import Final

from validator.planting.shape import Shape

SHAPES: Final[tuple[Shape, ...]] = ()
