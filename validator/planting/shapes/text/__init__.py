"""Faults in texts and manifests: what is read, not run."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.text.injections import INJECTIONS

TEXT_SHAPES: Final[tuple[Shape, ...]] = INJECTIONS
