"""Links of the pages resolve, and every page and module is linked."""

import re
import subprocess
from pathlib import Path

import pytest
from doc_pages import ARCHITECTURE, HOUSES, ROOT, anchors, code, links, pages
from rooms_table import docstring, packages
from rooms_table import page as with_map


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_the_architecture_has_the_map_of_the_rooms() -> None:
    assert ARCHITECTURE.read_text() == with_map(), "run: make reference"
    for house in HOUSES[:2]:
        here = {path.name for path in house.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
        here |= {path.name for path in house.glob("*.py")} - {"__init__.py"}
        assert {Path(path).name for _, path in packages() if path.startswith(f"{house.name}/")} == here


def test_every_package_says_what_it_is_what_it_touches_and_what_calls_it() -> None:
    listed = subprocess.run(["git", "ls-files", "*/__init__.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [name.removesuffix("/__init__.py") for name in listed.stdout.split() if not name.startswith("tests/")]
    assert len(paths) > 60
    for path in paths:
        purpose, *rest = docstring(path).split("\n\n")
        assert purpose.endswith("."), path
        assert re.search(r"\b[Tt]ouches .+\. Called (by|through) ", " ".join(" ".join(rest).split())), path


def test_every_file_that_the_architecture_names_exists() -> None:
    named = [text for text in code(ARCHITECTURE) if re.fullmatch(r"[\w/]+/(\w+\.(py|md|toml))?", text)]
    later = {"laboratory/"}
    missing = [name for name in named if not any((folder / name).exists() for folder in (*HOUSES, ROOT))]
    assert len(named) > 20
    assert set(missing) <= later
