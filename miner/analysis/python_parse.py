"""Python source to syntax trees, whatever the source does to the parser."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from miner.analysis.bounds import MAX_DOTTED, MAX_PYTHON_FILE, MAX_SYNTAX_DEPTH

_WARNINGS_LOCK = threading.Lock()  # catch_warnings changes the whole process


class UnreadableSourceError(ValueError):
    """Python cannot parse the source."""


@contextmanager
def quiet() -> Iterator[None]:
    """Drop the warnings that are raised within: what a bundle makes Python warn of is no warning of this program's."""
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse(source: bytes) -> ast.Module:
    """Return the module's tree.

    Raises:
        UnreadableSourceError: too large, not Python, or nested beyond what the parser bears.
    """
    if len(source) > MAX_PYTHON_FILE:
        raise UnreadableSourceError("larger than what is read")
    try:
        with quiet():
            tree = ast.parse(source)
    except (SyntaxError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise UnreadableSourceError("not valid Python") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableSourceError("nested too deeply") from error
    if _deeper(tree, MAX_SYNTAX_DEPTH):
        raise UnreadableSourceError("nested too deeply")
    return tree


def _deeper(tree: ast.AST, limit: int) -> bool:
    level = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a short chain of attributes on a name; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_DOTTED:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


class Names:
    """What the module's imports call things.

    Args:
        nodes: all nodes of the module.
    """

    def __init__(self, nodes: list[ast.AST]) -> None:
        self._meaning: dict[str, str] = {}
        self.modules: dict[str, int] = {}  # imported module to the first line that does so
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.modules.setdefault(alias.name, node.lineno)
                    local = alias.asname or alias.name.partition(".")[0]
                    self._meaning[local] = alias.name if alias.asname else local
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.modules.setdefault(node.module, node.lineno)
                for alias in node.names:
                    self.modules.setdefault(f"{node.module}.{alias.name}", node.lineno)
                    self._meaning[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def of(self, node: ast.AST) -> str:
        """Return the full dotted name that the expression refers to; `.attr` for an attribute of something unnamed."""
        name = dotted(node)
        if not name:
            return f".{node.attr}" if isinstance(node, ast.Attribute) else ""
        head, dot, rest = name.partition(".")
        return self._meaning.get(head, head) + dot + rest


def text_of(node: ast.AST | None) -> str | None:
    """Return the string that a constant or an f-string of constants spells; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [v.value for v in node.values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
        return "".join(parts) if len(parts) == len(node.values) else None
    return None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the call's keyword argument `name`."""
    return next((k.value for k in call.keywords if k.arg == name), None)
