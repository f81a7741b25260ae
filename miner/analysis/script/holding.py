"""What names and fields hold, and how it is handed on: by assignments, to the file's own functions, to callbacks."""

from collections.abc import Callable
from typing import Final

from miner.analysis.script import labels as lab
from miner.analysis.script import tables
from miner.analysis.script.labels import NONE, OBJECTS, Labels, joined
from miner.analysis.script.names import Names
from miner.analysis.script.scopes import FUNCTIONS, Binding, bound, parameters_of
from miner.analysis.script.sources import of_name
from miner.analysis.script.strings import unwrapped
from miner.analysis.script.syntax import Node

_MEMBERS: Final = frozenset({"member_expression", "subscript_expression"})
_REACTING: Final = frozenset({"on", "once", "addListener", "addEventListener"})
_CODE: Final = frozenset({lab.FETCHED, lab.DECODED, lab.REMOTE})
_SECRET: Final = frozenset({lab.ENVIRONMENT, lab.FILE})
_MAX_PATH: Final = 256  # characters
_Key = tuple[int, str] | int | str


class Holding:
    """The labels of names, fields and returned values, as far as they are known yet.

    Args:
        names: of the file.
        of: returns the labels of an expression.
    """

    def __init__(self, names: Names, of: Callable[[Node | None], Labels]) -> None:
        self.names = names
        self.code = names.code
        self._of = of
        self._held: dict[_Key, Labels] = {}  # by a binding's id, that and a field, or a field of `this`
        self._returned: dict[int, Labels] = {}  # by a function's index
        self._objects: set[int] = set()  # whose fields are written out: ids of bindings, and functions that return one
        self.written: dict[str, Labels] = {}  # labels of the paths of files by what is written to them
        self.size = 0  # grows with what is known

    def identifier(self, node: Node) -> Labels:
        """Return what a name holds."""
        found = self._binding(node)
        return self._held.get(id(found), NONE) if found is not None else NONE

    def own_field(self, key: str) -> Labels:
        """Return what a field of `this` holds."""
        return self._held.get(key, NONE)

    def field(self, node: Node, key: str) -> Labels | None:
        """Return what a field of an object holds; None if the object's fields are not written out."""
        record = self._record(node)
        return self._held.get((record, key), NONE) if record else None

    def returned(self, function: Node) -> Labels:
        """Return what a function returns."""
        return self._returned.get(function.index, NONE)

    def function_of(self, node: Node) -> Node | None:
        """Return the function that an expression is, or is the name of."""
        node = unwrapped(node)
        if node.kind in FUNCTIONS:
            return node
        found = self._binding(node)
        return found.function if found is not None else None

    def hand_on(self, node: Node) -> None:
        """Take in what a statement or a call hands on."""
        if node.kind in ("variable_declarator", "assignment_expression", "augmented_assignment_expression"):
            self._assign(node)
        elif node.kind == "for_in_statement":
            target = node.child("left")
            if target is not None:
                self._bind(target, self._of(node.child("right")), node.child("right"))
        elif node.kind == "return_statement":
            home = self.names.scopes.function_of(node)
            self._return(home, joined(map(self._of, node.children)))
            if home is not None and node.children:
                self._note_fields(_record_of(home), unwrapped(node.children[0]))
        elif node.kind == "arrow_function":
            body = node.child("body")
            self._return(node, self._of(body))
            if body is not None:
                self._note_fields(_record_of(node), unwrapped(body))
        elif node.kind in ("public_field_definition", "field_definition"):
            name = node.child("name") or node.child("property")
            self._add(self.code.text(name) if name else "", self._of(node.child("value")))
        elif node.kind in ("call_expression", "new_expression"):
            self._call(node)

    def _binding(self, node: Node) -> Binding | None:
        return self.names.scopes.binding(node) if "identifier" in node.kind else None

    def _add(self, key: _Key, labels: Labels) -> None:
        if labels:
            before = self._held.get(key, NONE)
            self._held[key] = joined((before, labels))
            self.size += len(self._held[key]) - len(before)

    def _return(self, function: Node | None, labels: Labels) -> None:
        if function is not None and labels:
            before = self.returned(function)
            self._returned[function.index] = joined((before, labels))
            self.size += len(self.returned(function)) - len(before)

    def _assign(self, node: Node) -> None:
        target, value = node.child("name") or node.child("left"), node.child("value") or node.child("right")
        if target is None or value is None:
            return
        if target.kind in _MEMBERS:
            self._assign_member(target, self._of(value))
            return
        found = self._binding(target)
        if found is not None:
            self._note_fields(id(found), unwrapped(value))
        self._bind(target, self._of(value), value)

    def _assign_member(self, target: Node, labels: Labels) -> None:
        key, owner = target.child("property") or target.child("index"), target.child("object")
        if key is None or owner is None:
            return
        if owner.kind == "this":
            self._add(self.code.text(key), labels)
            return
        found = self._root(owner)
        if found is not None:
            self._add(id(found), labels)
            self._add((id(found), self.code.text(key)), labels)

    def _root(self, node: Node | None) -> Binding | None:
        """Return the name that a chain of members begins with."""
        while node is not None and node.kind in _MEMBERS:
            node = node.child("object")
        return self._binding(node) if node is not None else None

    def _record(self, node: Node) -> int:
        """Return the object with known fields that an expression is; 0 for none."""
        found = self._binding(node)
        if found is not None and id(found) in self._objects:
            return id(found)
        call = unwrapped(found.value) if found is not None and found.value is not None else unwrapped(node)
        function = parts_of_call(call)[0] if call.kind == "call_expression" else None
        own = self.function_of(function) if function is not None else None
        return _record_of(own) if own is not None and _record_of(own) in self._objects else 0

    def _note_fields(self, record: int, value: Node) -> None:
        if value.kind != "object" or any(child.kind == "spread_element" for child in value.children):
            return
        if record not in self._objects:
            self._objects.add(record)
            self.size += 1
        for pair in value.children:
            self._add((record, self.code.key_of(pair)), self._of(pair))

    def _bind(self, pattern: Node, labels: Labels, value: Node | None) -> None:
        """Give a pattern's names what they take of a value."""
        whole = unwrapped(value) if value is not None else None
        environment = whole is not None and of_name(self.names.of(whole)) == {lab.ENVIRONMENT}
        for name, path in bound(self.code, pattern):
            found = self.names.scopes.binding(name)
            if found is None:
                continue
            part: Labels | None = labels
            if path and path[0] != "*" and whole is not None:
                part = of_name(f"process.env.{path[0]}") if environment else self.field(whole, path[0])
            self._add(id(found), labels if part is None else part)

    def _call(self, call: Node) -> None:
        function, arguments = parts_of_call(call)
        if function is None:
            return
        own = self.function_of(function)
        if own is not None:
            parameters = parameters_of(own)
            for parameter, argument in zip(parameters, arguments, strict=False):
                self._bind(parameter, self._of(argument), argument)
            for argument in arguments[len(parameters) :] if parameters and _takes_rest(parameters[-1]) else ():
                self._bind(parameters[-1], self._of(argument), None)
        self._write(call, arguments)
        member = function.kind == "member_expression"
        key, owner = (function.child("property"), function.child("object")) if member else (None, None)
        verb = self.code.text(key) if key is not None else ""
        received = self._received(call, self.names.of(function), verb, self._of(owner))
        for callback in map(self.function_of, arguments) if received else ():
            for parameter in parameters_of(callback) if callback is not None else ():
                self._bind(parameter, received, None)
        found = self._root(owner) if verb in tables.ADDERS and not self._of(owner) & OBJECTS else None
        if found is not None:
            self._add(id(found), joined(map(self._of, arguments)))

    def _write(self, call: Node, arguments: list[Node]) -> None:
        """Remember of a file's path what is written to the file."""
        function = parts_of_call(call)[0]
        key = function.child("property") if function is not None and function.kind == "member_expression" else None
        if key is not None and self.code.text(key) == "pipe" and function is not None and arguments:
            stream, content = arguments[0], self._of(function.child("object"))
        elif self.names.of(function) in ("stream.pipeline", "stream.promises.pipeline", "stream/promises.pipeline"):
            stream, content = arguments[-1], joined(map(self._of, arguments[:-1]))
        elif self.names.of(function) in tables.WRITERS and len(arguments) > 1:
            self._hold(arguments[0], self._of(arguments[1]))
            return
        else:
            return
        opened, given = parts_of_call(unwrapped(stream))
        if opened is not None and given and self.names.of(opened) == "fs.createWriteStream":
            self._hold(given[0], content)

    def _hold(self, path: Node, content: Labels) -> None:
        labels = frozenset({lab.DROPPED}) if content & _CODE else NONE
        labels |= {lab.SECRET_PATH} if content & _SECRET else NONE
        if not labels:
            return
        found = self._binding(unwrapped(path))
        if found is not None:
            self._add(id(found), labels)
        elif path.end - path.start <= _MAX_PATH:
            text = self.code.text(path).strip("'\"`")
            before = self.written.get(text, NONE)
            self.written[text] = joined((before, labels))
            self.size += len(self.written[text]) - len(before)

    def _received(self, call: Node, name: str, verb: str, owner: Labels) -> Labels:
        """Return what a callback gets that the call is given."""
        if name in tables.SERVERS:
            return frozenset({lab.CONNECTION})
        if verb in _REACTING and owner & OBJECTS:
            return frozenset({lab.REMOTE if lab.CONNECTION in owner else lab.SHELL})
        return (self._of(call) | owner) - OBJECTS


def _takes_rest(parameter: Node) -> bool:
    inner = parameter.child("pattern") or parameter
    return inner.kind == "rest_pattern"


def _record_of(function: Node) -> int:
    return -function.index  # never the id of a binding


def parts_of_call(node: Node) -> tuple[Node | None, list[Node]]:
    """Return the function and the arguments of a call or a `new`."""
    function = node.child("function") or node.child("constructor")
    arguments = node.child("arguments")
    given = arguments.children if arguments is not None and arguments.kind == "arguments" else []
    return (unwrapped(function) if function is not None else None), [c for c in given if c.kind != "comment"]
