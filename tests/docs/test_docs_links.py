"""Links of the pages resolve, and every page and module is linked."""

import re
import tomllib
from pathlib import Path

import pytest
from doc_pages import ARCHITECTURE, ROOT, SOURCE, anchors, code, links, pages, table


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_the_architecture_names_every_room_and_no_other() -> None:
    here = {path.name + "/" for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    files = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    assert {row["room"].strip("`") for row in table(ARCHITECTURE, "rooms")} == here | files


def test_the_architecture_has_the_floors_of_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    floors = [set(re.findall(r"validator\.(\w+)", layer)) for layer in reversed(contract["layers"])]
    for row in table(ARCHITECTURE, "rooms"):
        room = row["room"].strip("`").removesuffix("/").removesuffix(".py")
        assert room in floors[int(row["floor"])], room


def test_every_file_that_the_architecture_names_exists() -> None:
    named = [text for text in code(ARCHITECTURE) if re.fullmatch(r"[\w/]+/(\w+\.(py|md|toml))?", text)]
    later = {"laboratory/"}
    missing = [name for name in named if not ((SOURCE / name).exists() or (ROOT / name).exists())]
    assert len(named) > 20
    assert set(missing) <= later
