"""What the imports of a file call things: `cp.exec` is `child_process.exec`, however it came by the name."""

from typing import Final

from miner.analysis.bounds import MAX_DOTTED
from miner.analysis.script.scopes import Binding, Scopes, bound
from miner.analysis.script.strings import text_of, unwrapped
from miner.analysis.script.syntax import Code, Node

# Modules that do what another one does, under its name.
_SAME: Final = {
    "fs/promises": "fs.promises",
    "fs-extra": "fs",
    "graceful-fs": "fs",
    "dns/promises": "dns.promises",
    "node-fetch": "fetch",
    "cross-fetch": "fetch",
    "isomorphic-fetch": "fetch",
    "cross-spawn": "child_process.spawn",
    "undici.fetch": "fetch",
    "process/": "process",
}
_GLOBALS: Final = frozenset({"globalThis", "global", "window", "self"})
_INTEROP: Final = frozenset(
    {
        "__importDefault",
        "__importStar",
        "__toESM",
        "__toCommonJS",
        "_interopRequireDefault",
        "_interopRequireWildcard",
        "_interopDefault",
    }
)
_REQUIRES: Final = frozenset(
    {"require", "module.require", "process.mainModule.require", "require.main.require", "import"}
)
_ALIASING: Final = frozenset({"util.promisify", "promisify"})
_INSTANCES: Final = {"axios.create": "axios", "got.extend": "got", "module.createRequire": "require"}
_PASSES: Final = 2  # an import may stand below what uses it
_MAX_HOPS: Final = 6  # calls within calls


class Names:
    """What the names of a file stand for.

    Attributes:
        modules: imported modules (without `node:`) to the first line that imports them.
    """

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.code: Code = scopes.code
        self.modules: dict[str, int] = {}
        self._known: dict[int, str] | None = None  # by a node's index, once every name has its meaning
        for _ in range(_PASSES):
            for node in self.code.nodes:
                if node.kind == "variable_declarator":
                    self._declared(node)
                elif node.kind == "assignment_expression":
                    self._assigned(node)
                elif node.kind == "import_statement":
                    self._imported(node)
        self._known, scopes.texts = {}, {}

    def of(self, node: Node | None) -> str:
        """Return the dotted name that an expression refers to; empty for what is the file's own or unnamed."""
        if node is None:
            return ""
        if self._known is None:
            return self._of(node, _MAX_HOPS)
        name = self._known.get(node.index)
        if name is None:
            name = self._known[node.index] = self._of(node, _MAX_HOPS)
        return name

    def _of(self, node: Node | None, hops: int) -> str:
        parts: list[str] = []
        while node is not None and len(parts) < MAX_DOTTED:
            node = unwrapped(node)
            if node.kind == "member_expression":
                key = node.child("property")
                parts.append(self.code.text(key) if key is not None else "")
            elif node.kind == "subscript_expression":
                key_text = text_of(self.scopes, node.child("index"))
                if key_text is None:
                    return ""
                parts.append(key_text[:64])
            else:
                break
            node = node.child("object")
        if parts[:1] == ["constructor"] and node is not None and node.kind in _FUNCTION_VALUES:
            return "Function"  # that of a function makes functions from text
        head = self._head(node, hops) if node is not None else ""
        if not head:
            return ""
        parts.append(head)
        return _canonical(".".join(reversed(parts)))

    def method_of(self, call: Node) -> str:
        """Return the name of the method that a call is of; empty if it is of none."""
        function = call.child("function")
        key = function.child("property") if function is not None and function.kind == "member_expression" else None
        return self.code.text(key) if key is not None else ""

    def _head(self, node: Node, hops: int) -> str:
        if node.kind == "identifier":
            found = self.scopes.binding(node)
            return self.code.text(node) if found is None else found.meaning
        if node.kind == "import":
            return "import"
        if node.kind == "meta_property":
            return "import.meta"
        return self._called(node, hops - 1) if node.kind == "call_expression" and hops else ""

    def _called(self, call: Node, hops: int) -> str:
        """Return what a call gives that only hands on a module or a function."""
        function, arguments = unwrapped(call.child("function") or call), call.child("arguments")
        first = arguments.children[0] if arguments is not None and arguments.children else None
        written = self.code.text(function) if function.kind == "identifier" else ""
        name = self._of(function, hops) if function is not call else ""
        if written.rstrip("0123456789$") in _INTEROP or name in _ALIASING:
            return self._of(first, hops)
        if name in _REQUIRES:
            return self._module(text_of(self.scopes, first), call.line)
        return _INSTANCES.get(name) or (name.removesuffix(".bind") if name.endswith(".bind") else "")

    def _module(self, name: str | None, line: int) -> str:
        if not name:
            return ""
        name = name.removeprefix("node:")
        self.modules.setdefault(name, line)
        return _SAME.get(name, name)

    def _declared(self, node: Node) -> None:
        pattern, value = node.child("name"), node.child("value")
        if pattern is not None and value is not None:
            self._stand_for(pattern, value)

    def _assigned(self, node: Node) -> None:
        target, value = node.child("left"), node.child("right")
        if target is not None and value is not None and target.kind in ("identifier", "object_pattern"):
            self._stand_for(target, value)

    def _stand_for(self, pattern: Node, value: Node) -> None:
        meaning = self.of(value)
        for name, path in bound(self.code, pattern):
            found = self.scopes.binding(name)
            if found is None:
                continue
            if not path and found.value is None:
                found.value = value
                inner = unwrapped(value)
                found.function = found.function or (inner if inner.kind in _FUNCTION_VALUES else None)
            if meaning and not found.meaning and "*" not in path:
                found.meaning = _canonical(".".join((meaning, *path)))

    def _imported(self, node: Node) -> None:
        required = next((child for child in node.children if child.kind == "import_require_clause"), None)
        source = (required or node).child("source")
        module = self._module(text_of(self.scopes, source), node.line)
        if not module:
            return
        if required is not None:
            self._mean(required.children[0], module)
        for clause in (child for child in node.children if child.kind == "import_clause"):
            for part in clause.children:
                if part.kind == "identifier":
                    self._mean(part, module)
                elif part.kind == "namespace_import" and part.children:
                    self._mean(part.children[0], module)
                elif part.kind == "named_imports":
                    for one in part.children:
                        name = one.child("name")
                        if name is not None:
                            self._mean(one.children[-1], f"{module}.{self.code.text(name)}")

    def _mean(self, name: Node, meaning: str) -> None:
        found: Binding | None = self.scopes.binding(name)
        if found is not None and not found.meaning:
            found.meaning = _canonical(meaning)


_FUNCTION_VALUES: Final = frozenset({"arrow_function", "function_expression", "generator_function"})


def _canonical(name: str) -> str:
    """Return the name without what only says how it was come by: globals, `.default`, other names of a module."""
    parts = [part for part in name.split(".") if part != "default"] if ".default" in name else name.split(".")
    while len(parts) > 1 and parts[0] in _GLOBALS:
        del parts[0]
    joined = ".".join(parts)
    return _SAME.get(joined, joined)
