"""The map of rooms in docs/architecture.md, made from the packages' docstrings. `make reference` writes it again."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
OUTSIDE_VALIDATOR = (
    "laboratory",
    "localnet",
    "miner",
    "runner/code_runner",
    "runner/tracer",
    "tests/simulation",
    "publisher",
    "taskmaker",
)
_HEAD = ("| floor | room | purpose |", "|---|---|---|")
_BEGIN = "<!-- table: rooms -->\n\n"


def packages() -> Iterator[tuple[str, str]]:
    """Yield floor and path of each room, the highest floor first; `–` for what is next to the validator."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    for house in ("validator", "sssa"):
        layers = next(one["layers"] for one in contracts if f"({house}.cli)" in one.get("layers", ()))
        floors = [re.findall(rf"{house}\.(\w+)", layer) for layer in layers]
        for number, names in enumerate(floors):
            for name in names:
                folder = (ROOT / house / name).is_dir()
                yield str(len(floors) - 1 - number), f"{house}/{name}" + ("" if folder else ".py")
    for name in OUTSIDE_VALIDATOR:
        yield "–", name


def docstring(path: str) -> str:
    """Return the docstring of a package or module."""
    file = ROOT / path / "__init__.py" if (ROOT / path).is_dir() else ROOT / path
    return ast.get_docstring(ast.parse(file.read_text())) or ""


def rows() -> list[str]:
    """Return the rows of the map."""
    return [
        f"| {floor} | `{path}{'' if path.endswith('.py') else '/'}` | {purpose} |"
        for floor, path in packages()
        for purpose in [" ".join(docstring(path).partition("\n\n")[0].split())]
    ]


def page() -> str:
    """Return the page with today's map."""
    before, mark, rest = PAGE.read_text().partition(_BEGIN)
    return before + mark + "\n".join([*_HEAD, *rows()]) + "\n\n" + rest.partition("\n\n")[2]


if __name__ == "__main__":
    PAGE.write_text(page())
