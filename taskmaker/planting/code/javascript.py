"""A JavaScript or TypeScript module: its style, and the places where lines may be put, found by its brackets."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from taskmaker.planting.code.source import Code, Put, Source, Style, blocks, space_of

_CODE: Final = re.compile(r"""//[^\n]*|/\*[\s\S]*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w$]+|[ \t]+|[\s\S]""")
_PATTERN: Final = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/")
_TEMPLATE: Final = re.compile(r"(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(`|\$\{)")
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_BEFORE_PATTERN: Final = frozenset("(,=:[!&|?{};+-*%~^<>")  # what is before a regular expression, not a division
_KEYWORDS: Final = frozenset(
    {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "yield", "await"}
)
_STATEMENT: Final = re.compile(r"(?:async function|function|class|const|let|var|export|module\.exports|exports\.)\b")
_BEGINS: Final = re.compile(r"\s*(?:const|let|var|return|if|for|while|try|throw|await)\b")
_REQUIRE: Final = re.compile(r"(?:const|let|var)\s.*=\s*require\(\s*[\"'][^\"']+[\"']\s*\)(?:\.\w+)*;?\s*")
_IMPORT: Final = re.compile(r"import\b[^(]*?[\"'][^\"']+[\"'](?:\s*(?:with|assert)\s*\{.*\})?;?\s*")
_ESM: Final = re.compile(
    r"^(?:import\s*[\w{*\"']|export\s+(?:default|const|let|var|function|async|class|\{|\*|type|interface))",
    re.MULTILINE,
)
_FUNCTION: Final = re.compile(
    r"(\s*)(?:(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\(.*\)"
    r"|(?:export\s+)?(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s*)?\([^()]*\)[^=]*=>"
    r"|(?:public\s+|private\s+|static\s+)?(?:async\s+)?(?!if\b|for\b|while\b|switch\b|catch\b|with\b|constructor\b|function\b)[\w$]+\s*\([^()]*\))"
    r"(?:\s*:\s*[\w$<>\[\]|, .]+)?\s*\{\s*"
)
_WHOLE: Final = re.compile(r"\s*(?:const|let|var|return|import)\b")
_DIRECTIVE: Final = re.compile(r"\s*[\"']use \w+[\"'];?\s*")
_COMMENT: Final = ("//", "/*", " *", "*")
_UNENDED: Final = frozenset("=+-*/%&|^<>?:,.!~([{")


class Line(NamedTuple):
    """The state in front of a line: open brackets, whether in a template or comment, the last character of code."""

    depth: int
    inside: bool
    before: str


def read_lines(text: str) -> list[Line] | None:
    """Return the state in front of each line; None where brackets or quotes do not end."""
    states, stack, last, at = [Line(0, False, "")], [""], "", 0
    while at < len(text):
        quoted = stack[-1] == "`"
        match = (_TEMPLATE if quoted else _CODE).match(text, at)
        if not quoted and text[at] == "/" and match and len(match[0]) == 1 and _may_begin_pattern(last):
            match = _PATTERN.match(text, at)
        piece = match[0] if match else ""
        if not piece or piece in {'"', "'"} or (piece == "/" and text.startswith("/*", at)):
            return None
        at += len(piece)
        if piece.startswith("#") and states == [Line(0, False, "")]:  # a shebang
            at = text.find("\n", at)
        comment = not quoted and piece.startswith(("//", "/*"))
        states += [Line(len(stack) - 1, quoted or comment, last[-1:])] * piece.count("\n")
        if quoted:
            stack.pop() if piece.endswith("`") else stack.append("{")
        elif piece in "`([{":
            stack.append(piece)
        elif piece in _PAIRS and stack.pop() != _PAIRS[piece]:
            return None
        if not comment and piece.strip():
            last = piece
    return None if len(stack) > 1 else states[:-1]


def _may_begin_pattern(last: str) -> bool:
    return not last or last[-1] in _BEFORE_PATTERN or last in _KEYWORDS


