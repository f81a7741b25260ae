"""JSON files changed as a person changes them: in place, with the file's own indentation, order and line endings.

A new member or element goes before one that is there, so that no old line changes; only where an object or a list
stands in one line, or a value is exchanged, does that one line change.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shapes.text.lines import ending_of, text_of

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"


class Item(NamedTuple):
    """A member of an object or an element of a list (key None): where its text begins, and where its value lies."""

    key: str | None
    start: int
    value: int
    end: int


class JsonFile(NamedTuple):
    """A JSON file: its text and what it says."""

    text: str
    document: Any


def json_of(content: bytes | None) -> JsonFile | None:
    """Return the file; None where it is none, or no JSON."""
    text = None if content is None else text_of(content)
    try:
        return None if text is None else JsonFile(text, json.loads(text))
    except (ValueError, RecursionError):
        return None


def items(text: str, at: int) -> list[Item]:
    """Return what the object or list whose bracket is at `at` holds."""
    found, position = [], _skip(text, at + 1)
    while text[position] not in "}]":
        start, key = position, None
        if text[at] == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        _, end = _DECODER.raw_decode(text, position)
        found.append(Item(key, start, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def place_of(text: str, path: Sequence[str | int]) -> Item | None:
    """Return where the value at `path` lies, the whole document for an empty one; None where there is none."""
    start = _skip(text, 0)
    item = Item(None, start, start, len(text.rstrip()))
    for step in path:
        if text[item.value] not in "{[":
            return None
        inside = items(text, item.value)
        found = [one for i, one in enumerate(inside) if step in {one.key, i if one.key is None else one.key}]
        if not found:
            return None
        item = found[-1]
    return item


def line_at(text: str, position: int) -> int:
    """Return the number of the line that holds the position, from 1 on."""
    return text.count("\n", 0, position) + 1


def exchanged(text: str, item: Item, value: Any) -> str:
    """Return the text with another value in the item's place."""
    written = json.dumps(value, ensure_ascii=False)
    return text[: item.value] + written + text[item.end :]


def added(draws: Draws, text: str, at: int, key: str | None, value: Any) -> tuple[str, int]:
    """Return the text with one more member (or element, key None) in the object or list at `at`, and its line."""
    inside = items(text, at)
    label = "" if key is None else f"{json.dumps(key)}: "
    if not inside:
        written = label + json.dumps(value, ensure_ascii=False)
        return text[: at + 1] + written + text[_skip(text, at + 1) :], line_at(text, at)
    before = draws.pick(inside)
    margin = text[text.rfind("\n", 0, before.start) + 1 : before.start]
    if "\n" not in text[at : before.start] or margin.strip():
        written = f"{label}{json.dumps(value, ensure_ascii=False)}, "
        return text[: before.start] + written + text[before.start :], line_at(text, before.start)
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    ending = ending_of(text)
    written = label + (ending + margin).join(lines) + f",{ending}{margin}"
    return text[: before.start] + written + text[before.start :], line_at(text, before.start)


def _unit(text: str) -> int | str:
    """Return what the file indents by."""
    for line in text.split("\n")[1:]:
        space = line[: len(line) - len(line.lstrip())]
        if space and line.strip():
            return "\t" if "\t" in space else len(space)
    return 2


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


class Member(NamedTuple):
    """What is added to an object; `shown` is the part of it that a reviewer would point at."""

    key: str
    value: Any
    shown: str


def with_member(
    draws: Draws, file: JsonFile | None, path: Sequence[str | int], new: Member
) -> tuple[bytes, int] | None:
    """Return the file with one more member in the object at `path`, and the line on which the shown part stands.

    None where the file is no JSON, there is no such object, or it has the key.
    """
    item = place_of(file.text, path) if file else None
    if file is None or item is None or file.text[item.value] != "{":
        return None
    if any(one.key == new.key for one in items(file.text, item.value)):
        return None
    text, line = added(draws, file.text, item.value, new.key, new.value)
    start = text.index(json.dumps(new.key), len("\n".join(text.split("\n")[: line - 1])))
    return text.encode(), line_at(text, text.index(new.shown, start))
