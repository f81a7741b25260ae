"""A Python module: its style, and the places where lines may be put, found in its syntax tree."""

import ast
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final

from validator.planting.shapes.code.markup import STEP, Block, Style
from validator.planting.shapes.code.source import Put, Source, alone
from validator.planting.sound import quietly

Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS: Final = (ast.Import, ast.ImportFrom)


class Module:
    """A module that was parsed: its style, and where lines may be put.

    Args:
        source: the file.
        tree: of its text.
    """

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self.source = source
        self.tree = tree
        self.functions = [node for node in ast.walk(tree) if isinstance(node, Function) and self._has_room(node)]
        self.style = self._style()

    @classmethod
    def parse(cls, source: Source) -> "Module | None":
        """Return the module; None where it does not parse or has statements that share a line."""
        try:
            with quietly():
                tree = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if not tree.body or not _apart(tree.body):
            return None
        return cls(source, tree)

    def _has_room(self, function: Function) -> bool:
        body = function.body[_documents(function) :]
        if not body or (function.name.startswith("__") and function.name != "__init__"):
            return False
        if isinstance(body[0], ast.Pass) or (isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)):
            return False  # a stub
        return function.body[0].lineno > function.lineno and _apart(function.body) and self._begins(body[0])

    def _begins(self, statement: ast.stmt) -> bool:
        return not self.source.lines[_first(statement)][: statement.col_offset].strip()

    def _style(self) -> Style:
        indent = STEP
        for function in self.functions:
            outer = self._space(function)
            indent = self._space(function.body[0]).removeprefix(outer) or STEP
            break
        return Style(
            indent=indent,
            single=self.source.quotes_single(),
            typed=any(function.returns for function in self.functions),
            documented=any(map(_documents, self.functions)),
        )

    def _space(self, statement: ast.stmt) -> str:
        line = self.source.lines[_first(statement)]
        return line[: len(line) - len(line.lstrip())]

    def takes(self, modules: Sequence[str]) -> bool:
        """Whether the names of these modules mean the modules here, or nothing."""
        wanted = {module.partition(".")[0] for module in modules}
        return wanted.isdisjoint(_bound(self.tree))

    def imports(self, modules: Sequence[str]) -> list[Put]:
        """Return the imports that are missing, each at its place."""
        return [Put(self._import_place(module), Block((f"import {module}",))) for module in self._missing(modules)]

    def _missing(self, modules: Sequence[str]) -> list[str]:
        have = {alias.name for node in self.tree.body if isinstance(node, ast.Import) for alias in node.names}
        return sorted(set(modules) - have)

    def _first_imports(self) -> list[ast.Import | ast.ImportFrom]:
        group: list[ast.Import | ast.ImportFrom] = []
        for node in self.tree.body:
            if isinstance(node, _IMPORTS) and not _of_future(node):
                if group and self.source.blank_above(_first(node)):
                    break
                group.append(node)
            elif group:
                break
        return group

    def _import_place(self, module: str) -> int:
        group = self._first_imports()
        plain = [node for node in group if isinstance(node, ast.Import)]
        for node in plain:
            if node.names[0].name > module:
                return _first(node)
        if plain:
            return _end(plain[-1])
        return _first(group[0]) if group else self._head()

    def _head(self) -> int:
        """Return the line behind the docstring and the imports from the future."""
        end = 0
        for number, node in enumerate(self.tree.body):
            if (number == 0 and _is_text(node)) or _of_future(node):
                end = _end(node)
        if end == 0:
            end = self.source.above_comment(_first(self.tree.body[0]), ("#",))
            while end < len(self.source.lines) and self.source.lines[end].startswith("#"):
                end += 1
        return end

    def head_space(self, puts: list[Put]) -> list[Put]:
        """Return imports with blank lines around them, where they are the module's first."""
        if self._first_imports() or not puts:
            return puts
        at = puts[0].at
        block = Block(tuple(line for put in puts for line in put.block.lines))
        below = at < len(self.source.lines) and not self.source.lines[at].strip()
        return [Put(at, alone(block, 1 if at else 0, 0 if below else 1))]

    def top_places(self) -> list[int]:
        """Return the lines before which a definition may stand."""
        found = []
        seen = False
        for node in self.tree.body:
            if isinstance(node, _DEFINITIONS) or (seen and isinstance(node, ast.If)):
                seen = True
                found.append(self.source.above_comment(_first(node), ("#",)))
        return found

    def siblings(self, files: Container[str]) -> list[tuple[int, str]]:
        """Return the imports from modules of the same folder: the line behind each, and what stands before its name."""
        folder = self.source.path.rpartition("/")[0]
        found = []
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                prefix, _, name = ("." * node.level + node.module).rpartition(".")
                prefix += "." if prefix or node.level else ""
                if f"{folder}/{name}.py".lstrip("/") in files and prefix in {"", "."}:
                    found.append((_end(node), prefix))
        return found

    def last_import(self) -> int:
        """Return the line behind the last import at the top; 0 where there is none."""
        return max((_end(node) for node in self.tree.body if isinstance(node, _IMPORTS)), default=0)

    def calls(self, function: Function) -> list[tuple[int, str]]:
        """Return the lines of a function before which a statement may stand, with their indentation."""
        body = function.body[_documents(function) :]
        space = self._space(body[0])
        return [(_first(node), space) for node in body if self._space(node) == space]


def _apart(body: Sequence[ast.stmt]) -> bool:
    return all(_end(one) <= _first(two) for one, two in pairwise(body))


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    return min([node.lineno, *(one.lineno for one in decorators)]) - 1


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _documents(function: Function) -> bool:
    return _is_text(function.body[0])


def _of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(tree: ast.Module) -> set[str]:
    """Return every name that a module gives to something, but for `import NAME`."""
    return set(_names(tree))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
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
