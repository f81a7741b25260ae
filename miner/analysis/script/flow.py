"""What expressions hold: secrets, what was fetched or decoded, connections and shells, followed through one file.

Labels go from parts to wholes and stop where a value only answers a question about what it came from. How they go
through names, functions and callbacks is in `holding.py`.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Final

from miner.analysis.script import labels as lab
from miner.analysis.script import tables
from miner.analysis.script.holding import Holding, parts_of_call
from miner.analysis.script.labels import NONE, Labels, joined
from miner.analysis.script.names import Names
from miner.analysis.script.sources import of_call, of_literal, of_name
from miner.analysis.script.strings import unwrapped
from miner.analysis.script.syntax import Node

_PASSES: Final = 6  # a value that changes hands more often than this is lost sight of
_HIDDEN: Final = frozenset({lab.FETCHED, lab.DECODED, lab.REMOTE})
_SECRETS: Final = frozenset({lab.ENVIRONMENT, lab.FILE})
_MAX_PATH: Final = 256  # characters
_CARRYING: Final = frozenset({"+", "||", "??", "&&"})
_WITH_CALLBACK: Final = frozenset({"then", "map", "flatMap", "reduce"})
_WITH_ARGUMENTS: Final = frozenset({"concat", "join", "replace"})


class Flow:
    """The labels of a file's expressions.

    Args:
        names: of the file.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self._labels: dict[int, Labels] = {}
        self.holding = Holding(names, self.of)
        for node in names.code.nodes:
            labels = of_literal(names, node) if node.kind in _LITERALS else lab.NONE
            if labels:
                self._labels[node.index] = labels
        self._literals = [n for n in names.code.nodes if n.kind == "string" and n.end - n.start <= _MAX_PATH]
        self._nodes = [node for node in names.code.nodes if node.kind in _RULES or node.kind in _STATEMENTS]
        for _ in range(_PASSES):
            before = self.holding.size
            self._follow()
            if self.holding.size == before:
                break

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The paths, as the source writes them, of files that what was fetched or decoded is written to."""
        paths = set()
        for node in self._nodes:
            function, arguments = parts_of_call(node) if node.kind == "call_expression" else (None, [])
            if len(arguments) > 1 and self.names.of(function) in tables.WRITERS and self.of(arguments[1]) & _HIDDEN:
                paths.add(self.names.code.text(arguments[0])[:_MAX_PATH].strip("'\"`"))
        return frozenset(paths)

    def of(self, node: Node | None) -> Labels:
        """Return the labels of an expression."""
        return self._labels.get(node.index, NONE) if node is not None else NONE

    def of_all(self, nodes: list[Node]) -> Labels:
        """Return the labels of several expressions together."""
        return joined(self._labels[node.index] for node in nodes if node.index in self._labels)

    def _follow(self) -> None:
        for node in reversed(self._nodes):  # children come before their parents
            rule = _RULES.get(node.kind)
            labels = rule(self, node) if rule is not None else NONE
            if labels:
                self._labels[node.index] = labels
        for node in self._nodes:
            if node.kind in _STATEMENTS:
                self.holding.hand_on(node)
        for node in self._literals if self.holding.written else ():
            held = self.holding.written.get(self.names.code.text(node)[:_MAX_PATH].strip("'\"`"))
            if held:
                self._labels[node.index] = joined((self.of(node), held))

    def whole(self, node: Node) -> Labels:
        """Return what the parts hold."""
        return self.of_all(node.children)

    def identifier(self, node: Node) -> Labels:
        """Return what a name stands for or holds."""
        meaning = self.names.of(node) if node.kind == "identifier" else ""
        return of_name(meaning) | self.holding.identifier(node)

    def member(self, node: Node) -> Labels:
        """Return what a field holds."""
        name = self.names.of(node)
        owner, key = node.child("object"), node.child("property") or node.child("index")
        if name.startswith("process.env") or owner is None or key is None:
            return of_name(name)
        text, owner = self.names.code.text(key), unwrapped(owner)
        if owner.kind == "this":
            return self.holding.own_field(text)
        if node.kind == "subscript_expression" and not name:
            if of_name(self.names.of(owner)):
                return frozenset({lab.VARIABLE})
            if self.names.of(owner) in tables.HOLDERS:
                return frozenset({lab.COMPUTED})
        held = self.holding.field(owner, text)
        if held is not None:
            return held
        return NONE if text in tables.KEEPERS else self.of(owner)

    def binary(self, node: Node) -> Labels:
        """Return what a sum or a choice of two holds; a comparison holds nothing."""
        operator = node.child("operator")
        carries = operator is not None and self.names.code.text(operator) in _CARRYING
        return self.whole(node) if carries else NONE

    def ternary(self, node: Node) -> Labels:
        """Return what either outcome holds."""
        return self.of_all([child for child in node.children if child.field != "condition"])

    def last(self, node: Node) -> Labels:
        """Return what the last part holds."""
        return self.of(node.children[-1]) if node.children else NONE

    def call(self, node: Node) -> Labels:
        """Return what a call or a `new` gives."""
        function, arguments = parts_of_call(node)
        if function is None:
            return NONE
        name, given = self.names.of(function), self.of_all(arguments)
        parts = [of_call(self.names, name, arguments, given)]
        own = self.holding.function_of(function)
        if own is not None:
            parts.append(self.holding.returned(own))
        if name in tables.CARRIERS or name in tables.DECODERS:
            parts.append(given)
        elif node.kind == "call_expression" and function.kind == "member_expression":
            parts.append(self._method(function, arguments))
        return joined(parts)

    def _method(self, function: Node, arguments: list[Node]) -> Labels:
        """Return what a method gives of what it is called on."""
        key, owner = function.child("property"), function.child("object")
        verb = self.names.code.text(key) if key is not None else ""
        if verb in tables.KEEPERS:
            return NONE
        if verb in tables.TAKING:
            return frozenset(label for label in self.of(owner) if label in _SECRETS or label.startswith(lab.VARIABLE))
        parts = [self.of(owner)]
        if verb in _WITH_CALLBACK:
            parts += [self.holding.returned(one) for one in map(self.holding.function_of, arguments) if one]
        if verb in _WITH_ARGUMENTS:
            parts.append(self.of_all(arguments))
        return joined(parts)


_LITERALS: Final = frozenset({"string", "string_fragment"})
_STATEMENTS: Final = frozenset(
    {
        "variable_declarator",
        "assignment_expression",
        "augmented_assignment_expression",
        "for_in_statement",
        "return_statement",
        "arrow_function",
        "public_field_definition",
        "field_definition",
        "call_expression",
        "new_expression",
    }
)
_WHOLES: Final = (
    "array arguments object spread_element template_string template_substitution parenthesized_expression"
    " await_expression yield_expression as_expression satisfies_expression non_null_expression type_assertion"
)
_RULES: Final[dict[str, Callable[[Flow, Node], Labels]]] = {
    **dict.fromkeys(_WHOLES.split(), Flow.whole),
    **dict.fromkeys(("identifier", "shorthand_property_identifier"), Flow.identifier),
    **dict.fromkeys(("member_expression", "subscript_expression"), Flow.member),
    **dict.fromkeys(("call_expression", "new_expression"), Flow.call),
    **dict.fromkeys(("pair", "sequence_expression", "assignment_expression"), Flow.last),
    "binary_expression": Flow.binary,
    "augmented_assignment_expression": Flow.last,
    "ternary_expression": Flow.ternary,
}
