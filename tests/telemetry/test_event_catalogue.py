"""What the source logs and what the catalogue says are the same."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from validator.queue.work import Words
from validator.telemetry.events import Event

ROOT = Path(__file__).parents[2]
FILES = sorted(file for package in ("validator", "localnet") for file in (ROOT / package).rglob("*.py"))
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
LOGGERS = {"_log", "log", "_logger", "logger"}

_FIELDS = {"exc_info": "exception"}  # as the log shows it


class Call(NamedTuple):
    place: str
    level: str
    names: frozenset[str]
    fields: frozenset[str]


def logged() -> Iterator[Call]:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            func = node.func.body if isinstance(node.func, ast.IfExp) else node.func  # one of two levels
            if not isinstance(func, ast.Attribute):
                continue
            owner = func.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if name in LOGGERS and func.attr in LEVELS:
                yield Call(
                    f"{file.relative_to(ROOT)}:{node.lineno}",
                    func.attr,
                    frozenset(_names(node.args[0])),
                    frozenset(_FIELDS.get(keyword.arg, keyword.arg) for keyword in node.keywords if keyword.arg),
                )


def words() -> dict[str, set[str]]:
    """What each of the words of a kind of waiting work is called, over all kinds."""
    found: dict[str, set[str]] = {field: set() for field in Words._fields}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == Words.__name__:
                for field, given in zip(Words._fields, node.args, strict=True):
                    found[field].update(_names(given))
    return found


def _names(node: ast.expr) -> Iterator[str]:
    """Every event that the first argument can be: a literal, Event.NAME, `….words.NAME`, or a choice between such."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "words":
        yield from words()[node.attr]
    elif isinstance(node, ast.IfExp):
        yield from _names(node.body)
        yield from _names(node.orelse)
    elif isinstance(node, ast.Attribute):
        yield Event[node.attr].value if node.attr in Event.__members__ else node.attr
    else:
        yield ast.unparse(node)


def test_every_logged_event_is_in_the_catalogue_with_its_fields() -> None:
    calls = list(logged())
    assert calls
    known = {str(event): event.fields for event in Event}
    faults = [
        f"{call.place}: {name} {sorted(call.fields - known.get(name, frozenset()))}"
        for call in calls
        for name in call.names
        if name not in known or call.fields - known[name]
    ]
    assert not faults, "\n".join(faults)


def test_every_event_says_what_it_means() -> None:
    for event in Event:
        assert event.meaning.endswith("."), event
        assert "\n" not in event.meaning
        assert event == event.value == event.name.lower()
