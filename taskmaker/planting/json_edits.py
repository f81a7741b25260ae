"""Places in JSON files and in the sources of MCP servers, changed as a person changes them: in place, in their style.

A new member or element goes before one that exists, so that no old line changes; only where an object or a list
is in one line, or a value is exchanged, does that one line change.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from types import UnionType
from typing import Any, Final, NamedTuple

from sssa.protocol.skill_types import SkillType
from taskmaker.planting.documents import text_of
from taskmaker.planting.lexicon import Scope
from taskmaker.planting.planting import Files, Placed
from taskmaker.planting.templates import Form, render

_SOURCES: Final = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".mts"})
_QUOTED: Final = r"(?P<quote>[\"'`])(?P<text>(?:(?!(?P=quote))[^\\\n$])+)(?P=quote)"
_NAME: Final = r"[\"'`](?P<name>[A-Za-z][\w.-]{1,63})[\"'`]"
# How servers on the SDKs register a tool, name and description next to each other.
_REGISTERED: Final = (
    re.compile(rf"\.(?:tool|registerTool)\(\s*{_NAME}\s*,\s*(?:\{{[^{{}}]*?\bdescription\s*:\s*)?{_QUOTED}"),
    re.compile(
        rf"\bname[\"']?\s*[:=]\s*{_NAME}\s*,\s*(?:title\s*[:=][^,\n]*,\s*)?[\"']?description[\"']?\s*[:=]\s*{_QUOTED}"
    ),
    re.compile(rf"\.(?:tool)\(\s*(?:name\s*=\s*)?{_NAME}\s*,\s*description\s*=\s*{_QUOTED}"),
    re.compile(
        r"@\w+\.tool\([^)\n]{0,200}\)[ \t]*\r?\n[ \t]*(?:async[ \t]+)?def (?P<name>\w{1,64})\([^)]{0,400}\)"
        r"[^:\n]{0,80}:[ \t]*\r?\n[ \t]+\"\"(?P<quote>\")(?P<text>[^\"\\\n]+)"
    ),
)


class Tool(NamedTuple):
    """A tool that a source registers; `span` is the place of its description."""

    path: str
    name: str
    description: str
    span: tuple[int, int]


def registered(files: Files) -> list[Tool]:
    """Return the tools that the sources of a server register."""
    return [
        Tool(path, match["name"], match["text"], match.span("text"))
        for path in sorted(files)
        if PurePosixPath(path).suffix in _SOURCES
        for pattern in _REGISTERED
        for match in pattern.finditer(text_of(files[path]) or "")
    ]


def with_description(files: Files, tool: Tool, text: str) -> Placed | None:
    """Return the source with another description; None for characters that a source may not hold."""
    if not text.replace("\n", "").isprintable():
        return None
    source, (start, end) = files[tool.path].decode(), tool.span
    content = source[:start] + _literal(text, source[start - 1]) + source[end:]
    return Placed({tool.path: content.encode()}, tool.path, source.count("\n", 0, start) + 1, tool.name, tool.name)


def repeated(files: Files, path: str, old: str, new: str) -> dict[str, bytes]:
    """Return the sources next to the manifest `path` that say `old` as one literal, once, with `new` in its place."""
    folder, changed = PurePosixPath(path).parent, {}
    for name in sorted(files):
        file = PurePosixPath(name)
        if not old or file.suffix not in _SOURCES or not file.is_relative_to(folder):
            continue
        text = text_of(files[name]) or ""
        quoted = [(quote, text.find(quote + old + quote)) for quote in "\"'`" if text.count(quote + old + quote) == 1]
        if len(quoted) == 1 and not re.match(r"[A-Za-z]", text[quoted[0][1] - 1 : quoted[0][1]]):
            quote, start = quoted[0]
            changed[name] = (text[: start + 1] + _literal(new, quote) + text[start + 1 + len(old) :]).encode()
    return changed


def _literal(text: str, quote: str) -> str:
    """Return the text as it is between these quotes in Python, JavaScript and TypeScript."""
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
    return escaped.replace("${", "\\${") if quote == "`" else escaped


_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"
_MARK: Final = "<!>"
_TOOLS: Final = "tools"
Path = tuple[str | int, ...]


class Item(NamedTuple):
    """A member of an object or an element of a list (key None): where its text begins, and where its value begins."""

    key: str | None
    start: int
    value: int
    end: int


class Target(NamedTuple):
    """A place in a file: its text, what it says, and the steps to a value; `element` is what the first list holds."""

    file: str
    text: str
    path: Path
    value: Any
    element: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the element; "" if it has none."""
        return str(self.element.get("path") or self.element.get("name") or "")


