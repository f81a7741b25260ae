"""Which declaration a name refers to: functions as scopes, and what patterns bind."""

from collections.abc import Iterator
from typing import Final

from miner.analysis.bounds import MAX_SCRIPT_SCOPES
from miner.analysis.script.syntax import Code, Node, UnreadableScriptError

FUNCTIONS: Final = frozenset(
    {
        "arrow_function",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
    }
)
_NAMED: Final = frozenset({"function_declaration", "generator_function_declaration"})
_BINDERS: Final = {
    **dict.fromkeys((*_NAMED, "class_declaration", "abstract_class_declaration", "variable_declarator"), "name"),
    "catch_clause": "parameter",
    "for_in_statement": "left",
}
_IMPORTING: Final = frozenset({"import_clause", "namespace_import", "import_require_clause"})
_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier_pattern", "type_identifier"})
_PARTS: Final = {  # what of a pattern has names in it: children that are this to it
    "pair_pattern": "value",
    **dict.fromkeys(("assignment_pattern", "object_assignment_pattern"), "left"),
    **dict.fromkeys(("required_parameter", "optional_parameter"), "pattern"),
    **dict.fromkeys(("object_pattern", "rest_pattern", "array_pattern"), ""),
}
_MAX_PATTERN: Final = 2_000  # names that one pattern binds
Path = tuple[str, ...]


class Binding:
    """A declared name.

    Attributes:
        meaning: the dotted name that it stands for (`fs.readFile`); empty for what is the file's own.
        value: the expression that it is declared with.
        function: the function that it is.
        constant: whether nothing is assigned to it after its declaration.
    """

    __slots__ = ("constant", "function", "meaning", "value")

    def __init__(self) -> None:
        self.meaning = ""
        self.value: Node | None = None
        self.function: Node | None = None
        self.constant = True


class _Scope:
    __slots__ = ("depth", "names", "outer")

    def __init__(self, outer: "_Scope | None") -> None:
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer else 0
        self.names: dict[str, Binding] = {}


class Scopes:
    """The scopes of a file.

    Raises:
        UnreadableScriptError: more functions within functions than are read.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.texts: dict[tuple[int, int], str | None] | None = None  # of expressions, once every name has its value
        top = _Scope(None)
        self._of = [top] * len(code.nodes)
        self._home: list[Node | None] = [None] * len(code.nodes)  # the function that the node is part of
        for node in code.nodes[1:]:
            parent = node.parent or node
            if parent.kind in FUNCTIONS and node.field != "name":
                scope = self._inner(parent)
                self._home[node.index] = parent
            else:
                scope = self._of[parent.index]
                self._home[node.index] = self._home[parent.index]
            self._of[node.index] = scope
        self._declare_all()
        self._note_assignments()

    def _inner(self, function: Node) -> _Scope:
        first = next(child for child in function.children if child.field != "name")
        scope = self._of[first.index]
        if scope is self._of[function.index] or scope.depth == 0:
            scope = _Scope(self._of[function.index])
            if scope.depth > MAX_SCRIPT_SCOPES:
                raise UnreadableScriptError("nested too deeply")
            self._of[first.index] = scope
        return scope

    def function_of(self, node: Node) -> Node | None:
        """Return the function whose body the node is in; None for the file's own statements."""
        return self._home[node.index]

    def binding(self, node: Node) -> Binding | None:
        """Return the declaration that an identifier refers to; None for a global."""
        name = self.code.text(node)
        scope: _Scope | None = self._of[node.index]
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def _declare_all(self) -> None:
        for node in self.code.nodes:
            for pattern in _patterns(node):
                for name, _ in bound(self.code, pattern):
                    found = self._of[name.index].names.setdefault(self.code.text(name), Binding())
                    if node.kind in _NAMED:
                        found.function = node

    def _note_assignments(self) -> None:
        for node in self.code.nodes:
            if node.kind in ("assignment_expression", "augmented_assignment_expression", "update_expression"):
                target = node.children[0] if node.children else None
                found = self.binding(target) if target is not None and target.kind == "identifier" else None
                if found is not None:
                    found.constant = False


def _patterns(node: Node) -> list[Node]:
    """Return the patterns whose names a node declares."""
    if node.kind in _BINDERS:
        return [child for child in node.children if child.field == _BINDERS[node.kind]]
    if node.kind == "formal_parameters":
        return node.children
    if node.kind == "identifier" and node.field == "parameter":
        return [node]
    if node.kind in _IMPORTING:
        return [child for child in node.children if child.kind == "identifier"]
    return node.children[-1:] if node.kind == "import_specifier" else []


def bound(code: Code, pattern: Node) -> Iterator[tuple[Node, Path]]:
    """Yield the names that a pattern binds, each with the keys that lead to it (`*` for an unknown one)."""
    queue: list[tuple[Node, Path]] = [(pattern, ())]
    for _ in range(_MAX_PATTERN):
        if not queue:
            return
        node, path = queue.pop()
        if node.kind == "shorthand_property_identifier_pattern":
            yield node, (*path, code.text(node))
        elif node.kind in _NAMES:
            yield node, path
        elif node.kind in _PARTS:
            step = _step(code, node)
            queue += [(child, (*path, *step)) for child in node.children if child.field == _PARTS[node.kind]]


def _step(code: Code, node: Node) -> Path:
    """Return the key with which a pattern takes a part of the value."""
    if node.kind == "array_pattern":
        return ("*",)
    key = node.child("key") if node.kind == "pair_pattern" else None
    return (code.text(key).strip("\"'"),) if key is not None else ()


def parameters_of(function: Node) -> list[Node]:
    """Return the patterns of a function's parameters."""
    alone = function.child("parameter")
    many = function.child("parameters")
    return [alone] if alone is not None else list(many.children) if many is not None else []