class Script(Code):
    """A module that was read."""

    def __init__(self, source: Source, states: Sequence[Line]) -> None:
        super().__init__(source)
        self._states = states
        typed = source.path.endswith((".ts", ".mts"))
        self.esm = source.path.endswith(".mjs") or (
            not source.path.endswith(".cjs") and (typed or bool(_ESM.search(source.text)))
        )
        functions = [at for at, line in enumerate(source.lines) if _FUNCTION.fullmatch(line) and self._opens(at)]
        self.style = self._style(functions, typed=typed)
        self.bodies = [places for at in functions if (places := self._places(at))]
        self.tops = self._tops()
        self.constants = self.tops[0] if self.tops else None

    @classmethod
    def read(cls, source: Source) -> Self | None:
        """Return the module; None where its brackets or quotes do not end, or it has no place."""
        states = read_lines(source.text)
        made = None if states is None else cls(source, states)
        return made if made is not None and made.tops else None

    def _opens(self, at: int) -> bool:
        """Return whether the line opens the body of a function that has a line."""
        states, lines = self._states, self.source.lines
        return (
            at + 1 < len(lines)
            and not states[at].inside
            and states[at].before not in _UNENDED - {"{"}
            and states[at + 1].depth == states[at].depth + 1
            and states[at + 1].before == "{"
            and bool(lines[at + 1].strip())
            and len(space_of(lines[at + 1])) > len(space_of(lines[at]))
        )

    def _style(self, functions: Sequence[int], *, typed: bool) -> Style:
        lines = self.source.lines
        steps = [space_of(lines[at + 1]).removeprefix(space_of(lines[at])) for at in functions]
        ends = [line.rstrip()[-1] for line in lines if _WHOLE.match(line) and line.count("`") % 2 == 0]
        terminated = not ends or ends.count(";") * 2 >= len([end for end in ends if end not in set("{([,=>&|")])
        return Style(
            indent=steps[0] if steps else "  ",
            single=self.source.quotes_single() or (not terminated and '"' not in self.source.text),
            typed=typed,
            documented=any(line.lstrip().startswith(_COMMENT[:2]) for line in lines),
            terminated=terminated,
        )

    def _places(self, at: int) -> list[tuple[int, str]]:
        """Return the lines of a function before which a statement may stand; `at` opens it."""
        lines, depth = self.source.lines, self._states[at + 1].depth
        space, rows = space_of(lines[at + 1]), []
        for here in range(at + 1, len(lines)):
            state = self._states[here]
            if state.depth < depth:
                break
            plain = state.depth == depth and not state.inside and state.before in {"{", ";", "}"}
            follows = lines[here - 1].rstrip().endswith((")", "else"))
            if plain and not follows and _BEGINS.match(lines[here]) and space_of(lines[here]) == space:
                rows.append((here, space))
        return rows

    def _free(self, at: int) -> bool:
        return self._states[at].depth == 0 and not self._states[at].inside

    def _imports(self) -> list[int]:
        form = _IMPORT if self.esm else _REQUIRE
        return [at for at, line in enumerate(self.source.lines) if self._free(at) and form.fullmatch(line)]

    def _import_end(self) -> int:
        """Return the line behind the last of the first imports; behind the head of the file where there are none."""
        names = self._imports()
        if names:
            return next(at for at in range(names[0] + 1, len(self.source.lines) + 1) if at not in names)
        for at, line in enumerate(self.source.lines):
            head = line.startswith(("//", "/*", "#!")) or _DIRECTIVE.fullmatch(line)
            if self._free(at) and line.strip() and not head:
                return self.source.above_comment(at, _COMMENT)
        return len(self.source.lines)

    def _tops(self) -> list[int]:
        places, start, lines = [], self._import_end(), self.source.lines
        for at in range(start, len(lines)):
            above = at - 1 - self.source.blank_above(at)
            tied = above >= 0 and lines[above].startswith(("@", "function", "export function"))
            begins = self._free(at) and _STATEMENT.match(lines[at]) and self._states[at].before not in _UNENDED
            place = self.source.above_comment(at, _COMMENT)
            if begins and not tied and not _REQUIRE.fullmatch(lines[at]) and place >= start and self._free(place):
                places.append(place)
        return places

    def imports(self, wanted: Sequence[str]) -> list[Put] | None:
        """Return the lines that import what is missing; None where one of their names means something else here.

        Args:
            wanted: bindings with their modules: `fs fs`, `{ exec } child_process`.
        """
        missing = []
        for one in dict.fromkeys(wanted):
            binding, module = one.rsplit(" ", 1)
            names = re.findall(r"\w+", binding)
            if any(_brings(line, binding, names, module) for line in self.source.lines):
                continue
            if any(re.search(rf"(?<![\w$.\"'/:-]){name}(?![\w$\"'/-])", self.source.text) for name in names):
                return None
            missing.append(self._import(binding, module))
        if not missing:
            return []
        block = blocks("\n".join(missing), self.style)[0]
        return [Put(self._import_end(), block if self._imports() else block.spaced(0, 1))]

    def _import(self, binding: str, module: str) -> str:
        prefix = "node:" if re.search(r"[\"']node:", self.source.text) else ""
        star = self.style.typed or bool(re.search(r"^import \* as", self.source.text, re.MULTILINE))
        if not self.esm:
            return f'const {binding} = require("{prefix}{module}");'
        if star and not binding.startswith("{"):
            binding = f"* as {binding}"
        return f'import {binding} from "{prefix}{module}";'


def _brings(line: str, binding: str, names: Sequence[str], module: str) -> bool:
    """Return whether a line imports this binding from this module, and nothing else by its name."""
    match = re.match(rf"(?:import|const|let|var) (.*?)[\"'](?:node:)?{re.escape(module)}[\"']\)?;?\s*$", line)
    if match is None:
        return False
    if binding.startswith("{"):
        return all(re.search(rf"[{{,] ?{name} ?[,}}]", match[1]) for name in names)
    return re.match(rf"(?:\* as )?{binding} (?:=|from)", match[1]) is not None
