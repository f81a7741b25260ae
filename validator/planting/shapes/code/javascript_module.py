"""A JavaScript or TypeScript module: its style, and the places where lines may be put, found line by line."""

import re
from collections.abc import Container, Sequence
from typing import Final

from validator.planting.shapes.code.javascript_lines import Line, read_lines
from validator.planting.shapes.code.markup import Style, blocks
from validator.planting.shapes.code.source import Put, Source, alone

_STATEMENT: Final = re.compile(r"(?:async function|function|class|const|let|var|export|module\.exports|exports\.)\b")
_REQUIRE: Final = re.compile(r"(?:const|let|var)\s.*=\s*require\(\s*[\"'][^\"']+[\"']\s*\)(?:\.\w+)*;?\s*")
_IMPORT: Final = re.compile(r"import\b[^(]*?[\"'][^\"']+[\"'](?:\s*(?:with|assert)\s*\{.*\})?;?\s*")
_ESM: Final = re.compile(
    r"^(?:import\s*[\w{*\"']|export\s+(?:default|const|let|var|function|async|class|\{|\*|type|interface))",
    re.MULTILINE,
)
_HEAD: Final = re.compile(
    r"(\s*)(?:(?:export\s+)?(?:default\s+)?(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\(.*\)"
    r"|(?:export\s+)?(?:const|let|var)\s+[\w$]+\s*=\s*(?:async\s*)?\([^()]*\)[^=]*=>"
    r"|(?:public\s+|private\s+|static\s+)?(?:async\s+)?(?!if\b|for\b|while\b|switch\b|catch\b|with\b|constructor\b|function\b)[\w$]+\s*\([^()]*\))"
    r"(?:\s*:\s*[\w$<>\[\]|, .]+)?\s*\{\s*"
)
_WHOLE: Final = re.compile(r"\s*(?:const|let|var|return|import)\b")
_DIRECTIVE: Final = re.compile(r"\s*[\"']use \w+[\"'];?\s*")
_COMMENT: Final = ("//", "/*", " *", "*")
_UNENDED: Final = "=+-*/%&|^<>?:,.!~([{"


