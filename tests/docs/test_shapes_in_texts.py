import re

from doc_pages import DOCS, table

from validator.planting.shapes.text import TEXT_SHAPES


def test_the_page_names_every_shape_in_texts_by_family_and_difficulty() -> None:
    written = {
        (row["family"], level, name)
        for row in table(DOCS / "seeding.md", "shapes in texts")
        for level in ("easy", "medium", "hard")
        for name in re.findall(r"`([^`]+)`", row[level])
    }
    assert written == {(shape.family, shape.difficulty, shape.name) for shape in TEXT_SHAPES}
