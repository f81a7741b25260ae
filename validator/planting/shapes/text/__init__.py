"""Faults in texts and manifests: what is read, not run."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.text.capabilities import CAPABILITIES
from validator.planting.shapes.text.compositions import COMPOSITIONS
from validator.planting.shapes.text.hidden import HIDDEN
from validator.planting.shapes.text.injections import INJECTIONS
from validator.planting.shapes.text.leaks import LEAKS
from validator.planting.shapes.text.pins import PINS
from validator.planting.shapes.text.poisoned import POISONED
from validator.planting.shapes.text.records import RECORDS

TEXT_SHAPES: Final[tuple[Shape, ...]] = (
    *INJECTIONS,
    *HIDDEN,
    *RECORDS,
    *POISONED,
    *LEAKS,
    *CAPABILITIES,
    *PINS,
    *COMPOSITIONS,
)