def items(text: str, at: int) -> list[Item]:
    """Return what the object or list whose bracket is at `at` holds."""
    spans, position = [], _skip(text, at + 1)
    while text[position] not in "}]":
        start, key = position, None
        if text[at] == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        _, end = _DECODER.raw_decode(text, position)
        spans.append(Item(key, start, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return spans


def place_of(text: str, path: Sequence[str | int]) -> Item:
    """Return the place of the value at `path`, the whole document for an empty one. It exists."""
    start = _skip(text, 0)
    item = Item(None, start, start, len(text.rstrip()))
    for step in path:
        inside = items(text, item.value)
        item = inside[step] if isinstance(step, int) else [one for one in inside if one.key == step][-1]
    return item


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _with(scope: Scope, text: str, at: int, key: str | None, value: Any) -> tuple[bytes, int]:
    """Return the text with one more member (element for no key) of the object or list at `at`, and its marked line."""
    inside = items(text, at)
    label = "" if key is None else f"{json.dumps(key)}: "
    short, start, end = label + json.dumps(value, ensure_ascii=False), at + 1, _skip(text, at + 1)
    if not inside:
        written = short
    else:
        before = scope.draws.pick(inside)
        start = end = before.start
        margin = text[text.rfind("\n", 0, start) + 1 : start]
        written = f"{short}, "
        if "\n" in text[at:start] and not margin.strip():
            ending = "\r\n" if "\r\n" in text else "\n"
            lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
            written = label + (ending + margin).join(lines) + f",{ending}{margin}"
    line = _line_at(text, start) + written.count("\n", 0, max(written.find(_MARK), 0))
    return (text[:start] + written.replace(_MARK, "") + text[end:]).encode(), line


def _unit(text: str) -> int | str:
    """Return what the file indents by."""
    for line in text.split("\n")[1:]:
        space = line[: len(line) - len(line.lstrip())]
        if space and line.strip():
            return "\t" if "\t" in space else len(space)
    return 2


def _targets(form: Form, files: Files, scope: Scope, kinds: type | UnionType) -> list[Target]:
    """Return the places that a form names: `NAME|NAME`, of files at the top with a / in front, and `STEP/STEP/*`."""
    names, _, steps = form.about.partition(" ")
    targets = []
    for file in sorted(files):
        text = text_of(files[file]) if {f"/{file}", PurePosixPath(file).name} & set(names.split("|")) else None
        try:
            document = json.loads(text or "")
        except (ValueError, RecursionError):
            continue
        for path, value, element in _matches(document, scope.fill(steps).split("/") if steps else [], (), {}):
            if isinstance(value, kinds) and (not steps.startswith(f"{_TOOLS}/") or _is_tool(element)):
                targets.append(Target(file, text or "", path, value, element))
    return targets


def _matches(value: Any, steps: list[str], path: Path, element: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    if not steps:
        yield path, value, element
    elif steps[0] == "*":
        rows: Iterable[tuple[str | int, Any]] = enumerate(value) if isinstance(value, list) else ()
        for key, one in sorted(value.items()) if isinstance(value, dict) else rows:
            if isinstance(one, dict):
                yield from _matches(one, steps[1:], (*path, key), element or one)
    elif isinstance(value, dict) and (steps[0] in value or len(steps) == 1):
        yield from _matches(value.get(steps[0]), steps[1:], (*path, steps[0]), element)


def _is_tool(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("description"), str) and isinstance(entry.get("name"), str) and bool(entry["name"])


def _changed(
    form: Form,
    scope: Scope,
    targets: Sequence[Target],
    change: Callable[[Target, str, Scope], tuple[bytes, int] | None],
    files: Files | None = None,
) -> Placed | None:
    """Return a file with a change at one of the places; `@element@` is what that place is in, `@old@` the old text."""
    if not targets:
        return None
    target = scope.draws.pick(targets)
    tool = target.element["name"] if target.path[:1] == (_TOOLS,) else None
    old = target.value if isinstance(target.value, str) else f"The {target.path[-2:][0]}." if target.path else ""
    for name, word in (("element", target.name), ("tool", tool or ""), ("old", old)):
        scope.give(name, word)
    new = render(form.parts[""], scope)
    try:
        changed = change(target, new, scope)
    except ValueError:  # a drawn word with a quotation mark
        changed = None
    if changed is None:
        return None
    more = {} if files is None else repeated(files, target.file, old, new)
    return Placed({target.file: changed[0], **more}, target.file, changed[1], tool or target.name, tool)


def member(form: Form, scope: Scope, files: Files, _: SkillType) -> Placed | None:
    """Add a member to an object, or an object with it where that is missing; `<!>` in it marks the line."""
    return _changed(form, scope, _targets(form, files, scope, dict | None), _with_member)


def _with_member(target: Target, new: str, scope: Scope) -> tuple[bytes, int] | None:
    fields = json.loads("{" + new + "}")
    ((key, value),) = fields.items()
    path, held = target.path, target.value
    if held is None:  # the object is missing
        key, value, path, held = str(path[-1]), fields, path[:-1], {}
    if key.replace(_MARK, "") in held:
        return None
    return _with(scope, target.text, place_of(target.text, path).value, key, value)


def empty_value(form: Form, scope: Scope, files: Files, _: SkillType) -> Placed | None:
    """Exchange an empty list or object for the JSON of the form."""
    empty_targets = [one for one in _targets(form, files, scope, list | dict) if not one.value]
    return _changed(form, scope, empty_targets, lambda target, new, _: _exchanged(target, json.loads(new)))


def _exchanged(target: Target, value: Any) -> tuple[bytes, int]:
    item = place_of(target.text, target.path)
    written = json.dumps(value, ensure_ascii=False)
    text = target.text[: item.value] + written + target.text[item.end :]
    return text.encode(), _line_at(target.text, item.value)


def text_value(form: Form, scope: Scope, files: Files, _: SkillType) -> Placed | None:
    """Exchange a text, or add it where it is missing, also where a source repeats it."""
    return _changed(form, scope, _targets(form, files, scope, str | None), _with_text, files)


def _with_text(target: Target, new: str, scope: Scope) -> tuple[bytes, int]:
    if target.value is not None:
        return _exchanged(target, new)
    held = place_of(target.text, target.path[:-1]).value
    return _with(scope, target.text, held, f"{target.path[-1]}{_MARK}", new)


def copy(form: Form, scope: Scope, files: Files, _: SkillType) -> Placed | None:
    """Add an element once more, with another text."""
    return _changed(form, scope, _targets(form, files, scope, str), _with_copy)


def _with_copy(target: Target, new: str, scope: Scope) -> tuple[bytes, int]:
    pairs = {
        key: (f"{key}{_MARK}", new) if key == target.path[-1] else (key, value) for key, value in target.element.items()
    }
    return _with(scope, target.text, place_of(target.text, target.path[:-2]).value, None, dict(pairs.values()))


def description(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Exchange the description of an MCP tool: of a manifest and where its source repeats it, else of a source."""
    listed = form._replace(about="mcp.json tools/*/description")
    if _targets(listed, files, scope, str):
        return text_value(listed, scope, files, skill_type)
    tools = registered(files)
    if not tools:
        return None
    tool = scope.draws.pick(tools)
    for name, word in (("element", tool.name), ("tool", tool.name), ("old", tool.description)):
        scope.give(name, word)
    return with_description(files, tool, render(form.parts[""], scope))
