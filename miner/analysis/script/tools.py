"""MCP tools that JavaScript and TypeScript define: what models are told of them."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis.bounds import MAX_TOOLS
from miner.analysis.mcp_tool import Tool
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.names import Names
from miner.analysis.script.scopes import FUNCTIONS
from miner.analysis.script.strings import leading_text, text_of, unwrapped
from miner.analysis.script.syntax import Node

_VERBS: Final = frozenset({"tool", "registerTool", "addTool", "defineTool"})
_SCHEMAS: Final = frozenset(
    {"inputSchema", "input_schema", "parameters", "outputSchema", "annotations", "schema", "execute", "handler"}
)
_TEXTS: Final = frozenset({"description", "title", "default"})
_MAX_TEXTS: Final = 64  # of one tool
_MAX_NODES: Final = 2_000  # of one definition
_MAX_LOOKED: Final = 20_000  # of all definitions of a file together: one may stand in another


def tools_of(names: Names) -> tuple[Tool, ...]:
    """Return the tools that the file spells out: registered by a call, or written as objects with a schema."""
    tools: dict[str, Tool] = {}
    left = _MAX_LOOKED
    for node in names.code.nodes:
        definition = _registered(names, node) if node.kind == "call_expression" else _written(names, node)
        if definition is None or left <= 0 or len(tools) >= MAX_TOOLS:
            continue
        name, first, parts = definition
        texts = [(text, _line_of(names, one)) for one in first if (text := _known_text(names, one))]
        for part in parts:
            nodes = _within(part)
            left -= len(nodes)
            texts += _texts_in(names, nodes)
        if name not in tools or (texts and not tools[name].texts):
            tools[name] = _tool(name, texts, node.line)
    return tuple(tools.values())


class _Definition(NamedTuple):
    """A tool's name, its description, and where texts about its parameters stand."""

    name: str
    first: list[Node]
    parts: list[Node]


def _registered(names: Names, call: Node) -> _Definition | None:
    function, arguments = parts_of_call(call)
    key = function.child("property") if function is not None and function.kind == "member_expression" else None
    if key is None or len(arguments) < 2 or names.code.text(key) not in _VERBS:  # noqa: PLR2004 - name and definition
        return None
    name = text_of(names.scopes, arguments[0])
    return _Definition(name, arguments[1:2], arguments[1:]) if name else None


def _written(names: Names, node: Node) -> _Definition | None:
    if node.kind != "object":
        return None
    fields = {names.code.key_of(entry): entry for entry in node.children}
    if "name" not in fields or "description" not in fields or fields.keys().isdisjoint(_SCHEMAS):
        return None
    name, value = (fields[key].child("value") for key in ("name", "description"))
    text = text_of(names.scopes, name)
    return _Definition(text, [value] if value is not None else [], [node]) if text else None


def _tool(name: str, texts: list[tuple[str, int]], line: int) -> Tool:
    known = dict(reversed(texts))
    ordered = list(dict.fromkeys(text for text, _ in texts))[:_MAX_TEXTS]
    return Tool(name, tuple(ordered), line, tuple(known[text] for text in ordered))


def _within(root: Node) -> list[Node]:
    """Return the nodes of a definition, those of its functions left out."""
    nodes: list[Node] = []
    queue = [root]
    while queue and len(nodes) < _MAX_NODES:
        node = queue.pop()
        if node.kind not in FUNCTIONS:
            nodes.append(node)
            queue += reversed(node.children)
    return nodes


def _texts_in(names: Names, nodes: list[Node]) -> Iterator[tuple[str, int]]:
    """Yield (text, line) of the descriptions among the nodes, those of parameters among them."""
    for node in nodes:
        value = _described(names, node)
        text = _known_text(names, value) if value is not None else ""
        if text and value is not None:
            yield text, _line_of(names, value)


def _line_of(names: Names, node: Node) -> int:
    """Return the line of a text, where it is written: that of a constant's value."""
    found = names.scopes.binding(node) if node.kind == "identifier" else None
    return found.value.line if found is not None and found.value is not None else node.line


def _described(names: Names, node: Node) -> Node | None:
    if node.kind == "pair":
        return node.child("value") if names.code.key_of(node) in _TEXTS else None
    if node.kind == "call_expression":
        function, arguments = parts_of_call(node)
        key = function.child("property") if function is not None and function.kind == "member_expression" else None
        if key is not None and arguments and names.code.text(key) == "describe":
            return arguments[0]
    return None


def _known_text(names: Names, node: Node) -> str:
    """Return what is known of a text: all of it, or how it begins."""
    node = unwrapped(node)
    return text_of(names.scopes, node) or leading_text(names.scopes, node)
