"""MCP servers: mcp.json and code, what their tools say and whether the two agree."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from miner.analysis.bounds import MAX_TOOLS, Budget
from miner.analysis.mcp_python import SERVER, offers_of_python
from miner.analysis.mcp_tool import Offer, Tool, poisoned
from miner.analysis.result import Report, found
from miner.analysis.source import SourceFile, line_of, objects, read_object, string
from validator.protocol.sssa import Finding

MANIFEST: Final = "mcp.json"
_MAX_SCHEMA_TEXTS: Final = 64  # descriptions of one tool's parameters


def read_server(sources: dict[str, SourceFile], scripts: Sequence[Offer], budget: Budget) -> Report:
    """Return what the server's manifest and source offer to a model.

    Args:
        sources: the bundle's files; of Python `server.py` has to agree with the manifest, others may not serve.
        scripts: the tools that its JavaScript and TypeScript offer; what is wrong with these alone was said there.
        budget: of what is read of Python.
    """
    manifest, server = sources.get(MANIFEST), sources.get(SERVER)
    findings: list[Finding] = []
    declared = tools_of_manifest(manifest) if manifest else None
    of_python = offers_of_python(sources.values(), budget)
    offered = [*(offer for offer in of_python if offer.source is server), *scripts]
    if manifest is not None and declared is None:
        findings.append(found("other", "medium", manifest.place(), "The manifest is not readable JSON.", MANIFEST))
    of_manifest = [Offer(manifest, tool) for tool in declared or ()] if manifest else []
    names = frozenset(offer.tool.name for offer in (*of_manifest, *of_python, *scripts))
    findings += [f for offer in (*of_manifest, *of_python) if (f := poisoned(offer, names)) is not None]
    if manifest is not None:
        findings += _twice(manifest, declared or (), {finding.target_pattern for finding in findings})
    if manifest is not None and declared is not None and offered:
        findings += _disagreement(manifest, declared, offered)
    return Report(findings=tuple(findings))


def tools_of_manifest(source: SourceFile) -> tuple[Tool, ...] | None:
    """Return the tools that mcp.json declares; None if it cannot be read."""
    document = read_object(source)
    if document is None:
        return None
    tools, line = [], 1
    for entry in objects(document.get("tools"))[:MAX_TOOLS]:
        name = string(entry.get("name"))
        line = line_of(source, name, line)
        texts = [string(entry.get("description")), *_schema_texts(entry.get("inputSchema"))]
        tools.append(Tool(name, tuple(text for text in texts if text), line))
    return tuple(tools)


def _schema_texts(schema: Any) -> list[str]:
    """Return the titles, descriptions, defaults and allowed values that a schema shows to the model."""
    texts: list[str] = []
    queue = [schema]
    while queue and len(texts) < _MAX_SCHEMA_TEXTS:
        item = queue.pop(0)
        if isinstance(item, dict):
            texts += [text for key in ("description", "title", "default") if (text := string(item.get(key)))]
            queue += item.values()
        elif isinstance(item, list):
            texts += [text for text in item if isinstance(text, str)]
            queue += [part for part in item if not isinstance(part, str)]
    return texts[:_MAX_SCHEMA_TEXTS]


def _twice(manifest: SourceFile, declared: tuple[Tool, ...], told: set[str]) -> Iterator[Finding]:
    """Yield the tools whose name another has already: which of them a model gets, nobody can say."""
    names: set[str] = set()
    for tool in declared:
        if tool.name in names and tool.name not in told:
            text = "The manifest declares another tool of this name."
            yield found("tool_poisoning", "high", manifest.place(tool.line), text, tool.name)
        names.add(tool.name)


def _disagreement(manifest: SourceFile, declared: tuple[Tool, ...], offered: Sequence[Offer]) -> Iterator[Finding]:
    declared_texts = {tool.name: tool.texts for tool in declared}
    offered_names = {offer.tool.name for offer in offered}
    for source, tool in offered:
        place = source.place(tool.line)
        if tool.name not in declared_texts:
            text = "The server offers a tool that its manifest does not declare."
            yield found("tool_poisoning", "high", place, text, tool.name)
        elif any(text not in declared_texts[tool.name] for text in tool.texts):
            text = "The server describes a tool in other words than its manifest."
            yield found("tool_poisoning", "medium", place, text, tool.name)
    for tool in declared:
        if tool.name not in offered_names:
            text = "The manifest declares a tool that the server does not have."
            yield found("other", "low", manifest.place(tool.line), text, tool.name)
