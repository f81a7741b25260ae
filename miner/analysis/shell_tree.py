"""Shell scripts as syntax trees: tree-sitter's grammar of bash, within bounds.

The parser's work grows with the square of the text where it recovers from errors, and with the square of what is open
where the text ends. So a long script is read whole only if it has no error and few openings; else its first lines are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Point, Tree

from miner.analysis.bounds import MAX_SHELL_FILE, MAX_SHELL_OPENINGS, MAX_SHELL_RECOVERY

_OPENINGS: Final = (b"(", b"|", b"<<")
_BASH: Final = Language(tree_sitter_bash.language())
_MAX_STACKED: Final = 8  # here-documents after the first on their lines
# The grammar's scanner looks characters up in the C library's tables, which have no more than ASCII: others end the
# process. In bash they are parts of words and of no name.
_SCANNED: Final = bytes(range(128)) + b"%" * 128


@dataclass(frozen=True, slots=True)
class ShellTree:
    """A parsed script.

    Attributes:
        root: its syntax tree.
        source: the bytes that the tree's positions count in.
        stacked: bodies of further here-documents by the row of their line: the grammar knows one on a line.
        complete: False if not all of the script was parsed.
    """

    root: Node
    source: bytes
    stacked: dict[int, list[str]] = field(default_factory=dict)
    complete: bool = True

    def text(self, node: Node) -> str:
        """Return what the script has where the node stands."""
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """Return the text of a range of bytes."""
        return self.source[start:end].decode("utf-8", "replace")

    def line(self, row: int) -> str:
        """Return the line of a row, from 0."""
        return self.source.split(b"\n")[row].decode("utf-8", "replace")


def parse_tree(text: str) -> ShellTree:
    """Return the script's tree; of a long one with an error or much that is open, that of its first lines."""
    source = text.encode("utf-8", "replace")
    if len(source) <= MAX_SHELL_RECOVERY:
        return _unstacked(ShellTree(_parsed(source).root_node, source))
    openings = sum(map(source.count, _OPENINGS))
    if len(source) <= MAX_SHELL_FILE and openings <= MAX_SHELL_OPENINGS and (tree := _without_error(source)):
        return ShellTree(tree.root_node, source)
    source = source[: source.rfind(b"\n", 0, MAX_SHELL_RECOVERY) + 1 or MAX_SHELL_RECOVERY]
    return _unstacked(ShellTree(_parsed(source).root_node, source, complete=False))


def _parsed(source: bytes) -> Tree:
    return Parser(_BASH).parse(source.translate(_SCANNED))


def _without_error(source: bytes) -> Tree | None:
    scanned = source.translate(_SCANNED)

    def read(offset: int, _: Point) -> bytes:
        return scanned[offset : offset + 65_536]

    try:
        tree = Parser(_BASH).parse(read, progress_callback=lambda _, has_error: has_error)
    except ValueError:  # how it tells that the callback stopped it
        return None
    return None if tree.root_node.has_error else tree


def _unstacked(tree: ShellTree) -> ShellTree:
    """Take the second and further here-documents of a line out of the source."""
    for _ in range(_MAX_STACKED):
        found = next(_stacked(tree.root), None) if tree.root.has_error else None
        if found is None:
            break
        sign, redirect, start = found
        delimiter = tree.text(redirect).removeprefix("<")
        drop_tabs = delimiter.startswith("-")
        delimiter = delimiter.removeprefix("-").strip("'\" ")
        lines, at = list[str](), start
        while at < len(tree.source):
            end = (tree.source.find(b"\n", at) + 1) or len(tree.source)
            line = tree.between(at, end).rstrip("\n")
            line, at = line.lstrip("\t") if drop_tabs else line, end
            if line == delimiter:
                break
            lines.append(line)
        source = bytearray(tree.source)
        for first, last in ((sign.start_byte, redirect.end_byte), (start, at)):
            source[first:last] = bytes(c if c == ord("\n") else ord(" ") for c in source[first:last])
        tree.stacked.setdefault(sign.start_point.row, []).append("\n".join(lines))
        tree = ShellTree(_parsed(bytes(source)).root_node, bytes(source), tree.stacked, tree.complete)
    return tree


def _stacked(root: Node) -> Iterator[tuple[Node, Node, int]]:
    """Yield each second here-document of a line: its `<`, what was taken for a redirection, where its body begins."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        ends = [child.end_byte + 1 for child in node.children if child.type == "heredoc_end"]
        if node.type == "heredoc_redirect" and ends:
            for child in node.children:
                after = child.next_sibling
                if child.type == "ERROR" and after is not None and after.type == "file_redirect":
                    yield child, after, ends[0]
        nodes += [child for child in node.children if child.has_error]
