"""Shell scripts as pipelines of simple commands.

Control flow is dropped: what could run is read as if it ran once, in order.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from tree_sitter import Node

from miner.analysis.bounds import MAX_SHELL_TOKENS
from miner.analysis.shell_commands import Assignment, Draft, Function, Script
from miner.analysis.shell_tree import ShellTree, parse_tree
from miner.analysis.shell_words import Word, read_word, substitutions

_SIMPLE: Final = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_STATEMENTS: Final = _SIMPLE | {
    "pipeline",
    "negated_command",
    "redirected_statement",
    "list",
    "variable_assignment",
    "variable_assignments",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "c_style_for_statement",
    "do_group",
    "case_statement",
    "case_item",
    "function_definition",
    "ERROR",
}
_EXPRESSIONS: Final = frozenset(
    {"binary_expression", "unary_expression", "ternary_expression", "postfix_expression", "parenthesized_expression"}
)
_LISTS: Final = frozenset({"list"})
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_PREFIXES: Final = frozenset({"time", "coproc"})  # words of the shell's grammar that this one takes for programs
_OPENING: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "fi", "done", "esac", "}"})
_OPERATORS: Final = frozenset(";&|()<>")
_HEADERS: Final = frozenset({"for", "select", "case", "function"})
_MAX_INNER: Final = 4  # substitutions within substitutions
_MAX_LEVEL: Final = 50  # statements within statements


def parse_script(text: str, *, depth: int = 0) -> Script:
    """Return what the script would run; `depth` is how many scripts it stands in."""
    tree = parse_tree(text)
    reader = _Reader(tree, depth)
    reader.visit_all(tree.root.children, 0)
    pipelines = [tuple(c.finished() for c in pipeline) for pipeline in reader.done]
    return Script(pipelines, reader.complete, tuple(reader.assignments), tuple(reader.functions))


class _Reader:
    def __init__(self, tree: ShellTree, depth: int, *, first_row: int | None = None) -> None:
        self.tree = tree
        self.complete = tree.complete
        self.done: list[list[Draft]] = []
        self.assignments: list[Assignment] = []
        self.functions: list[Function] = []
        self._depth = depth
        self.left = MAX_SHELL_TOKENS
        self._first_row = first_row
        self._variables: dict[str, str] = {}
        self._pipeline: list[Draft] = []
        self._last: Draft | None = None

    def visit_all(self, nodes: Iterable[Node], level: int) -> Draft:
        """Read statements one after the other; return the substitutions of the words that stand between them."""
        between = Draft(0)
        for node in nodes:
            if node.type in _STATEMENTS:
                self._visit(node, level)
            elif node.type in _REDIRECTS:
                self._redirected([node], None, level)
            elif node.is_missing:
                self.complete = False
            elif node.is_named and node.type != "comment":
                self._word(between, node, level)
        self._end()
        return between

    def _visit(self, node: Node, level: int, *, joined: bool = False) -> None:
        if not self._take() or level > _MAX_LEVEL:
            self.complete = False
            return
        kind = node.type
        if kind in _SIMPLE:
            self._command(node, level)
        elif kind in ("pipeline", "negated_command"):
            for child in node.named_children:
                self._visit(child, level + 1, joined=True)
        elif kind == "redirected_statement":
            body = node.child_by_field_name("body")
            self._redirected([child for child in node.children if child.type in _REDIRECTS], body, level)
        elif kind in ("variable_assignment", "variable_assignments"):
            for child in [node] if kind == "variable_assignment" else node.named_children:
                self._assign(child, level)
        else:
            self._compound(node, level, joined=joined)
        if not joined:
            self._end()

    def _compound(self, node: Node, level: int, *, joined: bool) -> None:
        """Read what groups statements; its pipelines are its own, and one command of the pipeline that it stands in."""
        outer, self._pipeline = self._pipeline, []
        first = len(self.done)
        if node.type == "for_statement" and (name := node.child_by_field_name("variable")) is not None:
            self._variables.pop(self.tree.text(name), None)
        if node.type == "ERROR":
            self._broken(node, level)
        else:
            self._note(node, self.visit_all(_flat(node, _LISTS), level + 1))
        self._pipeline = outer
        if joined:
            draft = self._begin(node)
            draft.line = node.end_point.row + 1 + (self._first_row or 0)
            draft.group = (first, len(self.done))

    def _note(self, node: Node, header: Draft) -> None:
        """Remember what a function is called, or what a loop's variable runs over."""
        name, line = node.child_by_field_name("name"), node.start_point.row + 1 + (self._first_row or 0)
        if node.type == "function_definition" and name is not None:
            self.functions.append(
                Function(self.tree.text(name), line, line + node.end_point.row - node.start_point.row)
            )
        variable = node.child_by_field_name("variable") if node.type == "for_statement" else None
        if variable is not None:
            text = " ".join(self.tree.text(word).strip("\"'") for word in node.children_by_field_name("value"))
            inner = tuple(draft.finished() for draft in header.inner)
            self.assignments.append(Assignment(line, self.tree.text(variable), text, inner))

    def _broken(self, node: Node, level: int) -> None:
        """Read what the grammar does not know: the statements in it, and each other line by itself."""
        rows = set(range(node.start_point.row, node.end_point.row + 1))
        for child in node.children:
            if child.type in _STATEMENTS or child.type in _REDIRECTS:
                self.visit_all([child], level + 1)
                rows.difference_update(range(child.start_point.row, child.end_point.row + 1))
        if self._first_row is not None:  # this is a line by itself
            self._loose_words(node, level)
            return
        self._line_by_line(sorted(rows), level)

    def _line_by_line(self, rows: Iterable[int], level: int) -> None:
        self.complete = False
        for row in rows:
            reader = _Reader(parse_tree(self.tree.line(row)), self._depth, first_row=row)
            reader.left = self.left
            reader.visit_all(reader.tree.root.children, level + 1)
            self.left = reader.left
            for draft in (draft for pipeline in reader.done for draft in pipeline):
                draft.group = (draft.group[0] + len(self.done), draft.group[1] + len(self.done))
            self.done += reader.done
            self.assignments += reader.assignments
            self.functions += reader.functions

    def _loose_words(self, node: Node, level: int) -> None:
        words = [child for child in node.children if child.is_named and child.type not in _STATEMENTS | {"comment"}]
        while words and self.tree.text(words[0]) in _OPENING:
            del words[0]
        if words and self.tree.text(words[0]) not in _HEADERS:
            draft = self._begin(node)
            for word in words:
                self._argument(draft, word, level)
        self._end()

    def _begin(self, node: Node) -> Draft:
        line = node.start_point.row + 1 + (self._first_row or 0)
        self._last = Draft(line, literal=self._first_row is None)
        self._pipeline.append(self._last)
        return self._last

    def _end(self) -> None:
        if self._pipeline:
            self.done.append(self._pipeline)
        self._pipeline = []

    def _take(self) -> bool:
        self.left -= 1
        self.complete = self.complete and self.left >= 0
        return self.left >= 0

    def _command(self, node: Node, level: int) -> None:
        words = node.children if node.type == "command" else list(_flat(node, _EXPRESSIONS))
        if words and words[0].type == "((":  # arithmetic
            self._word(Draft(0), node, level)
            return
        draft = Draft(0)
        for child in words:
            if child.type in _REDIRECTS:
                self._redirect(draft, child, level)
            elif child.type == "variable_assignment" and node.type == "command":
                self._inner(draft, substitutions(child), level)
                name, _, text = self.tree.text(child).partition("=")
                draft.settings.append((name, text))
            elif child.type == "ERROR" or child.is_missing:
                self.complete = False
            else:
                self._argument(draft, child, level)
        while len(draft.argv) > 1 and draft.argv[0] in _PREFIXES:
            del draft.argv[0], draft.open[0]
        draft.line = node.start_point.row + 1 + (self._first_row or 0)
        draft.literal = draft.literal and self._first_row is None
        self._last = draft
        self._pipeline.append(draft)

    def _argument(self, draft: Draft, node: Node, level: int) -> None:
        word = self._word(draft, node, level)
        draft.argv.append(word.value)
        draft.open.append(not word.literal)
        draft.literal = draft.literal and word.literal

    def _word(self, draft: Draft, node: Node, level: int) -> Word:
        word = read_word(self.tree, node, self._variables) if self._take() else Word("", literal=False)
        self._inner(draft, word.inner, level)
        return word

    def _inner(self, draft: Draft, nodes: Iterable[Node], level: int) -> None:
        for node in nodes:
            if self._depth >= _MAX_INNER:
                self.complete = False
                return
            outer, before = (self._pipeline, self._variables, self._last), len(self.done)
            self._pipeline, self._variables = [], dict(self._variables)
            self._depth += 1
            self.visit_all(node.children, level + 1)
            self._depth -= 1
            self._pipeline, self._variables, self._last = outer
            draft.inner += [inner for pipeline in self.done[before:] for inner in pipeline]

    def _assign(self, node: Node, level: int) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        draft = Draft(0)
        word = Word("", literal=True) if value is None else self._word(draft, value, level)
        inner = tuple(one.finished() for one in draft.inner)
        line = node.start_point.row + 1 + (self._first_row or 0)
        joined = value is not None and self.tree.text(value).strip("\"'") != word.value
        self.assignments.append(Assignment(line, self.tree.text(name), word.value, inner, joined))
        plain = name.type == "variable_name" and (value is None or value.type != "array")
        if plain and word.literal and "+=" not in [child.type for child in node.children]:
            self._variables[self.tree.text(name)] = word.value
        else:
            self._variables.pop(self.tree.text(name), None)

    def _redirected(self, redirects: list[Node], body: Node | None, level: int) -> None:
        """Read a statement's redirections; they are those of its last command, or of a group as a whole."""
        draft = None
        if body is not None:
            self._visit(body, level + 1, joined=body.type not in _LISTS)
            draft = self._last
        for node in redirects:
            draft = draft or self._begin(node)
            self._redirect(draft, node, level)

    def _redirect(self, draft: Draft, node: Node, level: int) -> None:
        if node.type == "heredoc_redirect":
            self._here_document(draft, node, level)
            return
        targets = [child for child in node.named_children if child.type not in ("file_descriptor", "ERROR")]
        sign = "".join(
            self.tree.text(c) for c in node.children if (not c.is_named or c.type == "ERROR") and c not in targets
        )
        for number, target in enumerate(targets):
            if number == 0:
                draft.redirects.append((sign, self._word(draft, target, level).value))
            elif not _names_descriptor(node, target):
                self._argument(draft, target, level)

    def _here_document(self, draft: Draft, node: Node, level: int) -> None:
        parts = {child.type: child for child in node.children}
        drop_tabs = "<<-" in parts
        delimiter = self.tree.text(parts["heredoc_start"]) if "heredoc_start" in parts else ""
        if self._first_row is None and ("heredoc_end" not in parts or not _OPERATORS.isdisjoint(delimiter)):
            # The grammar takes `<<A;` for a delimiter of two characters, which no line ends.
            self._line_by_line(range(node.start_point.row + 1, node.end_point.row + 1), level)
        for child in node.children:
            if child.type == "heredoc_body":
                lines = self.tree.text(child).split("\n")
                body = "\n".join(line.lstrip("\t") if drop_tabs else line for line in lines)
                draft.redirects.append(("<<", body.removesuffix("\n")))
                self._inner(draft, substitutions(child), level)
            elif child.type in _REDIRECTS:
                self._redirect(draft, child, level)
            elif child.type == "pipeline":
                self._visit(child, level + 1, joined=True)
            elif child.type in _STATEMENTS:
                self.visit_all([child], level + 1)
            elif child.is_named and node.field_name_for_child(node.children.index(child)) == "argument":
                self._argument(draft, child, level)
        draft.redirects += [("<<", text) for text in self.tree.stacked.get(node.start_point.row, ())]


def _flat(node: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """Yield a node's children in order; one of these kinds is replaced by its own."""
    nodes = node.children[::-1]
    while nodes:
        node = nodes.pop()
        if node.type in kinds:
            nodes += node.children[::-1]
        else:
            yield node


def _names_descriptor(redirect: Node, word: Node) -> bool:
    """Whether the word is the `0` of a following `0>&1`, which the grammar gives to the redirection before it."""
    after = redirect.next_sibling
    return word.type == "number" and after is not None and after.start_byte == word.end_byte
