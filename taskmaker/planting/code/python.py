"""A Python module: its style, and the places where lines may be put, found in its syntax tree."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, Self

from sssa.protocol.text import quietly
from taskmaker.planting.code.source import STEP, Block, Code, Put, Source, Style, space_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS: Final = (ast.Import, ast.ImportFrom)


class Module(Code):
    """A module that was parsed."""

    gap = 2

    def __init__(self, source: Source, tree: ast.Module) -> None:
        super().__init__(source)
        self._tree, self._nodes = tree, tuple(ast.walk(tree))
        functions = [node for node in self._nodes if isinstance(node, _Function) and self._has_room(node)]
        self.style = Style(
            indent=self._step(functions[0]) if functions else STEP,
            single=source.quotes_single(),
            typed=any(function.returns for function in functions),
            documented=any(map(_documents, functions)),
        )
        self.bodies = [self._places(function) for function in functions]
        tops = [node for node in functions if node in tree.body and isinstance(node, ast.FunctionDef)]
        self._entries = {node.name: self._places(node) for node in tops}  # no coroutine: nobody may await it
        self.constants = max((_end(node) for node in tree.body if isinstance(node, _IMPORTS)), default=0) or None
        self.tops = self._tops()

    @classmethod
    def read(cls, source: Source) -> Self | None:
        """Return the module; None where it does not parse or has statements that share a line."""
        try:
            with quietly():
                tree = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return cls(source, tree) if tree.body and _apart(tree.body) else None

    def _has_room(self, function: _Function) -> bool:
        body = function.body[_documents(function) :]
        if not body or (function.name.startswith("__") and function.name != "__init__"):
            return False
        if isinstance(body[0], ast.Pass) or (isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)):
            return False  # a stub
        alone = not self.source.lines[_first(body[0])][: body[0].col_offset].strip()
        return function.body[0].lineno > function.lineno and _apart(function.body) and alone

    def _step(self, function: _Function) -> str:
        return self._space(function.body[0]).removeprefix(self._space(function)) or STEP

    def _space(self, statement: ast.stmt) -> str:
        return space_of(self.source.lines[_first(statement)])

    def _places(self, function: _Function) -> list[tuple[int, str]]:
        body = function.body[_documents(function) :]
        space = self._space(body[0])
        return [(_first(node), space) for node in body if self._space(node) == space]

    def body_of(self, name: str) -> list[tuple[int, str]]:
        """Return the places in a function at the top."""
        return self._entries.get(name, [])

    def _tops(self) -> list[int]:
        lines_at: list[int] = []
        for node in self._tree.body:
            if isinstance(node, _DEFINITIONS) or (lines_at and isinstance(node, ast.If)):
                lines_at.append(self.source.above_comment(_first(node), ("#",)))
        return lines_at

    def imports(self, wanted: Sequence[str]) -> list[Put] | None:
        """Return the imports that are missing, each at its place; None where a name means something else here."""
        if {module.partition(".")[0] for module in wanted} & self._names:
            return None
        have = {alias.name for node in self._tree.body if isinstance(node, ast.Import) for alias in node.names}
        group = self._first_imports()
        missing = sorted(set(wanted) - have)
        if group or not missing:
            return [Put(self._import_place(module, group), Block((f"import {module}",))) for module in missing]
        at = self._head()
        block = Block(tuple(f"import {module}" for module in missing))
        return [Put(at, block.spaced(1 if at else 0, 0 if self.source.is_blank(at) else 1))]

    @cached_property
    def _names(self) -> frozenset[str]:
        """Every name that the module gives to something, but for `import NAME`."""
        return frozenset(name for node in self._nodes for name in _given(node))

    def _first_imports(self) -> list[ast.Import | ast.ImportFrom]:
        group: list[ast.Import | ast.ImportFrom] = []
        for node in self._tree.body:
            if isinstance(node, _IMPORTS) and not _of_future(node):
                if group and self.source.blank_above(_first(node)):
                    break
                group.append(node)
            elif group:
                break
        return group

    @staticmethod
    def _import_place(module: str, group: Sequence[ast.Import | ast.ImportFrom]) -> int:
        plain = [node for node in group if isinstance(node, ast.Import)]
        behind = next((node for node in plain if node.names[0].name > module), None)
        if behind is not None:
            return _first(behind)
        return _end(plain[-1]) if plain else _first(group[0])

    def _head(self) -> int:
        """Return the line behind the docstring and the imports from the future."""
        body = self._tree.body
        heads = [_end(node) for at, node in enumerate(body) if (at == 0 and _is_text(node)) or _of_future(node)]
        if heads:
            return heads[-1]
        end = self.source.above_comment(_first(body[0]), ("#",))
        while end < len(self.source.lines) and self.source.lines[end].startswith("#"):
            end += 1
        return end


def _apart(body: Sequence[ast.stmt]) -> bool:
    return all(_end(one) <= _first(two) for one, two in pairwise(body))


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    return min([node.lineno, *(one.lineno for one in decorators)]) - 1


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _documents(function: _Function) -> bool:
    return _is_text(function.body[0])


def _of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _given(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (*_DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        yield node.name or ""
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.asname for alias in node.names if alias.asname)
