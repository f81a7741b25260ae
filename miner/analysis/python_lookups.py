"""What names, attributes and items may be, where an expression looks them up."""

import ast
from collections.abc import Callable
from typing import Any, Final

from miner.analysis.python_module import Module
from miner.analysis.python_order import Frame
from miner.analysis.python_symbols import environment, named, symbol_of
from miner.analysis.python_value import (
    COMPUTED,
    CONTENT,
    ENVIRON,
    KEPT,
    MADE,
    NOTHING,
    Value,
    any_of,
    joined,
    labelled,
    made,
    symbol,
)


def _name(module: Module, frame: Frame, node: ast.Name) -> Value:
    if not isinstance(node.ctx, ast.Load):
        return NOTHING
    value = module.looked_up(frame, node.id)
    if value is not None:
        return value
    if node.id in module.functions:
        return symbol(f"def {node.id}")
    if f"class {node.id}" in module.functions:
        return symbol(f"def class {node.id}")
    return symbol_of(module.names.of(node))


def _attribute(module: Module, _: Frame, node: ast.Attribute) -> Value:
    base = module.of(node.value)
    value = module.attributes.get(node.attr, NOTHING)
    plain = [s for s in base.symbols if not s.startswith("def ")]
    if plain:
        value = joined(value, any_of(symbol_of(f"{s}.{node.attr}", base.labels & COMPUTED) for s in plain))
    elif node.attr in module.functions:
        value = joined(value, symbol(f"def {node.attr}"))
    if node.attr in ("parent", "name", "path") and base.texts:
        value = joined(value, base._replace(labels=base.labels & CONTENT))
    return joined(value, labelled(base.labels & KEPT)) if not plain else value


def _subscript(module: Module, _: Frame, node: ast.Subscript) -> Value:
    base, key = module.of(node.value), module.of(node.slice)
    if isinstance(node.slice, ast.Slice):
        if _reverses(node.slice):
            return made([base], lambda text: text[::-1], MADE)
        return labelled(base.labels & KEPT)
    names = [s for s in base.symbols if s.endswith((".__dict__", "sys.modules")) or s == "__dict__"]
    if names:
        stems = [s.removesuffix("__dict__").removesuffix("sys.modules").rstrip(".") for s in names]
        return named(stems, key)
    return environment(key, NOTHING) if base.labels & ENVIRON else _item(base, key, node.slice)


def _item(base: Value, key: Value, place: ast.expr) -> Value:
    position: object = key.known()
    if isinstance(place, ast.Constant) and isinstance(place.value, int):
        position = place.value
    if position in base.items:
        return base.items[position]
    if base.items:
        return joined(any_of(base.items.values()), labelled(base.labels & KEPT))
    return Value(base.labels & KEPT, (), base.symbols if base.origin else ())


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


LOOKUPS: Final[dict[type[ast.AST], Callable[[Module, Frame, Any], Value]]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
}
