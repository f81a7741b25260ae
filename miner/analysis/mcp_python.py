"""MCP tools that Python offers: what models are told of them."""

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from miner.analysis.bounds import MAX_TOOLS, Budget
from miner.analysis.mcp_tool import Offer, Tool
from miner.analysis.python_parse import UnreadableSourceError, dotted, parse, text_of
from miner.analysis.source import SourceFile

SERVER: Final = "server.py"
_TABLES: Final = ("tool", "handler", "dispatch")  # what a dictionary of implementations is called
_OFFERS: Final = re.compile(rb"\btool\b|\bTool\(")  # no other file registers or lists tools of the protocol
_TEXTS: Final = ("description", "title", "default")  # that a model is told
_MAX_TEXTS: Final = 64  # of one tool
_MAX_LOOKED: Final = 20_000  # syntax nodes of all definitions of a file together: one may stand in another

Text = tuple[str, int]


def offers_of_python(sources: Iterable[SourceFile], budget: Budget) -> list[Offer]:
    """Return the tools that Python files offer, those of `server.py` first, as far as the budget goes."""
    python = [s for s in sources if s.path == SERVER or (s.suffix == "py" and _OFFERS.search(s.content))]
    ordered = sorted(python, key=lambda source: (source.path != SERVER, len(source.content), source.path))
    read = [source for source in ordered if budget.take_tools(len(source.content))]
    return [Offer(source, tool) for source in read for tool in tools_of_python(source)]


def tools_of_python(source: SourceFile) -> tuple[Tool, ...]:
    """Return the tools that the source spells out: as literals, by calls, as decorated functions, in tables of them."""
    try:
        tree = parse(source.content)
    except UnreadableSourceError:
        return ()
    module = _Module(tree)
    tools: dict[str, Tool] = {}
    for node in ast.walk(tree):
        for tool in module.tools_in(node):
            if tool.name not in tools or (tool.texts and not tools[tool.name].texts):
                tools[tool.name] = tool
    return tuple(list(tools.values())[:MAX_TOOLS])


class _Module:
    """A module, with the texts that it gives a name, once.

    Args:
        tree: of the module.
    """

    def __init__(self, tree: ast.Module) -> None:
        values: dict[str, list[ast.expr]] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    values.setdefault(dotted(target), []).append(node.value)
        self._constants = {name: found[0] for name, found in values.items() if len(found) == 1}
        self._left = _MAX_LOOKED

    def tools_in(self, node: ast.AST) -> Iterator[Tool]:
        """Yield the tools that a node spells out by itself."""
        if isinstance(node, ast.Dict):
            yield from self._described(node, _entries(node), ())
        elif isinstance(node, ast.Call) and _last(node.func) == "Tool":
            given = _keywords(node)
            yield from self._described(node, given, [given[key] for key in given if key not in ("name", "description")])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                if _last(call.func if call else decorator) == "tool":
                    yield self._decorated(node, call)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            names = [dotted(target).lower() for target in node.targets]
            if any(word in name for name in names for word in _TABLES):
                named = [(text_of(key), key.lineno) for key in node.value.keys if key is not None]
                yield from (Tool(name, (), line) for name, line in named if name)

    def _described(
        self, node: ast.expr, given: Mapping[str | None, ast.expr], rest: Iterable[ast.expr]
    ) -> Iterator[Tool]:
        name = self._text(given.get("name"))
        if name is not None and "description" in given:
            yield _tool(name[0], node.lineno, [self._text(given["description"]), *self._texts_in(rest)])

    def _decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call | None) -> Tool:
        """Return the tool of a function: its name and text are those of the decorator, else its own."""
        given = _keywords(call) if call else {}
        name = self._text(given.get("name") or next(iter(call.args if call else ()), None))
        text = self._text(given.get("description"))
        doc = ast.get_docstring(function, clean=False)
        if text is None and doc:
            text = doc, function.body[0].lineno
        return _tool(name[0] if name else function.name, function.lineno, [text, *self._texts_in([function.args])])

    def _texts_in(self, roots: Iterable[ast.AST]) -> Iterator[Text]:
        """Yield what a model is told of parameters: in a schema, or by `Field(description=…)`."""
        queue: deque[ast.AST] = deque(roots)
        while queue and self._left > 0:
            self._left -= 1
            node = queue.popleft()
            queue.extend(ast.iter_child_nodes(node))
            given = (
                _entries(node) if isinstance(node, ast.Dict) else _keywords(node) if isinstance(node, ast.Call) else {}
            )
            for key in filter(given.__contains__, _TEXTS):
                if (text := self._text(given[key])) is not None:
                    yield text

    def _text(self, node: ast.expr | None) -> Text | None:
        """Return a text that is spelled out here or as a constant, with its line; None for an empty one, too."""
        known = self._constants.get(node.id, node) if isinstance(node, ast.Name) else node
        text = text_of(known)
        return (text, known.lineno) if text and known is not None else None


def _tool(name: str, line: int, texts: Iterable[Text | None]) -> Tool:
    known: dict[str, int] = {}
    for text in texts:
        if text is not None and len(known) < _MAX_TEXTS:
            known.setdefault(*text)
    return Tool(name, tuple(known), line, tuple(known.values()))


def _entries(node: ast.Dict) -> dict[str | None, ast.expr]:
    return {text_of(key): value for key, value in zip(node.keys, node.values, strict=True) if key is not None}


def _keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    return {one.arg: one.value for one in call.keywords}


def _last(function: ast.expr) -> str:
    return dotted(function).rpartition(".")[2]
