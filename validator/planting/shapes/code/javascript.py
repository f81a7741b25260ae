"""Places for a fault in a JavaScript or TypeScript module, found line by line."""

import re
from collections.abc import Sequence
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shapes.code.javascript_lines import Line, read_lines
from validator.planting.shapes.code.markup import GUARD, STEP, Block, Fault, Style, blocks, moved_in
from validator.planting.shapes.code.source import Put, Source, alone
from validator.planting.shapes.code.words import Words

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
        ends = [line.rstrip()[-1:] for line in lines if re.match(r"\s*(?:const|let|var|return|import)\b", line)]
        return Style(
            indent=steps[0] if steps else "  ",
            single=self.source.quotes_single(),
            typed=self.typed,
            documented=any(line.lstrip().startswith(_COMMENT[:2]) for line in lines),
            terminated=not ends or ends.count(";") * 2 >= len([end for end in ends if end not in set("{([,`")]),
        )

    def missing(self, wanted: Sequence[str]) -> list[str] | None:
        """Return the imports that are missing; None where one of their names means something else here."""
        found = []
        for one in dict.fromkeys(wanted):
            binding, module = one.rsplit(" ", 1)
            there = rf"[\"'](?:node:)?{re.escape(module)}[\"']"
            names = re.findall(r"\w+", binding)
            joined = (
                r"\s*\*?\s*(?:as\s+)?"
                + r"\b.*\b".join(map(re.escape, names))
                + rf"\b[^\n]*(?:from|require\()\s*{there}"
            )
            if re.search(rf"^(?:import|const|let|var){joined}", self.source.text, re.MULTILINE):
                continue
            if any(re.search(rf"(?<![\w$.\"'/:-]){name}(?![\w$\"'/-])", self.source.text) for name in names):
                return None
            found.append(one)
        return found

    def imports(self, wanted: Sequence[str]) -> Put:
        """Return the lines that import what is missing."""
        prefix = "node:" if re.search(r"[\"']node:", self.source.text) else ""
        star = self.typed or bool(re.search(r"^import \* as", self.source.text, re.MULTILINE))
        lines = []
        for one in wanted:
            binding, module = one.rsplit(" ", 1)
            if not self.esm:
                lines.append(f'const {binding} = require("{prefix}{module}");')
            elif star and not binding.startswith("{"):
                lines.append(f'import * as {binding} from "{prefix}{module}";')
            else:
                lines.append(f'import {binding} from "{prefix}{module}";')
        at, block = self.import_end(), blocks("\n".join(lines), self.style)[0]
        return Put(at, block if self._imports() else alone(block, 0, 1))

    def _imports(self) -> list[int]:
        form = _IMPORT if self.esm else _REQUIRE
        lines = self.source.lines
        return [at for at, state in enumerate(self.states) if _free(state) and form.fullmatch(lines[at])]

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
                return self.source.above_comment(at, _COMMENT) if at and not _only_comment(lines[:at]) else at
        return len(lines)

    def top_places(self) -> list[int]:
        """Return the lines before which a definition may stand."""
        found = []
        start = self.import_end()
        for at, state in enumerate(self.states):
            line = self.source.lines[at]
            if at < start or not _free(state) or not _STATEMENT.match(line) or state.before in set(_UNENDED):
                continue
            if _REQUIRE.fullmatch(line) or self._above(at).startswith(("@", "function", "export function", "import")):
                continue
            place = self.source.above_comment(at, _COMMENT)
            if place >= start and _free(self.states[place]):
                found.append(place)
        return found

    def _above(self, at: int) -> str:
        above = [line for line in self.source.lines[:at] if line.strip()]
        return above[-1] if above else ""

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


def _only_comment(lines: Sequence[str]) -> bool:
    return all(line.startswith((*_COMMENT, "#!")) for line in lines)


def _free(state: Line) -> bool:
    return state.depth == 0 and not state.inside


def _space(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def put(draws: Draws, source: Source, fault: Fault, words: Words) -> tuple[bytes, int] | None:
    """Return a JavaScript or TypeScript file with `fault` in it, and the line of its sink from 1 on.

    None where its brackets do not end, or it has no place for the fault.
    """
    script = Script.read(source)
    if script is None:
        return None
    missing = script.missing(fault.imports)
    places = script.top_places()
    if missing is None or not places:
        return None
    functions = [at for at in script.functions if script.calls(at)]
    guard = words.guard()
    body, call = fault.body, fault.call
    inside = GUARD in body and bool(functions) and draws.number(0, 1) == 1
    if inside:
        body = body.replace(GUARD, f"if ({guard.fails}) {{\n{STEP * 2}return;\n{STEP}}}")
    elif call:
        call = f"if ({guard.holds}) {{\n" + "\n".join(STEP + line for line in call.strip("\n").split("\n")) + "\n}"
    body = "\n".join(line for line in body.split("\n") if line.strip() != GUARD)
    puts = [script.imports(missing)] if missing else []
    for part in blocks(body, script.style):
        at = places[0] if inside or not _is_function(part) else draws.pick(places)
        puts.append(Put(at, alone(part, 0 if script.source.blank_above(at) or not at else 1, 1)))
    if call:
        puts.extend(_calls(draws, script, blocks(call, script.style), functions))
    return source.with_lines(puts)


def _is_function(part: Block) -> bool:
    return any(line.startswith(("function ", "async function ")) for line in part.lines)


def _calls(draws: Draws, script: Script, parts: Sequence[Block], functions: Sequence[int]) -> list[Put]:
    if functions:
        at, space = draws.pick(script.calls(draws.pick(functions)))
        return [Put(at, moved_in(part, space)) for part in parts]
    return [Put(len(script.source.lines), alone(part, 1, 0)) for part in parts]
