"""JavaScript and TypeScript to syntax trees, within bounds.

The trees are tree-sitter's, copied once into nodes of our own: all that follows walks lists, never the stack.
"""

from typing import Final

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Parser, Tree

from miner.analysis.bounds import MAX_SCRIPT_ANGLES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_FILE, Budget
from miner.analysis.source import SourceFile

_JAVASCRIPT: Final = Language(tree_sitter_javascript.language())
_TYPESCRIPT: Final = Language(tree_sitter_typescript.language_typescript())
_TSX: Final = Language(tree_sitter_typescript.language_tsx())
_OF_SUFFIX: Final = {
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": _TSX,
}
_SHEBANGS: Final = (b"node", b"bun", b"deno", b"tsx", b"ts-node")
_MAX_KEY: Final = 200  # bytes
_FIRST_LINE: Final = 128  # bytes
_COST_OF_TROUBLE: Final = 7  # recovering from errors, and depth, take the parser about as many times longer again
_DECLARATIONS: Final = (".d.ts", ".d.mts", ".d.cts")


class UnreadableScriptError(ValueError):
    """The source is not parsed."""


class Node:
    """A named node of the tree, or an operator.

    Attributes:
        kind: the grammar's name for it.
        field: what it is to its parent; empty if the grammar does not say.
        start, end: its bytes in the source.
        line: of its first byte, from 1.
        parent: None at the root alone.
        children: named ones and operators, in order.
        index: its place in `Code.nodes`.
    """

    __slots__ = ("children", "end", "field", "index", "kind", "line", "parent", "start")

    def __init__(  # noqa: PLR0913, PLR0917 - a node's parts
        self, kind: str, field: str, start: int, end: int, line: int, parent: "Node | None", index: int
    ) -> None:
        self.kind = kind
        self.field = field
        self.start = start
        self.end = end
        self.line = line
        self.parent = parent
        self.children: list[Node] = []
        self.index = index

    def child(self, field: str) -> "Node | None":
        """Return the child that is `field` to this node."""
        return next((child for child in self.children if child.field == field), None)


class Code:
    """A parsed file.

    Attributes:
        source: its bytes.
        nodes: parents before children.
    """

    def __init__(self, source: bytes, nodes: list[Node]) -> None:
        self.source = source
        self.nodes = nodes

    def text(self, node: Node) -> str:
        """Return what the source has where the node stands."""
        return self.source[node.start : node.end].decode("utf-8", "replace")

    def key_of(self, entry: Node) -> str:
        """Return the key of an object's entry as it is written, without quotes; its first 200 bytes."""
        key = entry.child("key") or entry.child("name") or entry
        return self.source[key.start : min(key.end, key.start + _MAX_KEY)].decode("utf-8", "replace").strip("\"'")


def language_of(source: SourceFile) -> Language | None:
    """Return the grammar for the file, by its name or its first line; None if it is no JavaScript or TypeScript."""
    if "." in source.name:
        return None if source.name.endswith(_DECLARATIONS) else _OF_SUFFIX.get(source.suffix)
    first = source.content[:_FIRST_LINE].partition(b"\n")[0]
    words = first.removeprefix(b"#!").replace(b"/", b" ").split() if first.startswith(b"#!") else []
    return _JAVASCRIPT if any(word in _SHEBANGS for word in words) else None


def parse(source: bytes, language: Language, budget: Budget) -> Code:
    """Return the file's tree. What it costs is taken from the budget.

    Raises:
        UnreadableScriptError: larger, deeper or dearer than what is read.
    """
    if len(source) > MAX_SCRIPT_FILE:
        raise UnreadableScriptError("larger than what is read")
    # Type brackets that are never closed cost the square of their number at the end of the file.
    angles = source.count(b"<") if language is not _JAVASCRIPT else 0
    if angles > MAX_SCRIPT_ANGLES or not budget.take_angles(angles) or not budget.take_script(len(source)):
        raise UnreadableScriptError("beyond what is read of one bundle")
    tree = Parser(language).parse(source)
    many = not budget.take_script_nodes(tree.root_node.descendant_count)
    nodes = None if many else _copied(tree)
    if nodes is None or tree.root_node.has_error:
        budget.take_script(min(_COST_OF_TROUBLE * len(source), budget.script))
    if nodes is None:
        raise UnreadableScriptError("beyond what is read of one bundle" if many else "nested too deeply")
    return Code(source, nodes)


def _copied(tree: Tree) -> list[Node] | None:
    """Return the tree's nodes; None if it is too deep."""
    cursor = tree.walk()
    root = Node(cursor.node.type if cursor.node else "program", "", 0, 0, 1, None, 0)
    nodes, parent, depth = [root], root, 0
    if not cursor.goto_first_child():
        return nodes
    while True:
        inner, field = cursor.node, cursor.field_name or ""
        if inner is not None and (inner.is_named or field == "operator"):
            node = Node(
                inner.type, field, inner.start_byte, inner.end_byte, inner.start_point.row + 1, parent, len(nodes)
            )
            nodes.append(node)
            parent.children.append(node)
            if cursor.goto_first_child():
                parent, depth = node, depth + 1
                if depth > MAX_SCRIPT_DEPTH:
                    return None
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent() or parent.parent is None:
                return nodes
            parent, depth = parent.parent, depth - 1
