"""Shapes of faults used only to measure: written after the miner's rules, by somebody who had not read them."""

from functools import cache
from pathlib import Path
from typing import Final

from taskmaker.planting.planting import Shape
from taskmaker.planting.shapes import builtin_lists, read_shapes, read_words
from taskmaker.planting.templates import LANGUAGES, read_template

FOLDER: Final = Path(__file__).with_name("shapes")
_BUILT_IN: Final = Path(__file__).parents[2] / "taskmaker" / "planting" / "data" / "shapes"


@cache
def later_shapes() -> tuple[Shape, ...]:
    """Return the shapes of `shapes/`."""
    return read_shapes(FOLDER, {**builtin_lists(), **read_words(FOLDER)}, check=True)


def is_code(shape: Shape) -> bool:
    """Return whether a shape, built-in or later, is planted in code alone."""
    paths = (folder / shape.family / f"{shape.name}.shape" for folder in (_BUILT_IN, FOLDER))
    template = read_template(next(path for path in paths if path.exists()))
    return {form.place for form in template.forms} <= set(LANGUAGES)
