"""Values followed through one Python module: names, attributes, containers, calls of its own functions, files."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from localnet.analysis import python_tables as tables
from localnet.analysis.python_calls import called, method_called
from localnet.analysis.python_order import FUNCTIONS, Bind, Frame
from localnet.analysis.python_parse import Names
from localnet.analysis.python_value import (
    CLIENT,
    COMPUTED,
    CONTENT,
    ENVIRON,
    FILE,
    HOLE,
    MADE,
    NOTHING,
    NUMBERS,
    SECRET,
    SOCKET,
    Arguments,
    Value,
    any_of,
    container,
    joined,
    labelled,
    made,
    same,
    symbol,
    texts_of,
)

_PASSES: Final = 5  # a value that changes hands more often than this, against the order of the file, is lost sight of
_OUTWARD: Final = 8  # functions around a function whose names are looked through
_CANDIDATES: Final = 4  # functions of one name
_KEPT: Final = CONTENT | SOCKET | CLIENT
_SLOT: Final = re.compile(r"%(?:\(\w{1,32}\))?[-+ #0]?\d{0,3}[srdixfga]")
_BUILTIN_PREFIXES: Final = ("builtins.", "__builtins__.", "__builtin__.")


class PassedCall(NamedTuple):
    """A call, or one that another call makes in its stead, as `Thread(target=f, args=…)` does."""

    function: Value
    method: str
    receiver: Value
    arguments: Arguments


class Flow:
    """What the expressions of a module may be.

    Args:
        frames: of the module.
        names: what its imports call things.

    Attributes:
        values: by the id of the expression.
        files: what was written to a path, by how it is spelled.
    """

    def __init__(self, frames: list[Frame], names: Names) -> None:
        self.names = names
        self.frames = frames
        self.values: dict[int, Value] = {}
        self.files: dict[str, int] = {}
        self._bound: dict[tuple[int, str], Value] = {}
        self._attributes: dict[str, Value] = {}
        self._returned: dict[int, Value] = {}
        self._functions: defaultdict[str, list[Frame]] = defaultdict(list)
        self._changed = False
        self._kinds: dict[type[ast.AST], Callable[[Frame, Any], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.BinOp: self._binary,
            ast.AugAssign: self._augmented,
            ast.JoinedStr: self._string,
            ast.List: self._sequence,
            ast.Tuple: self._sequence,
            ast.Set: self._sequence,
            ast.Dict: self._dict,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.DictComp: self._dict_comprehension,
            ast.Return: self._returning,
            ast.Yield: self._returning,
            ast.YieldFrom: self._returning,
            ast.BoolOp: self._either,
            ast.IfExp: self._either,
            ast.Await: self._same_as,
            ast.NamedExpr: self._same_as,
            ast.Starred: self._same_as,
            ast.FormattedValue: self._same_as,
            ast.Lambda: self._lambda,
            ast.Call: self._call,
        }
        for frame in frames:
            if isinstance(frame.node, FUNCTIONS) and len(self._functions[frame.name]) < _CANDIDATES:
                self._functions[frame.name].append(frame)
                if frame.name == "__init__" and not self._functions[f"class {frame.owner}"]:
                    self._functions[f"class {frame.owner}"].append(frame)
        for _ in range(_PASSES):
            self._changed = False
            for frame in frames:
                self._follow(frame)
            if not self._changed:
                break

    def of(self, node: ast.AST | None) -> Value:
        """Return what is known of an expression."""
        return self.values.get(id(node), NOTHING)

    def write(self, path: Value, content: int) -> None:
        """Remember what a file holds."""
        for text in path.texts if content else ():
            old = self.files.get(text, 0)
            if old | content != old and text.strip(HOLE + "/"):
                self.files[text] = old | content
                self._changed = True

    def reads(self, path: Value) -> int:
        """Return what whoever reads the file gets."""
        labels = 0
        for text in path.texts:
            labels |= self.files.get(text, 0)
            labels |= FILE if tables.SECRET_PATH.search(text) else 0
        return labels

    @staticmethod
    def variable(key: Value, default: Value) -> Value:
        """Return a variable of the environment."""
        return environment(key, default)

    def arguments(self, call: ast.Call) -> Arguments:
        """Return what a call is given."""
        positional: list[Value] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                inner = self.of(argument.value)
                parts = [value for key, value in inner.items.items() if isinstance(key, int)]
                positional.extend(parts or [inner])
            else:
                positional.append(self.of(argument))
        keywords: dict[str, Value] = {}
        for one in call.keywords:
            value = self.of(one.value)
            if one.arg is None:
                keywords.update({key: item for key, item in value.items.items() if isinstance(key, str)})
                keywords.setdefault("**", value._replace(items={}))
            else:
                keywords[one.arg] = value
        return Arguments(positional, keywords)

    def calls(self, call: ast.Call) -> Iterator[PassedCall]:
        """Yield the call, and those that it passes on."""
        given = self.arguments(call)
        receiver, method = NOTHING, ""
        if isinstance(call.func, ast.Attribute):
            receiver, method = self.of(call.func.value), call.func.attr
        yield PassedCall(self.of(call.func), method, receiver, given)
        target = given.keywords.get("target")
        if target is not None and target.symbols:
            inner = given.keywords.get("args", NOTHING)
            parts = [value for key, value in inner.items.items() if isinstance(key, int)]
            yield PassedCall(target, "", NOTHING, Arguments(parts or [inner], {}))
        for position, value in enumerate(given.positional[:3]):
            if value.symbols and any(s.startswith("def ") or s in tables.PASSED for s in value.symbols):
                rest = given.positional[position + 1 :]
                mapped = self.of(call.func).symbols == ("map",)
                yield PassedCall(value, "", NOTHING, Arguments([_element(r) for r in rest] if mapped else rest, {}))

    def _follow(self, frame: Frame) -> None:
        if isinstance(frame.node, FUNCTIONS):
            self._parameters(frame)
        for step in frame.steps:
            if isinstance(step, Bind):
                value = self.of(step.value)
                self._bind(frame, step.target, _element(value) if step.element else value)
            else:
                value = self._evaluate(frame, step)
                if value is not NOTHING or id(step) in self.values:
                    self.values[id(step)] = value
        if isinstance(frame.node, ast.Lambda):
            self._return(frame, self.of(frame.node.body))

    def _parameters(self, frame: Frame) -> None:
        arguments = frame.node.args  # type: ignore[attr-defined]  # a function
        plain = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(plain[::-1], arguments.defaults[::-1], strict=False)]
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        for parameter, default in pairs:
            self._set(frame, parameter.arg, self.of(default))
        for parameter in (*plain, *arguments.kwonlyargs):
            if parameter.annotation is not None and (name := self.names.of(parameter.annotation)):
                self._set(frame, parameter.arg, labelled(_of_type(name)))

    def _set(self, frame: Frame, name: str, value: Value) -> None:
        key = (id(frame), name)
        old = self._bound.get(key, NOTHING)
        new = joined(old, value)
        if not same(old, new):
            self._changed = True
        if new is not NOTHING or key not in self._bound:
            self._bound[key] = new

    def _bind(self, frame: Frame, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._set(frame, target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            for position, part in enumerate(target.elts):
                whole = value._replace(items={}, origin=0)
                self._bind(frame, part, value.items.get(position, whole))
        elif isinstance(target, ast.Starred):
            self._bind(frame, target.value, value)
        elif isinstance(target, ast.Attribute):
            old = self._attributes.get(target.attr, NOTHING)
            new = joined(old, value)
            self._changed |= not same(old, new)
            self._attributes[target.attr] = new
        elif isinstance(target, ast.Subscript):
            self._store(frame, target.value, value.labels & CONTENT)

    def _store(self, frame: Frame, into: ast.expr, labels: int) -> None:
        """Put content into what a name or an attribute holds."""
        if not labels:
            return
        while isinstance(into, ast.Subscript):
            into = into.value
        if isinstance(into, ast.Name):
            self._set(frame, into.id, labelled(labels))
        elif isinstance(into, ast.Attribute) and into.attr not in ("environ", "headers", "cookies", "auth"):
            self._bind(frame, into, labelled(labels))

    def _return(self, frame: Frame, value: Value) -> None:
        old = self._returned.get(id(frame), NOTHING)
        new = joined(old, value)
        self._changed |= not same(old, new)
        self._returned[id(frame)] = new

    def _evaluate(self, frame: Frame, node: ast.AST) -> Value:
        kind = self._kinds.get(type(node))
        return kind(frame, node) if kind else NOTHING

    def _constant(self, _: Frame, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, str):
            return texts_of((value,))
        if isinstance(value, bytes):
            return texts_of((value[:4_096].decode("latin-1"),))
        if type(value) is int and 0 < value <= sys.maxunicode:
            return Value(NUMBERS, (chr(value),))
        return NOTHING

    def _name(self, frame: Frame, node: ast.Name) -> Value:
        if not isinstance(node.ctx, ast.Load):
            return NOTHING
        around: Frame | None = frame
        for _ in range(_OUTWARD):
            if around is None:
                break
            value = self._bound.get((id(around), node.id))
            if value is not None:
                return value
            around = around.parent
        value = self._bound.get((id(self.frames[0]), node.id))
        if value is not None:
            return value
        if node.id in self._functions:
            return symbol(f"def {node.id}")
        if f"class {node.id}" in self._functions:
            return symbol(f"def class {node.id}")
        return self._symbol(self.names.of(node))

    def _symbol(self, name: str, labels: int = 0) -> Value:
        for prefix in _BUILTIN_PREFIXES:
            name = name.removeprefix(prefix)
        if name in ("os.environ", "os.environb"):
            labels |= ENVIRON
        if name == "os.sep":
            return texts_of(("/",))
        return symbol(name, labels)

    def _attribute(self, _: Frame, node: ast.Attribute) -> Value:
        base = self.of(node.value)
        value = self._attributes.get(node.attr, NOTHING)
        plain = [s for s in base.symbols if not s.startswith("def ")]
        if plain:
            value = joined(value, any_of(self._symbol(f"{s}.{node.attr}", base.labels & COMPUTED) for s in plain))
        elif node.attr in self._functions:
            value = joined(value, symbol(f"def {node.attr}"))
        if node.attr in ("parent", "name", "path") and base.texts:
            value = joined(value, base._replace(labels=base.labels & CONTENT))
        return joined(value, labelled(base.labels & _KEPT)) if not plain else value

    def _subscript(self, _: Frame, node: ast.Subscript) -> Value:
        base, key = self.of(node.value), self.of(node.slice)
        if isinstance(node.slice, ast.Slice):
            if _reverses(node.slice):
                return made([base], lambda text: text[::-1], MADE)
            return labelled(base.labels & _KEPT)
        names = [s for s in base.symbols if s.endswith((".__dict__", "sys.modules")) or s == "__dict__"]
        if names:
            stems = [s.removesuffix("__dict__").removesuffix("sys.modules").rstrip(".") for s in names]
            return self.named(stems, key)
        return environment(key, NOTHING) if base.labels & ENVIRON else self._item(base, key, node.slice)

    def _item(self, base: Value, key: Value, place: ast.expr) -> Value:
        position: object = key.known()
        if isinstance(place, ast.Constant) and isinstance(place.value, int):
            position = place.value
        if position in base.items:
            return base.items[position]
        if base.items:
            return joined(any_of(base.items.values()), labelled(base.labels & _KEPT))
        return Value(base.labels & _KEPT, (), base.symbols if base.origin else ())

    def named(self, stems: list[str], key: Value) -> Value:
        """Return what a text names in modules."""
        texts = [text for text in key.texts if HOLE not in text] or ["?"]
        return any_of(self._symbol(f"{stem}.{text}" if stem else text, COMPUTED) for stem in stems for text in texts)

    def _binary(self, _: Frame, node: ast.BinOp) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Add):
            if left.origin or right.origin:
                return _chained(id(node), left, right)
            return made([left, right], lambda a, b: a + b, MADE)
        if isinstance(node.op, ast.Div):
            return made([left, right], lambda a, b: b if b[:1] in "/~" and b else f"{a.rstrip('/')}/{b}")
        if isinstance(node.op, ast.Mod) and left.texts:
            parts = [v for k, v in right.items.items() if isinstance(k, int)] if right.origin else [right]
            return joined(made([left, *parts], _percent, MADE), labelled(right.content))
        if isinstance(node.op, ast.BitXor):
            return labelled((left.labels | right.labels) & CONTENT)
        return labelled((left.labels | right.labels) & CONTENT)

    def _augmented(self, frame: Frame, node: ast.AugAssign) -> Value:
        value = self.of(node.value)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            old = self._bound.get((id(frame), node.target.id), NOTHING)
            if old.texts and id(node) not in self.values:  # once: a loop adds without end
                value = made([old._replace(texts=old.texts[-1:]), value], lambda a, b: a + b, MADE)
                self._bind(frame, node.target, value)
                return value
        self._bind(frame, node.target, value)
        return self.values.get(id(node), NOTHING)

    def _string(self, _: Frame, node: ast.JoinedStr) -> Value:
        parts = [self.of(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values[:64]]
        rest = any_of(self.of(part) for part in node.values[64:])
        return joined(made(parts, lambda *texts: "".join(texts), MADE), labelled(rest.labels & CONTENT))

    def _sequence(self, _: Frame, node: ast.List | ast.Tuple | ast.Set) -> Value:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return NOTHING
        values = [self.of(part) for part in node.elts]
        if values and all(v.labels == NUMBERS for v in values):
            return texts_of(("".join(v.texts[0] if v.texts else HOLE for v in values),), NUMBERS)
        flat: list[Value] = []
        for part, value in zip(node.elts, values, strict=True):
            flat.extend(value.items.values() if isinstance(part, ast.Starred) and value.items else (value,))
        return container(id(node), enumerate(flat))

    def _dict(self, _: Frame, node: ast.Dict) -> Value:
        pairs: list[tuple[object, Value]] = []
        for position, (key, item) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is None:
                inner = self.of(item)
                pairs.extend(inner.items.items())
                pairs.append((("**", position), labelled(inner.labels & CONTENT)))
                continue
            name = self.of(key).known()
            pairs.append((name if name is not None else ("?", position), self.of(item)))
            pairs.append((("key", position), labelled(self.of(key).content)))
        return container(id(node), [pair for pair in pairs if isinstance(pair[0], str) or pair[1] is not NOTHING])

    def _comprehension(self, _: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        element = self.of(node.elt)
        source = self.of(node.generators[0].iter)
        inner = node.elt.args if isinstance(node.elt, ast.Call) and self.of(node.elt.func).symbols == ("chr",) else []
        if source.labels & NUMBERS and inner and isinstance(inner[0], ast.Name):
            return Value(source.labels & ~NUMBERS | MADE, source.texts)
        return Value(element.labels & _KEPT | element.labels & MADE, element.texts, element.symbols)

    def _dict_comprehension(self, _: Frame, node: ast.DictComp) -> Value:
        return labelled((self.of(node.key).labels | self.of(node.value).labels) & CONTENT)

    def _returning(self, frame: Frame, node: ast.Return | ast.Yield | ast.YieldFrom) -> Value:
        self._return(frame, self.of(node.value))
        return NOTHING

    def _either(self, _: Frame, node: ast.BoolOp | ast.IfExp) -> Value:
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        return any_of(self.of(part) for part in parts)

    def _same_as(self, _: Frame, node: ast.Await | ast.NamedExpr | ast.Starred | ast.FormattedValue) -> Value:
        return self.of(node.value)

    def _lambda(self, _: Frame, node: ast.Lambda) -> Value:
        return symbol(f"def lambda {id(node)}")

    def _call(self, frame: Frame, node: ast.Call) -> Value:
        result = NOTHING
        for position, one in enumerate(self.calls(node)):
            value = self._outcome(frame, node, one)
            result = joined(result, value) if not position or value.content else result
        return result

    def _outcome(self, frame: Frame, node: ast.Call, one: PassedCall) -> Value:
        results: list[Value] = []
        own = False
        for name in one.function.symbols:
            if name.startswith("def "):
                own = True
                results.append(self._own(name.removeprefix("def "), one.arguments))
            else:
                results.append(called(self, name, one.arguments, node))
        if one.method and not (own and not one.receiver.labels) and not _is_module(one.receiver):
            results.append(method_called(self, one.method, one.receiver, one.arguments))
            if isinstance(node.func, ast.Attribute) and one.method in _FILLING:
                self._store(frame, node.func.value, any_of(one.arguments.all()).content)
        return any_of(results)

    def _own(self, name: str, given: Arguments) -> Value:
        """Hand a call's arguments to a function of the module, and return what it returns."""
        results = [labelled(any_of(given.all()).content)] if name.startswith("class ") else []
        for frame in self._functions.get(name, ()):
            arguments = frame.node.args  # type: ignore[attr-defined]  # a function
            plain = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][1 if frame.method else 0 :]
            for parameter, value in zip(plain, given.positional, strict=False):
                self._set(frame, parameter, value)
            if arguments.vararg and len(given.positional) > len(plain):
                rest = given.positional[len(plain) :]
                self._set(frame, arguments.vararg.arg, container(id(arguments.vararg), enumerate(rest)))
            known = {*plain, *(a.arg for a in arguments.kwonlyargs)}
            extra = {key: value for key, value in given.keywords.items() if key not in known}
            for key, value in given.keywords.items():
                if key in known:
                    self._set(frame, key, value)
            if arguments.kwarg and extra:
                self._set(frame, arguments.kwarg.arg, container(id(arguments.kwarg), extra.items()))
            if not name.startswith("class "):
                results.append(self._returned.get(id(frame), NOTHING))
        return any_of(results)


