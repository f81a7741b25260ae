"""Shell words: what a word of the syntax tree says once quotes, escapes and known variables are read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from miner.analysis.shell_tree import ShellTree

SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_EXPANSIONS: Final = frozenset({"simple_expansion", "expansion", "arithmetic_expansion"})
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_IN_QUOTES: Final = re.compile(r'\\([$`"\\\n])')
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_METACHARACTERS: Final = frozenset(" \t\n'\"\\|&;()<>!{}*[?]^$`")
_MAX_NESTED: Final = 16  # parts within parts of one word


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        value: its text with quotes removed and known variables filled in; what cannot be known stays as written.
        literal: whether `value` is what the shell would see.
        inner: the nodes of its substitutions: `$(…)`, backticks, `<(…)`.
    """

    value: str
    literal: bool
    inner: tuple[Node, ...] = ()


def read_word(tree: ShellTree, node: Node, variables: Mapping[str, str]) -> Word:
    """Return the word that a node is; `variables` are those whose values are known."""
    reader = _WordReader(tree, variables)
    value = reader.read(node, 0, quoted=False)
    return Word(value, reader.literal, tuple(reader.inner))


def substitutions(node: Node) -> Iterator[Node]:
    """Yield the outermost substitutions at or below a node, in order."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node.type in SUBSTITUTIONS:
            yield node
        else:
            nodes += reversed(node.named_children)


class _WordReader:
    def __init__(self, tree: ShellTree, variables: Mapping[str, str]) -> None:
        self.tree = tree
        self.variables = variables
        self.literal = True
        self.inner: list[Node] = []

    def read(self, node: Node, depth: int, *, quoted: bool) -> str:
        kind, text = node.type, self.tree.text(node)
        if kind in _EXPANSIONS and (match := _VARIABLE.fullmatch(text)):
            value = self.variables.get(match[1] or match[2])
            self.literal = self.literal and value is not None
            return text if value is None else value
        if kind in _EXPANSIONS or kind in SUBSTITUTIONS or depth > _MAX_NESTED:
            self.literal = False
            self.inner += substitutions(node)
            return text
        if kind == "raw_string":
            return text[1:-1]
        if kind == "ansi_c_string":
            self.literal = False
            return text[2:-1]
        if node.child_count:
            return self._parts(node, depth, quoted=quoted or kind == "string")
        return _unescaped(text, quoted=quoted)

    def _parts(self, node: Node, depth: int, *, quoted: bool) -> str:
        parts, at = list[str](), node.start_byte
        for child in node.children:
            parts.append(_unescaped(self.tree.between(at, child.start_byte), quoted=quoted))
            if child.type != '"':
                parts.append(self.read(child, depth + 1, quoted=quoted))
            at = child.end_byte
        parts.append(_unescaped(self.tree.between(at, node.end_byte), quoted=quoted))
        return "".join(parts)


def traced(word: str) -> str:
    """Return the word as bash's execution tracing prints it: single-quoted where the shell would misread it."""
    risky = not word or word.startswith(("~", "#")) or not _METACHARACTERS.isdisjoint(word)
    return "'" + word.replace("'", "'\\''") + "'" if risky else word


def _unescaped(text: str, *, quoted: bool) -> str:
    escape = _ESCAPE_IN_QUOTES if quoted else _ESCAPE
    return escape.sub(lambda match: "" if match[1] == "\n" else match[1], text) if "\\" in text else text
