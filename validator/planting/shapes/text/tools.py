"""MCP tools as a server declares them: in `mcp.json`, in its source, or in both."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from validator.planting.shape import Files
from validator.planting.shapes.text.jsonfile import Item, exchanged, json_of, line_at, place_of
from validator.planting.shapes.text.lines import text_of
from validator.protocol.skill_types import SkillType

MANIFEST: Final = "mcp.json"
SERVED: Final = frozenset({SkillType.MCP_SERVER, SkillType.AGENT_COMPOSITION})
_SOURCES: Final = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".mts"})
_QUOTED: Final = r"(?P<quote>[\"'`])(?P<text>(?:(?!(?P=quote))[^\\\n$])+)(?P=quote)"
_NAME: Final = r"[\"'`](?P<name>[A-Za-z][\w.-]{1,63})[\"'`]"
# How servers on the SDKs register a tool, name and description beside each other.
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
    """One declared tool.

    Attributes:
        path: the file that declares it.
        name: of the tool.
        description: what a model is told.
        at: which element of the manifest's list it is; None for one that stands in the source alone.
        span: where the description lies in the source, for those.
    """

    path: str
    name: str
    description: str
    at: int | None
    span: tuple[int, int] = (0, 0)


def tools_of(files: Files, skill_type: SkillType) -> list[Tool]:
    """Return the tools that a server, or a composition's servers, declare; the source counts without a manifest."""
    if skill_type not in SERVED:
        return []
    manifests = [path for path in sorted(files) if PurePosixPath(path).name == MANIFEST]
    listed = [tool for path in manifests for tool in _listed(files, path)]
    return listed or [
        tool for path in sorted(files) if PurePosixPath(path).suffix in _SOURCES for tool in _registered(files, path)
    ]


def entries(document: Any) -> list[dict[str, Any]]:
    """Return the manifest's tools, {} for what is none."""
    found = document.get("tools") if isinstance(document, dict) else None
    return [one if isinstance(one, dict) else {} for one in found] if isinstance(found, list) else []


def described(files: Files, tool: Tool, text: str) -> tuple[dict[str, bytes], int]:
    """Return the files with another description of the tool, also where the source repeats it, and its line."""
    if tool.at is None:
        source = files[tool.path].decode()
        start, end = tool.span
        new = _literal(text, source[start - 1])
        return {tool.path: (source[:start] + new + source[end:]).encode()}, line_at(source, start)
    manifest = files[tool.path].decode()
    item = place_of(manifest, ("tools", tool.at, "description"))
    if item is None:
        return {}, 0
    changed = {tool.path: exchanged(manifest, item, text).encode()}
    return changed | _repeated(files, tool, text), line_at(manifest, item.value)


def parameters(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a tool's input that are described in words."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = properties if isinstance(properties, dict) else {}
    return {name: one for name, one in found.items() if isinstance(one, dict)}


def tool_item(text: str, at: int, *path: str | int) -> Item | None:
    """Return where something of the manifest's tool number `at` lies."""
    return place_of(text, ("tools", at, *path))


def repeated(files: Files, path: str, old: str, new: str) -> dict[str, bytes]:
    """Return the sources beside the manifest `path` that say `old` as one literal, once, with `new` in its place."""
    folder, changed = PurePosixPath(path).parent, {}
    for name in sorted(files):
        file = PurePosixPath(name)
        if file.suffix not in _SOURCES or not file.is_relative_to(folder):
            continue
        text = text_of(files[name]) or ""
        found = [(quote, text.find(quote + old + quote)) for quote in "\"'`" if text.count(quote + old + quote) == 1]
        if len(found) == 1 and not re.match(r"[A-Za-z]", text[found[0][1] - 1 : found[0][1]]):
            quote, start = found[0]
            changed[name] = (text[: start + 1] + _literal(new, quote) + text[start + 1 + len(old) :]).encode()
    return changed


def _repeated(files: Files, tool: Tool, text: str) -> dict[str, bytes]:
    return repeated(files, tool.path, tool.description, text) if tool.description else {}


def _listed(files: Files, path: str) -> Iterator[Tool]:
    file = json_of(files[path])
    for at, entry in enumerate(entries(file.document) if file else ()):
        name, text = entry.get("name"), entry.get("description")
        if isinstance(name, str) and name and isinstance(text, str):
            yield Tool(path, name, text, at)


def _registered(files: Files, path: str) -> Iterator[Tool]:
    text = text_of(files[path]) or ""
    for pattern in _REGISTERED:
        for match in pattern.finditer(text):
            yield Tool(path, match["name"], match["text"], None, match.span("text"))


def _literal(text: str, quote: str) -> str:
    """Return the text as it stands between these quotes in Python, JavaScript and TypeScript."""
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
    return escaped.replace("${", "\\${") if quote == "`" else escaped
