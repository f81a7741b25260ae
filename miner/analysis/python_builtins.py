"""What the functions give back that Python itself brings along."""

import ast
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from miner.analysis.python_module import Module
from miner.analysis.python_symbols import named
from miner.analysis.python_value import (
    CLIENT,
    COMPUTED,
    CONTENT,
    DECODED,
    ENVIRON,
    HOLE,
    MADE,
    NUMBERS,
    SOCKET,
    Arguments,
    Value,
    any_of,
    joined,
    labelled,
    made,
    symbol,
    texts_of,
)

_Handler = Callable[[Module, Arguments, ast.Call], Value]


def _import(_: Module, given: Arguments, node: ast.Call) -> Value:
    plain = bool(node.args) and isinstance(node.args[0], ast.Constant)
    texts = [text for text in given.at(0, "name").texts if HOLE not in text]
    return any_of(symbol(text, 0 if plain else COMPUTED) for text in texts)


def _getattr(_: Module, given: Arguments, __: ast.Call) -> Value:
    owner, key = given.at(0), given.at(1)
    stems = [s for s in owner.symbols if not s.startswith("def ")]
    if not stems:
        return labelled(owner.labels & (CONTENT | CLIENT | SOCKET))
    if stems == ["os"] and any("environ" in text for text in key.texts):
        return labelled(ENVIRON)
    return named(["" if s in ("builtins", "__builtins__", "__builtin__") else s for s in stems], key)


def _vars(_: Module, given: Arguments, __: ast.Call) -> Value:
    owner = given.at(0)
    if not given.positional:
        return symbol("__dict__")
    return any_of(
        symbol("__dict__" if s in ("builtins", "__builtins__") else f"{s}.__dict__", COMPUTED) for s in owner.symbols
    )


def _chr(_: Module, given: Arguments, node: ast.Call) -> Value:
    first = given.at(0)
    if first.labels & NUMBERS:
        return Value(MADE, first.texts)
    return labelled(first.content | (DECODED if node.args and not isinstance(node.args[0], ast.Name) else 0))


def _bytes(_: Module, given: Arguments, node: ast.Call) -> Value:
    first = given.at(0)
    if first.labels & NUMBERS and len(first.texts[0]) > 1:
        return Value(MADE, first.texts)
    changed = bool(node.args) and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp)
    return joined(Value(first.content, first.texts), labelled(DECODED if changed else 0))


def _map(_: Module, given: Arguments, __: ast.Call) -> Value:
    source = given.at(1)
    if source.labels & NUMBERS and given.at(0).symbols == ("chr",):
        return Value(MADE, source.texts)
    return labelled(source.content)


def _reversed(_: Module, given: Arguments, __: ast.Call) -> Value:
    return made([given.at(0)], lambda text: text[::-1], MADE)


def _environ(_: Module, __: Arguments, ___: ast.Call) -> Value:
    return labelled(ENVIRON)


def _home(_: Module, __: Arguments, ___: ast.Call) -> Value:
    return texts_of(("~",))


def _partial(_: Module, given: Arguments, __: ast.Call) -> Value:
    return given.at(0)


def _unquoted(_: Module, given: Arguments, __: ast.Call) -> Value:
    return made([given.at(0)], unquote, MADE)


BUILTINS: Final[dict[str, _Handler]] = {
    "__import__": _import,
    "importlib.import_module": _import,
    "importlib.__import__": _import,
    "getattr": _getattr,
    "vars": _vars,
    "globals": lambda _module, _given, _node: symbol("__dict__"),
    "locals": lambda _module, _given, _node: symbol("__dict__"),
    "chr": _chr,
    "bytes": _bytes,
    "bytearray": _bytes,
    "map": _map,
    "reversed": _reversed,
    "pathlib.Path.home": _home,
    "pathlib.PosixPath.home": _home,
    "functools.partial": _partial,
    "urllib.parse.unquote": _unquoted,
    "os.environ.copy": _environ,
}
