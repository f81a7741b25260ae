"""What literals, operators, comprehensions and the like may be, by what is known of their parts."""

import ast
import re
import sys
from collections.abc import Callable
from typing import Any, Final

from miner.analysis.python_module import Module
from miner.analysis.python_order import Frame
from miner.analysis.python_value import (
    CONTENT,
    HOLE,
    KEPT,
    MADE,
    NOTHING,
    NUMBERS,
    Value,
    any_of,
    container,
    joined,
    labelled,
    made,
    symbol,
    texts_of,
)

_SLOT: Final = re.compile(r"%(?:\(\w{1,32}\))?[-+ #0]?\d{0,3}[srdixfga]")


def _constant(_: Module, __: Frame, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, str):
        return texts_of((value,))
    if isinstance(value, bytes):
        return texts_of((value[:4_096].decode("latin-1"),))
    if type(value) is int and 0 < value <= sys.maxunicode:
        return Value(NUMBERS, (chr(value),))
    return NOTHING


def _binary(module: Module, _: Frame, node: ast.BinOp) -> Value:
    left, right = module.of(node.left), module.of(node.right)
    if isinstance(node.op, ast.Add):
        if left.origin or right.origin:
            return _chained(id(node), left, right)
        return made([left, right], lambda a, b: a + b, MADE)
    if isinstance(node.op, ast.Div):
        return made([left, right], lambda a, b: b if b[:1] in "/~" and b else f"{a.rstrip('/')}/{b}")
    if isinstance(node.op, ast.Mod) and left.texts:
        parts = [v for k, v in right.items.items() if isinstance(k, int)] if right.origin else [right]
        return joined(made([left, *parts], _percent, MADE), labelled(right.content))
    return labelled((left.labels | right.labels) & CONTENT)


def _augmented(module: Module, frame: Frame, node: ast.AugAssign) -> Value:
    value = module.of(node.value)
    if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
        old = module.bound(frame, node.target.id)
        if old.texts and id(node) not in module.values:  # once: a loop adds without end
            value = made([old._replace(texts=old.texts[-1:]), value], lambda a, b: a + b, MADE)
            module.bind(frame, node.target, value)
            return value
    module.bind(frame, node.target, value)
    return module.values.get(id(node), NOTHING)


def _string(module: Module, _: Frame, node: ast.JoinedStr) -> Value:
    parts = [module.of(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values[:64]]
    rest = any_of(module.of(part) for part in node.values[64:])
    return joined(made(parts, lambda *texts: "".join(texts), MADE), labelled(rest.labels & CONTENT))


def _sequence(module: Module, _: Frame, node: ast.List | ast.Tuple | ast.Set) -> Value:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return NOTHING
    values = [module.of(part) for part in node.elts]
    if values and all(v.labels == NUMBERS for v in values):
        return texts_of(("".join(v.texts[0] if v.texts else HOLE for v in values),), NUMBERS)
    flat: list[Value] = []
    for part, value in zip(node.elts, values, strict=True):
        flat.extend(value.items.values() if isinstance(part, ast.Starred) and value.items else (value,))
    return container(id(node), enumerate(flat))


def _dict(module: Module, _: Frame, node: ast.Dict) -> Value:
    pairs: list[tuple[object, Value]] = []
    for position, (key, item) in enumerate(zip(node.keys, node.values, strict=True)):
        if key is None:
            inner = module.of(item)
            pairs.extend(inner.items.items())
            pairs.append((("**", position), labelled(inner.labels & CONTENT)))
            continue
        name = module.of(key).known()
        pairs.append((name if name is not None else ("?", position), module.of(item)))
        pairs.append((("key", position), labelled(module.of(key).content)))
    return container(id(node), [pair for pair in pairs if isinstance(pair[0], str) or pair[1] is not NOTHING])


def _comprehension(module: Module, _: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    element = module.of(node.elt)
    source = module.of(node.generators[0].iter)
    inner = node.elt.args if isinstance(node.elt, ast.Call) and module.of(node.elt.func).symbols == ("chr",) else []
    if source.labels & NUMBERS and inner and isinstance(inner[0], ast.Name):
        return Value(source.labels & ~NUMBERS | MADE, source.texts)
    return Value(element.labels & KEPT | element.labels & MADE, element.texts, element.symbols)


def _dict_comprehension(module: Module, _: Frame, node: ast.DictComp) -> Value:
    return labelled((module.of(node.key).labels | module.of(node.value).labels) & CONTENT)


def _returning(module: Module, frame: Frame, node: ast.Return | ast.Yield | ast.YieldFrom) -> Value:
    module.give_back(frame, module.of(node.value))
    return NOTHING


def _either(module: Module, _: Frame, node: ast.BoolOp | ast.IfExp) -> Value:
    parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
    return any_of(module.of(part) for part in parts)


def _same_as(module: Module, _: Frame, node: ast.Await | ast.NamedExpr | ast.Starred | ast.FormattedValue) -> Value:
    return module.of(node.value)


def _lambda(_: Module, __: Frame, node: ast.Lambda) -> Value:
    return symbol(f"def lambda {id(node)}")


def _chained(origin: int, left: Value, right: Value) -> Value:
    parts = [*left.items.values(), *right.items.values()]
    return joined(container(origin, enumerate(parts)), labelled((left.labels | right.labels) & KEPT))


def _percent(text: str, *parts: str) -> str:
    left = list(parts)
    return _SLOT.sub(lambda _: left.pop(0) if left else HOLE, text)


EXPRESSIONS: Final[dict[type[ast.AST], Callable[[Module, Frame, Any], Value]]] = {
    ast.Constant: _constant,
    ast.BinOp: _binary,
    ast.AugAssign: _augmented,
    ast.JoinedStr: _string,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Return: _returning,
    ast.Yield: _returning,
    ast.YieldFrom: _returning,
    ast.BoolOp: _either,
    ast.IfExp: _either,
    ast.Await: _same_as,
    ast.NamedExpr: _same_as,
    ast.Starred: _same_as,
    ast.FormattedValue: _same_as,
    ast.Lambda: _lambda,
}
