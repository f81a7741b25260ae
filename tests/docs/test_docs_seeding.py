"""docs/seeding.md names every shape of fault."""

from doc_pages import DOCS, table

from taskmaker.planting.shapes import builtin_shapes

LEVELS = ("easy", "medium", "hard")


def test_the_table_has_every_shape_by_family_and_difficulty() -> None:
    families = dict.fromkeys(shape.family for shape in builtin_shapes())
    names = {
        (family, level): ", ".join(
            sorted(f"`{one.name}`" for one in builtin_shapes() if one.family == family and one.difficulty == level)
        )
        for family in families
        for level in LEVELS
    }
    want = [{"family": family, **{level: names[family, level] for level in LEVELS}} for family in sorted(families)]
    lines = "\n".join(f"| {' | '.join(row.values())} |" for row in want)
    assert table(DOCS / "seeding.md", "shapes") == want, f"the rows should be:\n{lines}"
