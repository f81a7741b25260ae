"""The dashboards in config/grafana, as tests read them. As a program it writes the conditions' advice into them."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from package_files import ROOT

from validator.health.catalogue import CONDITIONS

GRAFANA: Final = ROOT / "config" / "grafana"
FOLDER: Final = GRAFANA / "dashboards"
_COLORS: Final = {"note": "text", "degraded": "orange", "unhealthy": "red"}
_STRING: Final = re.compile(r'"[^"]*"')
_MATCHERS: Final = re.compile(r"{([^}]*)}")
_MATCHER: Final = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_BY: Final = re.compile(r"\bby \(([^)]*)\)")
_KEYWORDS: Final = frozenset({"or", "and", "unless", "vector", "bool"})


class Query(NamedTuple):
    """One expression: the dashboard's uid, the panel's title and what it asks, with Grafana's variables in it."""

    board: str
    panel: str
    expression: str
    legend: str

    def of(self, instance: str) -> str:
        """The expression for one validator."""
        return self.expression.replace("$instance", instance)

    def series(self) -> set[str]:
        """The names of the series that it asks for."""
        bare = _BY.sub("", re.sub(r"\[\w+\]", "", _MATCHERS.sub("", _STRING.sub("", self.expression))))
        return set(re.findall(r"\b[A-Za-z_]\w*\b(?!\s*\()", bare)) - _KEYWORDS

    def matchers(self) -> list[tuple[str, str, str]]:
        """(label, operator, value) of every matcher."""
        return [found for inside in _MATCHERS.findall(self.expression) for found in _MATCHER.findall(inside)]

    def labels(self) -> set[str]:
        """The labels that it sums by or shows."""
        by = {name for group in _BY.findall(self.expression) for name in re.findall(r"\w+", group)}
        return by | set(re.findall(r"{{(\w+)}}", self.legend))


@cache
def boards() -> dict[str, dict[str, Any]]:
    """Every dashboard by its file's name."""
    return {path.name: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """The panels that show something."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def every_panel() -> Iterator[tuple[str, dict[str, Any]]]:
    """(uid of the dashboard, panel) of all of them."""
    for board in boards().values():
        for panel in panels(board):
            yield board["uid"], panel


def queries() -> list[Query]:
    """Every expression of every panel, and of the marks in time."""
    found = [
        Query(uid, panel["title"], target["expr"], target["legendFormat"])
        for uid, panel in every_panel()
        for target in panel["targets"]
    ]
    for board in boards().values():
        targets = [one["target"] for one in board["annotations"]["list"] if "target" in one]
        found += [Query(board["uid"], "marks", target["expr"], "") for target in targets]
    return found


def value_mappings() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the texts that the table of conditions writes into its columns, by column: Grafana's value mappings."""
    severity, advice = {}, {}
    for index, (name, one) in enumerate(CONDITIONS.items()):
        severity[name] = {"text": one.severity, "index": index, "color": _COLORS[one.severity]}
        advice[name] = {"text": f"{one.meaning} {one.advice}", "index": index}
    return {"severity": severity, "advice": advice}


def mapped(board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same as the dashboard has it: the options of each column's mapping."""
    (table,) = [panel for panel in panels(board) if panel["title"] == "What stands in the way"]
    found = {}
    for override in table["fieldConfig"]["overrides"]:
        for one in override["properties"]:
            if one["id"] == "mappings":
                found[override["matcher"]["options"]] = one["value"][0]["options"]
    return found


def write(path: Path) -> None:
    """Write the conditions' advice into the dashboard in that file."""
    board = json.loads(path.read_text())
    for column, options in mapped(board).items():
        options.clear()
        options.update(value_mappings()[column])
    path.write_text(json.dumps(board, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write(FOLDER / "validator.json")
