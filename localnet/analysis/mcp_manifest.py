"""MCP servers: mcp.json and server.py, what their tools say and whether the two agree."""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final

from localnet.analysis.bounds import MAX_TOOLS
from localnet.analysis.json_file import line_of, objects, read_object, string
from localnet.analysis.mcp_tool import Offer, Tool, poisoned
from localnet.analysis.python_parse import UnreadableSourceError, dotted, parse, text_of
from localnet.analysis.result import Report, found
from localnet.analysis.source import SourceFile
from validator.protocol.sssa import Finding

MANIFEST: Final = "mcp.json"
SERVER: Final = "server.py"
_MAX_SCHEMA_TEXTS: Final = 64  # descriptions of one tool's parameters
_TABLES: Final = ("tool", "handler", "dispatch")  # what a dictionary of implementations is called


def read_server(sources: dict[str, SourceFile], scripts: Sequence[Offer] = ()) -> Report:
    """Return what the server's manifest and source offer to a model.

    Args:
        sources: the bundle's files.
        scripts: the tools that its JavaScript and TypeScript offer; what is wrong with these alone was said there.
    """
    manifest, server = sources.get(MANIFEST), sources.get(SERVER)
    findings: list[Finding] = []
    declared = tools_of_manifest(manifest) if manifest else None
    of_server = [Offer(server, tool) for tool in tools_of_python(server)] if server else []
    offered = [*of_server, *scripts]
    if manifest is not None and declared is None:
        findings.append(found("other", "medium", manifest.place(), "The manifest is not readable JSON.", MANIFEST))
    of_manifest = [Offer(manifest, tool) for tool in declared or ()] if manifest else []
    names = frozenset(offer.tool.name for offer in (*of_manifest, *offered))
    findings += [f for offer in (*of_manifest, *of_server) if (f := poisoned(offer, names)) is not None]
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


def tools_of_python(source: SourceFile) -> tuple[Tool, ...]:
    """Return the tools that the source spells out: in literals, as decorated functions, in tables of functions."""
    try:
        tree = parse(source.content)
    except UnreadableSourceError:
        return ()
    tools: dict[str, Tool] = {}
    for node in ast.walk(tree):
        for tool in _tools_in(node):
            if tool.name not in tools or (tool.texts and not tools[tool.name].texts):
                tools[tool.name] = tool
    return tuple(list(tools.values())[:MAX_TOOLS])


def _tools_in(node: ast.AST) -> Iterator[Tool]:
    if isinstance(node, ast.Dict):
        entry = {text_of(key): value for key, value in zip(node.keys, node.values, strict=True) if key is not None}
        name, description = text_of(entry.get("name")), entry.get("description")
        if name and description is not None:
            text = text_of(description)
            yield Tool(name, (text,) if text else (), node.lineno, (description.lineno,))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            if dotted(call.func if call else decorator).rpartition(".")[2] == "tool":
                name = (text_of(call.args[0]) if call and call.args else None) or node.name
                doc = ast.get_docstring(node, clean=False)
                yield Tool(name, (doc,) if doc else (), node.lineno, (node.body[0].lineno,))
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
        names = [dotted(target).lower() for target in node.targets]
        if any(word in name for name in names for word in _TABLES):
            for key in node.value.keys:
                if key is not None and (name := text_of(key)):
                    yield Tool(name, (), key.lineno)


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
