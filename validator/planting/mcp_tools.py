"""MCP tools as the source of a server registers them."""

import re
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from validator.planting.documents import text_of
from validator.planting.shape import Files, Placed

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
    """A tool that a source registers; `span` is where its description lies."""

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
    """Return the sources beside the manifest `path` that say `old` as one literal, once, with `new` in its place."""
    folder, changed = PurePosixPath(path).parent, {}
    for name in sorted(files):
        file = PurePosixPath(name)
        if not old or file.suffix not in _SOURCES or not file.is_relative_to(folder):
            continue
        text = text_of(files[name]) or ""
        found = [(quote, text.find(quote + old + quote)) for quote in "\"'`" if text.count(quote + old + quote) == 1]
        if len(found) == 1 and not re.match(r"[A-Za-z]", text[found[0][1] - 1 : found[0][1]]):
            quote, start = found[0]
            changed[name] = (text[: start + 1] + _literal(new, quote) + text[start + 1 + len(old) :]).encode()
    return changed


def _literal(text: str, quote: str) -> str:
    """Return the text as it stands between these quotes in Python, JavaScript and TypeScript."""
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
    return escaped.replace("${", "\\${") if quote == "`" else escaped
