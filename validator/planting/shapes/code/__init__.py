"""Shapes of faults in code: Python, JavaScript, TypeScript and shell scripts."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code import environment, execution, secrets

CODE_SHAPES: Final[tuple[Shape, ...]] = (*environment.SHAPES, *secrets.SHAPES, *execution.SHAPES)
