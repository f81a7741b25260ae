"""Logged events in the source equal those of the catalogue."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from validator.telemetry.events import Event

ROOT = Path(__file__).parents[3]
FILES = sorted(file for package in ("validator", "localnet") for file in (ROOT / package).rglob("*.py"))
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
ALARMING = {"warning", "error", "critical", "exception"}
LOGGERS = {"_log", "log", "_logger", "logger"}

_FIELDS = {"exc_info": "exception"}  # as the log shows it


class Call(NamedTuple):
    place: str
    levels: frozenset[str]
    names: frozenset[str]
    fields: frozenset[str]


@cache
def logged() -> tuple[Call, ...]:
    return tuple(_logged())


def _logged() -> Iterator[Call]:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            if levels := frozenset(_levels(node.func)):
                yield Call(
                    f"{file.relative_to(ROOT)}:{node.lineno}",
                    levels,
                    frozenset(_names(node.args[0])),
                    frozenset(_FIELDS.get(keyword.arg, keyword.arg) for keyword in node.keywords if keyword.arg),
                )


def _levels(func: ast.expr) -> Iterator[str]:
    """The levels that a call may log at: one, or one of two."""
    if isinstance(func, ast.IfExp):
        yield from _levels(func.body)
        yield from _levels(func.orelse)
    elif isinstance(func, ast.Attribute):
        owner = func.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        if name in LOGGERS and func.attr in LEVELS:
            yield func.attr


def _names(node: ast.expr) -> Iterator[str]:
    """Every event that the first argument can be: a literal, Event.NAME, or a choice between such."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _names(node.body)
        yield from _names(node.orelse)
    elif isinstance(node, ast.Attribute):
        yield Event[node.attr].value if node.attr in Event.__members__ else node.attr
    else:
        yield ast.unparse(node)


def test_every_logged_event_is_in_the_catalogue_with_its_fields() -> None:
    calls = logged()
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


def test_every_event_that_warns_says_what_to_do() -> None:
    alarming = {name for call in logged() if call.levels & ALARMING for name in call.names}
    assert {"daemon_failed", "flag_raised", "work_ended"} & alarming == {"daemon_failed", "flag_raised"}
    known = {str(event): event for event in Event}
    assert [name for name in sorted(alarming) if not known[name].todo] == []
    assert all(event.todo.endswith((".", "?")) and "\n" not in event.todo for event in Event if event.todo)
