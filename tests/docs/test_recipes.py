"""The table of recipes: complete, short, and each row followed somewhere."""

import re

from doc_pages import ARCHITECTURE, ROOT, table
from recipe_kit import files_of


def test_there_is_a_recipe_for_everything_that_is_often_added_and_each_touches_under_six_files() -> None:
    rows = table(ARCHITECTURE, "recipes")
    assert [row["to add"] for row in rows] == [
        "a gate",
        "a reason",
        "a metric",
        "a condition",
        "a setting",
        "a task source",
        "a column",
        "a skill type",
        "a scoring version",
        "a kind of task",
    ]
    assert all(0 < len(files_of(row["to add"])) < 6 for row in rows)


def test_each_recipe_is_followed_by_the_test_that_its_row_names() -> None:
    for row in table(ARCHITECTURE, "recipes"):
        found = re.findall(r"`(tests/[\w/]+\.py)`", row["followed by"])
        assert found, row
        text = "".join((ROOT / name).read_text() for name in found)
        assert f'tree.holds("{row["to add"]}")' in text, row


def test_files_that_a_recipe_changes_are_there_and_new_ones_are_not() -> None:
    for row in table(ARCHITECTURE, "recipes"):
        for name in files_of(row["to add"]):
            assert "<" in name or (ROOT / name).is_file(), name