class Script:
    """A module that was read: its style, and where lines may be put.

    Args:
        source: the file.
        states: of its lines.
    """

    def __init__(self, source: Source, states: Sequence[Line]) -> None:
        self.source = source
        self.states = states
        self.typed = source.path.endswith((".ts", ".mts"))
        self.esm = self._esm()
        self.functions = [at for at, line in enumerate(source.lines) if _HEAD.fullmatch(line) and self._holds(at)]
        self.style = self._style()

    @classmethod
    def read(cls, source: Source) -> "Script | None":
        """Return the module; None where its brackets or quotes do not end."""
        states = read_lines(source.lines)
        return None if states is None else cls(source, states)

    def _esm(self) -> bool:
        if self.source.path.endswith((".mjs", ".cjs")):
            return self.source.path.endswith(".mjs")
        return self.typed or bool(_ESM.search(self.source.text))

    def _holds(self, at: int) -> bool:
        """Whether the line opens the body of a function with a line of its own."""
        states, lines = self.states, self.source.lines
        return (
            at + 1 < len(lines)
            and not states[at].inside
            and states[at].before not in set("=+-*/%&|^<>?:,.!~([")
            and states[at + 1].depth == states[at].depth + 1
            and states[at + 1].before == "{"
            and bool(lines[at + 1].strip())
            and len(_space(lines[at + 1])) > len(_space(lines[at]))
        )

    def _style(self) -> Style:
        lines = self.source.lines
        steps = [_space(lines[at + 1]).removeprefix(_space(lines[at])) for at in self.functions]
        whole = [line for line in lines if _WHOLE.match(line) and line.count("`") % 2 == 0]
        ends = [line.rstrip()[-1] for line in whole]
        terminated = not ends or ends.count(";") * 2 >= len([end for end in ends if end not in set("{([,=>&|")])
        return Style(
            indent=steps[0] if steps else "  ",
            single=self.source.quotes_single() or (not terminated and '"' not in self.source.text),
            typed=self.typed,
            documented=any(line.lstrip().startswith(_COMMENT[:2]) for line in lines),
            terminated=terminated,
        )

    def missing(self, wanted: Sequence[str]) -> list[str] | None:
        """Return the imports that are missing; None where one of their names means something else here."""
        found = []
        for one in dict.fromkeys(wanted):
            binding, module = one.rsplit(" ", 1)
            names = re.findall(r"\w+", binding)
            if any(_brings(line, binding, names, module) for line in self.source.lines):
                continue
            if any(re.search(rf"(?<![\w$.\"'/:-]){name}(?![\w$\"'/-])", self.source.text) for name in names):
                return None
            found.append(one)
        return found

    def imports(self, wanted: Sequence[str]) -> Put:
        """Return the lines that import what is missing."""
        lines = [self.import_line(one) for one in wanted]
        at, block = self.import_end(), blocks("\n".join(lines), self.style)[0]
        return Put(at, block if self._imports() else alone(block, 0, 1))

    def import_line(self, one: str) -> str:
        """Return the line that imports one binding and module, as the file imports others."""
        prefix = "node:" if re.search(r"[\"']node:", self.source.text) else ""
        star = self.typed or bool(re.search(r"^import \* as", self.source.text, re.MULTILINE))
        binding, module = one.rsplit(" ", 1)
        if not self.esm:
            return f'const {binding} = require("{prefix}{module}");'
        if star and not binding.startswith("{"):
            binding = f"* as {binding}"
        return f'import {binding} from "{prefix}{module}";'

    def _imports(self) -> list[int]:
        form = _IMPORT if self.esm else _REQUIRE
        lines = self.source.lines
        return [at for at, state in enumerate(self.states) if _free(state) and form.fullmatch(lines[at])]

    def siblings(self, files: Container[str]) -> list[tuple[int, str]]:
        """Return the imports from files of the same folder: the line behind each, and what follows the name in it."""
        folder = self.source.path.rpartition("/")[0]
        suffix = self.source.path[self.source.path.rindex(".") :]
        found = []
        for at in self._imports():
            named = re.search(r"[\"']\./([\w-]+)(\.[cm]?[jt]s)?[\"']", self.source.lines[at])
            if named and f"{folder}/{named[1]}{suffix}".lstrip("/") in files:
                found.append((at + 1, named[2] or ""))
        return found

    def import_end(self) -> int:
        """Return the line behind the last of the first imports; behind the head of the file where there are none."""
        found = self._imports()
        if found:
            end = found[0] + 1
            while end in found:
                end += 1
            return end
        return self._head()

    def _head(self) -> int:
        lines = self.source.lines
        for at, state in enumerate(self.states):
            line = lines[at]
            if (
                _free(state)
                and line.strip()
                and not line.startswith(("//", "/*", "#!"))
                and not _DIRECTIVE.fullmatch(line)
            ):
                return self.source.above_comment(at, _COMMENT)
        return len(lines)

    def top_places(self) -> list[int]:
        """Return the lines before which a definition may stand."""
        found = []
        start = self.import_end()
        for at, state in enumerate(self.states):
            line = self.source.lines[at]
            if at < start or not _free(state) or not _STATEMENT.match(line) or state.before in set(_UNENDED):
                continue
            if _REQUIRE.fullmatch(line) or self._above(at).startswith(("@", "function", "export function")):
                continue
            place = self.source.above_comment(at, _COMMENT)
            if place >= start and _free(self.states[place]):
                found.append(place)
        return found

    def _above(self, at: int) -> str:
        above = at - 1 - self.source.blank_above(at)
        return self.source.lines[above] if above >= 0 else ""

    def calls(self, at: int) -> list[tuple[int, str]]:
        """Return the lines of a function before which a statement may stand, with their space; `at` opens it."""
        lines, depth = self.source.lines, self.states[at + 1].depth
        space = _space(lines[at + 1])
        found = []
        for here in range(at + 1, len(lines)):
            state = self.states[here]
            if state.depth < depth:
                break
            plain = state.depth == depth and not state.inside and state.before in {"{", ";", "}"}
            begins = re.match(r"(?:const|let|var|return|if|for|while|try|throw|await)\b", lines[here].strip())
            if (
                plain
                and begins
                and _space(lines[here]) == space
                and not lines[here - 1].rstrip().endswith((")", "else"))
            ):
                found.append((here, space))
        return found


def _brings(line: str, binding: str, names: Sequence[str], module: str) -> bool:
    """Whether a line imports this binding from this module, and nothing else by its name."""
    found = re.match(rf"(?:import|const|let|var) (.*?)[\"'](?:node:)?{re.escape(module)}[\"']\)?;?\s*$", line)
    if found is None:
        return False
    if binding.startswith("{"):
        return all(re.search(rf"[{{,] ?{name} ?[,}}]", found[1]) for name in names)
    return re.match(rf"(?:\* as )?{binding} (?:=|from)", found[1]) is not None


def _free(state: Line) -> bool:
    return state.depth == 0 and not state.inside


def _space(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
