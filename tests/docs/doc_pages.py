"""The project's pages as tests read them: files, links, anchors, tables."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SPEC = DOCS / "spec.md"
ARCHITECTURE = DOCS / "architecture.md"
SOURCE = ROOT / "validator"
HOUSES = tuple(ROOT / name for name in ("validator", "sssa", "publisher", "taskmaker"))
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


def pages() -> list[Path]:
    own = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
    return [*own, *sorted(DOCS.rglob("*.md"))]


def prose(page: Path) -> str:
    """The page without fenced blocks."""
    return _FENCE.sub("", page.read_text())


def fenced(page: Path) -> str:
    return "\n".join(_FENCE.findall(page.read_text()))


def links(page: Path) -> list[str]:
    return [link for link in _LINK.findall(prose(page)) if "://" not in link]


def code(page: Path) -> list[str]:
    """Everything between backquotes, line breaks as spaces."""
    return [" ".join(text.split()) for text in _CODE.findall(prose(page))]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings, as the usual hosts spell them, and named places."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    named = re.findall(r'<a id="([\w-]+)">', prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | {*named}


def table(page: Path, name: str) -> list[dict[str, str]]:
    """The rows of the table that `<!-- table: name -->` announces, by column heading."""
    _, marker, rest = page.read_text().partition(f"<!-- table: {name} -->\n")
    assert marker, f"{page.name} has no table `{name}`"
    rows = [_cells(line) for line in _lines(rest)]
    head, body = rows[0], rows[2:]
    assert body
    assert all(len(row) == len(head) for row in body), name
    return [dict(zip(head, row, strict=True)) for row in body]


def _lines(text: str) -> Iterator[str]:
    for line in text.lstrip("\n").split("\n"):
        if not line.startswith("|"):
            return
        yield line


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
