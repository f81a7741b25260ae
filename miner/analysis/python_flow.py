"""Values followed through one Python module: names, attributes, containers, calls of its own functions, files."""

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from miner.analysis import python_tables as tables
from miner.analysis.python_calls import called
from miner.analysis.python_expressions import EXPRESSIONS
from miner.analysis.python_lookups import LOOKUPS
from miner.analysis.python_methods import method_called
from miner.analysis.python_module import Module
from miner.analysis.python_order import FUNCTIONS, Bind, Frame
from miner.analysis.python_parse import Names
from miner.analysis.python_value import (
    CLIENT,
    COMPUTED,
    NOTHING,
    SOCKET,
    Arguments,
    Value,
    any_of,
    container,
    element_of,
    joined,
    labelled,
)

_PASSES: Final = 5  # a value that changes hands more often than this, against the order of the file, is lost sight of
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
_KINDS: Final = EXPRESSIONS | LOOKUPS


class PassedCall(NamedTuple):
    """A call, or one that another call makes in its stead, as `Thread(target=f, args=…)` does."""

    function: Value
    method: str
    receiver: Value
    arguments: Arguments


class Flow(Module):
    """What the expressions of a module may be.

    Args:
        frames: of the module.
        names: what its imports call things.
    """

    def __init__(self, frames: list[Frame], names: Names) -> None:
        super().__init__(frames, names)
        for _ in range(_PASSES):
            self.changed = False
            for frame in frames:
                self._follow(frame)
            if not self.changed:
                break

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
                yield PassedCall(value, "", NOTHING, Arguments([element_of(r) for r in rest] if mapped else rest, {}))

    def _follow(self, frame: Frame) -> None:
        if isinstance(frame.node, FUNCTIONS):
            self._parameters(frame)
        for step in frame.steps:
            if isinstance(step, Bind):
                value = self.of(step.value)
                self.bind(frame, step.target, element_of(value) if step.element else value)
            else:
                value = self._evaluate(frame, step)
                if value is not NOTHING or id(step) in self.values:
                    self.values[id(step)] = value
        if isinstance(frame.node, ast.Lambda):
            self.give_back(frame, self.of(frame.node.body))

    def _parameters(self, frame: Frame) -> None:
        arguments = frame.node.args  # type: ignore[attr-defined]  # a function
        plain = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(plain[::-1], arguments.defaults[::-1], strict=False)]
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        for parameter, default in pairs:
            self.set(frame, parameter.arg, self.of(default))
        for parameter in (*plain, *arguments.kwonlyargs):
            if parameter.annotation is not None and (name := self.names.of(parameter.annotation)):
                self.set(frame, parameter.arg, labelled(_of_type(name)))

    def _evaluate(self, frame: Frame, node: ast.AST) -> Value:
        if isinstance(node, ast.Call):
            return self._call(frame, node)
        kind = _KINDS.get(type(node))
        return kind(self, frame, node) if kind else NOTHING

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
                self.store(frame, node.func.value, any_of(one.arguments.all()).content)
        return any_of(results)

    def _own(self, name: str, given: Arguments) -> Value:
        """Hand a call's arguments to a function of the module, and return what it returns."""
        results = [labelled(any_of(given.all()).content)] if name.startswith("class ") else []
        for frame in self.functions.get(name, ()):
            arguments = frame.node.args  # type: ignore[attr-defined]  # a function
            plain = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][1 if frame.method else 0 :]
            for parameter, value in zip(plain, given.positional, strict=False):
                self.set(frame, parameter, value)
            if arguments.vararg and len(given.positional) > len(plain):
                rest = given.positional[len(plain) :]
                self.set(frame, arguments.vararg.arg, container(id(arguments.vararg), enumerate(rest)))
            known = {*plain, *(a.arg for a in arguments.kwonlyargs)}
            extra = {key: value for key, value in given.keywords.items() if key not in known}
            for key, value in given.keywords.items():
                if key in known:
                    self.set(frame, key, value)
            if arguments.kwarg and extra:
                self.set(frame, arguments.kwarg.arg, container(id(arguments.kwarg), extra.items()))
            if not name.startswith("class "):
                results.append(self.returned.get(id(frame), NOTHING))
        return any_of(results)


def _is_module(receiver: Value) -> bool:
    return bool(receiver.symbols) and not receiver.origin and not receiver.labels & ~COMPUTED


def _of_type(name: str) -> int:
    if name in tables.SOCKETS or name == "socket.socket":
        return SOCKET | CLIENT
    return CLIENT if name in tables.CLIENTS else 0