_FILLING: Final = frozenset(
    {
        "append",
        "extend",
        "add",
        "update",
        "insert",
        "write",
        "writelines",
        "setdefault",
        "put",
        "attach",
        "set_content",
        "set_payload",
        "add_attachment",
    }
)


def environment(key: Value, default: Value) -> Value:
    """Return a variable of the environment."""
    labels = SECRET if not key.texts or any(tables.SECRET_NAME.search(text) for text in key.texts) else 0
    if key.texts and all(text in ("HOME", "USERPROFILE", "HOMEPATH") for text in key.texts):
        return texts_of(("~",))
    if key.texts and all(text.startswith("XDG_") or text in ("APPDATA", "LOCALAPPDATA") for text in key.texts):
        return joined(texts_of((f"~/.{key.texts[0]}",)), default)
    return joined(Value(labels), default)


def _is_module(receiver: Value) -> bool:
    return bool(receiver.symbols) and not receiver.origin and not receiver.labels & ~COMPUTED


def _element(value: Value) -> Value:
    if value.items and value.origin:
        return joined(any_of(value.items.values()), labelled(value.labels & _KEPT))
    return value._replace(labels=value.labels & ~NUMBERS, texts=() if value.labels & NUMBERS else value.texts)


def _chained(origin: int, left: Value, right: Value) -> Value:
    parts = [*left.items.values(), *right.items.values()]
    return joined(container(origin, enumerate(parts)), labelled((left.labels | right.labels) & _KEPT))


def _percent(text: str, *parts: str) -> str:
    left = list(parts)
    return _SLOT.sub(lambda _: left.pop(0) if left else HOLE, text)


def _reverses(part: ast.Slice) -> bool:
    step = part.step
    return (
        isinstance(step, ast.UnaryOp)
        and isinstance(step.op, ast.USub)
        and isinstance(step.operand, ast.Constant)
        and step.operand.value == 1
        and part.lower is None
        and part.upper is None
    )


def _of_type(name: str) -> int:
    if name in tables.SOCKETS or name == "socket.socket":
        return SOCKET | CLIENT
    return CLIENT if name in tables.CLIENTS else 0
