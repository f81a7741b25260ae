import re

import pytest
from doc_pages import DOCS, table

from validator.planting.shape import Shape
from validator.planting.shapes.later import LATER_TEXTS
from validator.planting.shapes.later.code import LATER_CODE
from validator.planting.shapes.text import TEXT_SHAPES


@pytest.mark.parametrize(
    ("title", "shapes"),
    [
        ("shapes in texts", TEXT_SHAPES),
        ("later shapes in texts", LATER_TEXTS),
        ("later shapes in code", LATER_CODE),
    ],
)
def test_the_page_names_every_shape_by_family_and_difficulty(title: str, shapes: tuple[Shape, ...]) -> None:
    written = {
        (row["family"], level, name)
        for row in table(DOCS / "seeding.md", title)
        for level in ("easy", "medium", "hard")
        for name in re.findall(r"`([^`]+)`", row[level])
    }
    assert written == {(shape.family, shape.difficulty, shape.name) for shape in shapes}
