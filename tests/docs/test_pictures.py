"""The pictures of the README show what the commands print today; their figures are those of one run."""

import re
from pathlib import Path

import pytest
from pictures import FOLDER, PARTS, picture, shown

from sssa.cli.rendering import table_lines
from validator.cli.status import _LABEL, _RESULTS

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "explain"


def lines(command: str) -> list[str]:
    return shown((FOLDER / f"{command}.svg").read_text(encoding="utf-8"))


def test_what_a_picture_shows_is_what_was_drawn() -> None:
    page = ["\x1b[1mround\x1b[0m  state", "", "    0  settled ✓", " …"]
    assert shown(picture(page, "x")) == ["round  state", "", "    0  settled ✓", " …"]


def test_the_picture_of_status_has_the_parts_of_the_page() -> None:
    page = lines("status")
    source = (ROOT / "validator" / "cli" / "status.py").read_text()
    labels = re.findall(r'_line\("(\w+)"', source)
    drawn = [line[:_LABEL].strip() for line in page if line[:_LABEL].strip() in labels]
    assert len(drawn) >= 9
    assert set(labels) - set(drawn) <= {"store", "chain", "endpoint", "locked", "wallet"}, "run regenerate_pictures.py"
    head = table_lines(_RESULTS, [("",) * len(_RESULTS.split())], styled=False)[0].split()
    assert head in [line.split() for line in page]
    assert page[0].startswith("A validator runs: ok")


def test_the_picture_of_explain_has_the_parts_of_the_page() -> None:
    page = "\n".join(lines("explain"))
    golden = (GOLDEN / "winner.txt").read_text()
    places = [page.index(f"\n{part}") for part in PARTS]
    assert places == sorted(places)
    assert all(f"\n{part}" in golden for part in PARTS)

    def heads(text: str) -> set[tuple[str, ...]]:
        """The heads of tables: role hotkey uid …"""
        found = re.findall(r"^ *((?:type|role|component|axis|factor|check) .*)$", text, re.MULTILINE)
        return {tuple(re.split(r" {2,}", head.strip())) for head in found if not re.search(r"\d", head)}

    assert len(heads(page)) >= 6
    assert heads(page) <= heads(golden), "run regenerate_pictures.py"


@pytest.mark.parametrize("command", ["status", "explain"])
def test_a_picture_names_no_place_and_fetches_nothing(command: str) -> None:
    text = (FOLDER / f"{command}.svg").read_text(encoding="utf-8")
    assert not re.search(r"/(?:root|home|work|tmp|Users)\b|@font-face|<script|<image|href=", text)
    assert f"](docs/pictures/{command}.svg)" in (ROOT / "README.md").read_text()
