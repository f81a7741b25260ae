import re

import pytest
from doc_pages import DOCS, table
from real_skills.shape_files import is_code, later_shapes

from validator.planting.planting import Shape
from validator.planting.shapes import builtin_shapes


@pytest.mark.parametrize(
    ("title", "shapes"),
    [
        ("shapes in texts", tuple(shape for shape in builtin_shapes() if not is_code(shape))),
        ("later shapes in texts", tuple(shape for shape in later_shapes() if not is_code(shape))),
        ("later shapes in code", tuple(filter(is_code, later_shapes()))),
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
