"""The expressions and bindings of Python functions, in the order in which they are evaluated."""

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Bind(NamedTuple):
    """A target is bound to a value, or to an element of it."""

    target: ast.expr
    value: ast.expr
    element: bool = False


class Done(NamedTuple):
    """All parts of a node were evaluated."""

    node: ast.AST


@dataclass
class Frame:
    """A module, a class or a function, and what happens in it.

    Attributes:
        name: of the function; empty for the module.
        node: its definition.
        parent: where its free names are looked for.
        method: whether its first parameter is the object.
        steps: in order.
    """

    name: str
    node: ast.AST
    parent: "Frame | None"
    method: bool = False
    owner: str = ""
    steps: list[Bind | ast.AST] = field(default_factory=list)


def frames_of(tree: ast.Module) -> list[Frame]:
    """Return the module first, then its classes and functions."""
    frames: list[Frame] = []
    waiting = deque([Frame("", tree, None)])
    while waiting:
        frame = waiting.popleft()
        frames.append(frame)
        _fill(frame, waiting)
    return frames


def _fill(frame: Frame, waiting: deque[Frame]) -> None:
    stack: list[ast.AST | Bind | Done] = _body(frame.node)[::-1]
    while stack:
        item = stack.pop()
        if isinstance(item, Bind):
            frame.steps.append(item)
        elif isinstance(item, Done):
            frame.steps.append(item.node)
        elif isinstance(item, ast.Constant | ast.Name):
            frame.steps.append(item)
        else:
            if isinstance(item, (*FUNCTIONS, ast.ClassDef)):
                waiting.append(_inner(frame, item))
            stack.extend(list(_parts(item))[::-1])


def _inner(frame: Frame, node: ast.AST) -> Frame:
    inside_class = isinstance(frame.node, ast.ClassDef)
    name = getattr(node, "name", f"lambda {id(node)}")
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in getattr(node, "decorator_list", ()))
    method = inside_class and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not static
    parent = frame.parent if inside_class else frame
    return Frame(name, node, parent, method, frame.name if inside_class else "")


def _body(node: ast.AST) -> list[ast.AST | Bind | Done]:
    body = getattr(node, "body", [])
    return list(body) if isinstance(body, list) else [body]


def _parts(node: ast.AST) -> Iterator[ast.AST | Bind | Done]:
    """Yield what happens in a node, in order."""
    if isinstance(node, FUNCTIONS):
        yield from getattr(node, "decorator_list", ())
        yield from (d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
    elif isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    elif isinstance(node, _COMPREHENSIONS):
        for part in node.generators:
            yield from (part.iter, Bind(part.target, part.iter, element=True))
            yield from part.ifs
        yield from [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    elif isinstance(node, ast.For | ast.AsyncFor):
        yield from (node.iter, Bind(node.target, node.iter, element=True))
        yield from [*node.body, *node.orelse]
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            yield item.context_expr
            if item.optional_vars is not None:
                yield Bind(item.optional_vars, item.context_expr)
        yield from node.body
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
        yield from _assignment(node)
    else:
        yield from ast.iter_child_nodes(node)
    yield Done(node)


def _assignment(node: ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign) -> Iterator[ast.AST | Bind]:
    if node.value is None:
        return
    yield node.value
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Attribute | ast.Subscript):
            yield target.value
            if isinstance(target, ast.Subscript):
                yield target.slice
        if not isinstance(node, ast.AugAssign):
            yield Bind(target, node.value)
