"""Scanner of MCP servers: what tools say to a model, and whether mcp.json and the code agree."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from miner.scanners.prose import TO_A_MODEL, orders_in, tool_faults
from miner.scanners.scanner import Bundle, Report, Tool, new_finding
from miner.scanners.source import SourceFile, line_of, objects, read_object, string
from sssa.protocol.sssa import Finding
from sssa.protocol.text import printable

MANIFEST: Final = "mcp.json"
_OF_SERVERS: Final = frozenset({"python", "javascript", "typescript"})
MAX_TOOLS: Final = 256
_MAX_TEXTS: Final = 64  # of one tool's schema
_MAX_LINES: Final = 4_000  # of a server's code
_MAX_LINE: Final = 2_000  # characters of a line
_FEWEST_BLANKS: Final = 5  # of a sentence
_TEXT: Final = re.compile(r"([\"'`])((?:(?!\1)[^\\\n]|\\.){40,1900})\1")


def tools_of_manifest(source: SourceFile) -> tuple[Tool, ...] | None:
    """Return the tools that a manifest declares; None if it cannot be read."""
    document = read_object(source)
    if document is None:
        return None
    tools, line = [], 1
    for entry in objects(document.get("tools"))[: MAX_TOOLS + 1]:
        name = string(entry.get("name"))
        line = line_of(source, name, line)
        texts = tuple(filter(None, [string(entry.get("description")), *_schema_texts(entry.get("inputSchema"))]))
        tools.append(Tool(source, name, texts, line, line_of(source, texts[0], line) if texts else line))
    return tuple(tools)


def _schema_texts(schema: Any) -> list[str]:
    """Return the titles, descriptions, defaults and allowed values that a schema shows to the model."""
    texts: list[str] = []
    queue = [schema]
    while queue and len(texts) < _MAX_TEXTS:
        item = queue.pop(0)
        if isinstance(item, dict):
            texts += [text for key in ("description", "title", "default") if (text := string(item.get(key)))]
            texts += [name for name in item if "_" in name]
            queue += item.values()
        elif isinstance(item, list):
            texts += [text for text in item if isinstance(text, str)]
            queue += [part for part in item if not isinstance(part, str)]
    return texts[:_MAX_TEXTS]


def tool_findings(bundle: Bundle, offered: Sequence[Tool]) -> Report:
    """Return what is wrong with the tools of the bundle; `offered` are those of its code."""
    findings: list[Finding] = []
    unread = False
    for path, manifest in bundle.sources.items():
        if manifest.name == MANIFEST and path == f"{bundle.part_of(path).folder}{MANIFEST}":
            part = bundle.part_of(path)
            declared = tools_of_manifest(manifest)
            of_code = [tool for tool in offered if bundle.part_of(tool.source.path) is part]
            if declared is None:
                findings.append(
                    new_finding("other", "medium", manifest.place(), "The manifest is not readable JSON.", path)
                )
                unread = True
                continue
            if len(declared) > MAX_TOOLS:
                text = f"Only the first {MAX_TOOLS} tools of the manifest are read."
                findings.append(new_finding("other", "medium", manifest.place(), text, path))
                unread = True
            findings += _poisoned([*declared, *of_code])
            findings += _twice(declared)
            findings += _disagreement(declared, of_code) if of_code else ()
    with_manifest = {bundle.part_of(path) for path in bundle.sources if path.endswith(MANIFEST)}
    findings += _poisoned([tool for tool in offered if bundle.part_of(tool.source.path) not in with_manifest])
    parts = {bundle.part_of(tool.source.path) for tool in offered}
    for source in bundle.sources.values():
        if source.language in _OF_SERVERS and bundle.part_of(source.path) in parts:
            findings += _orders_in_code(source, {tool.text_line for tool in offered if tool.source is source})
    return Report(findings=tuple(findings), unread=unread)


def _poisoned(tools: Sequence[Tool]) -> Iterator[Finding]:
    """Yield one finding for each tool whose description is more than one: its worst fault, where it is said first."""
    names = frozenset(tool.name for tool in tools)
    known_texts: set[tuple[str, str]] = set()
    for tool in tools:
        if tool.texts and (tool.name, tool.texts[0]) in known_texts:
            continue
        known_texts |= {(tool.name, text) for text in tool.texts}
        faults = [fault for text in tool.texts for fault in tool_faults(text, tool.name, names)[:1]]
        if faults:
            severity, what = faults[0]
            text = f"The description of tool `{printable(tool.name, 80)}` {what}."
            place = tool.source.place(tool.text_line)
            yield new_finding("tool_poisoning", severity, place, text, tool.name or tool.source.path)


def _orders_in_code(source: SourceFile, described: set[int]) -> Iterator[Finding]:
    """Yield orders in the texts of a server's code: what a tool returns is read by a model, too.

    Lines of descriptions (`described`) are left out, which are looked at as such.
    """
    for number, line in enumerate(source.lines[:_MAX_LINES], start=1):
        if number in described:
            continue
        texts = [match[2] for match in _TEXT.finditer(line[:_MAX_LINE]) if match[2].count(" ") >= _FEWEST_BLANKS]
        phrase = next((one for text in texts for one in orders_in([text], TO_A_MODEL)), None)
        if phrase is not None and phrase.severity in ("high", "critical"):
            text = f"A text of the server {phrase.what}."
            yield new_finding("prompt_injection", phrase.severity, source.place(number), text, source.path)


def _twice(declared: Sequence[Tool]) -> Iterator[Finding]:
    """Yield the tools whose name another has already: which of them a model gets, nobody can say."""
    names: set[str] = set()
    for tool in declared:
        if tool.name in names:
            text = "The manifest declares another tool of this name."
            yield new_finding("tool_poisoning", "high", tool.source.place(tool.line), text, tool.name)
        names.add(tool.name)


def _disagreement(declared: Sequence[Tool], offered: Sequence[Tool]) -> Iterator[Finding]:
    texts = {tool.name: tool.texts for tool in declared}
    for tool in (tool for tool in offered if tool.name):
        place = tool.source.place(tool.line)
        if tool.name not in texts:
            text = "The server offers a tool that its manifest does not declare."
            yield new_finding("tool_poisoning", "high", place, text, tool.name)
        elif tool.texts[0] and tool.texts[0] not in texts[tool.name]:
            text = "The server describes a tool in other words than its manifest."
            yield new_finding("tool_poisoning", "medium", place, text, tool.name)
    names = {tool.name for tool in offered}
    for tool in declared if "" not in names else ():
        if tool.name not in names:
            text = "The manifest declares a tool that the server does not have."
            yield new_finding("other", "low", tool.source.place(tool.line), text, tool.name)
