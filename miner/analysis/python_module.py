"""What is known of one Python module while values are followed through it."""

import ast
from collections import defaultdict
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_order import FUNCTIONS, Frame
from miner.analysis.python_parse import Names
from miner.analysis.python_value import CONTENT, FILE, HOLE, NOTHING, Value, joined, labelled, same

_OUTWARD: Final = 8  # functions around a function whose names are looked through
_CANDIDATES: Final = 4  # functions of one name


class Module:
    """What the expressions, names, attributes and files of a module may be.

    Args:
        frames: of the module.
        names: what its imports call things.

    Attributes:
        values: by the id of the expression.
        files: what was written to a path, by how it is spelled.
        functions: frames of the module's own functions by name, at most four of one name; those of `__init__` also as
            `class` and the name of their class.
        attributes: what was put into an attribute of whatever object, by its name.
        returned: what a function gives back, by the id of its frame.
        changed: whether something new became known since this was last set to False.
    """

    def __init__(self, frames: list[Frame], names: Names) -> None:
        self.names = names
        self.frames = frames
        self.values: dict[int, Value] = {}
        self.files: dict[str, int] = {}
        self.functions: defaultdict[str, list[Frame]] = defaultdict(list)
        self.attributes: dict[str, Value] = {}
        self.returned: dict[int, Value] = {}
        self.changed = False
        self._bound: dict[tuple[int, str], Value] = {}
        for frame in frames:
            if isinstance(frame.node, FUNCTIONS) and len(self.functions[frame.name]) < _CANDIDATES:
                self.functions[frame.name].append(frame)
                if frame.name == "__init__" and not self.functions[f"class {frame.owner}"]:
                    self.functions[f"class {frame.owner}"].append(frame)

    def of(self, node: ast.AST | None) -> Value:
        """Return what is known of an expression."""
        return self.values.get(id(node), NOTHING)

    def write(self, path: Value, content: int) -> None:
        """Remember what a file holds."""
        for text in path.texts if content else ():
            old = self.files.get(text, 0)
            if old | content != old and text.strip(HOLE + "/"):
                self.files[text] = old | content
                self.changed = True

    def reads(self, path: Value) -> int:
        """Return what whoever reads the file gets."""
        labels = 0
        for text in path.texts:
            labels |= self.files.get(text, 0)
            labels |= FILE if tables.SECRET_PATH.search(text) else 0
        return labels

    def bound(self, frame: Frame, name: str) -> Value:
        """Return what a name of the frame itself may be."""
        return self._bound.get((id(frame), name), NOTHING)

    def looked_up(self, frame: Frame, name: str) -> Value | None:
        """Return what a name may be in the frame, in those around it and in the module; None if nothing binds it."""
        around: Frame | None = frame
        for _ in range(_OUTWARD):
            if around is None:
                break
            value = self._bound.get((id(around), name))
            if value is not None:
                return value
            around = around.parent
        return self._bound.get((id(self.frames[0]), name))

    def set(self, frame: Frame, name: str, value: Value) -> None:
        """Let a name of the frame also be a value."""
        key = (id(frame), name)
        old = self._bound.get(key, NOTHING)
        new = joined(old, value)
        if not same(old, new):
            self.changed = True
        if new is not NOTHING or key not in self._bound:
            self._bound[key] = new

    def bind(self, frame: Frame, target: ast.expr, value: Value) -> None:
        """Let whatever an assignment binds also be a value."""
        if isinstance(target, ast.Name):
            self.set(frame, target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            for position, part in enumerate(target.elts):
                whole = value._replace(items={}, origin=0)
                self.bind(frame, part, value.items.get(position, whole))
        elif isinstance(target, ast.Starred):
            self.bind(frame, target.value, value)
        elif isinstance(target, ast.Attribute):
            old = self.attributes.get(target.attr, NOTHING)
            new = joined(old, value)
            self.changed |= not same(old, new)
            self.attributes[target.attr] = new
        elif isinstance(target, ast.Subscript):
            self.store(frame, target.value, value.labels & CONTENT)

    def store(self, frame: Frame, into: ast.expr, labels: int) -> None:
        """Put content into what a name or an attribute holds."""
        if not labels:
            return
        while isinstance(into, ast.Subscript):
            into = into.value
        if isinstance(into, ast.Name):
            self.set(frame, into.id, labelled(labels))
        elif isinstance(into, ast.Attribute) and into.attr not in ("environ", "headers", "cookies", "auth"):
            self.bind(frame, into, labelled(labels))

    def give_back(self, frame: Frame, value: Value) -> None:
        """Let the function of the frame also return a value."""
        old = self.returned.get(id(frame), NOTHING)
        new = joined(old, value)
        self.changed |= not same(old, new)
        self.returned[id(frame)] = new
