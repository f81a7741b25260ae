"""Scanner of flows: what is read, fetched or unpacked is followed by its names to where it is sent, run or kept.

No language is parsed: a statement ends with its line, unless a bracket is open. A name that a statement gives holds
what the statement holds; a function what it returns, its parameters what it is called with, a path what is written.
So a value is followed through functions, files and languages of one bundle. The marks and the flows are data
(`rules/flows.toml`).
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct

from miner.scanners.prose import hosts_in
from miner.scanners.scanner import Bundle, Report, new_finding
from miner.scanners.semgrep import MAX_CODE, MAX_FILE, MINIFIED, is_library, is_trusted
from miner.scanners.source import KIB, SourceFile, is_document, rules_as
from sssa.protocol.findings import SEVERITIES
from sssa.protocol.sssa import Category, Finding, Severity

MAX_STATEMENTS: Final = 20_000
_MOST_NAMES: Final = 200  # of one statement, and functions of one name
_MOST_CALLS: Final = 400_000  # that are followed, and parameters: of 43 popular packages none has a fourth of that
_DATA: Final = "data"  # settings and the like: no statement goes on in the next line
_SHELLS: Final = ("bash", "", _DATA)
_DATA_SUFFIXES: Final = frozenset({"json", "jsonc", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "html", "csv"})
_UNMARKED: Final = 64 * KIB  # characters of files that only hand something on
_ROUNDS: Final = 4  # of handing on: a chain may be about as long, however the files are ordered
_STEPS: Final = 8  # of one value: from a name to the next one step, from a function to another two
_CROSSING: Final = 2
_LINES: Final = 16  # of one statement
_PARTED: Final = r"[\s\"',]{1,6}"  # between the words of a command
_MOST_OF_ONE: Final = 24  # findings of one flow
_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\]|\\.)*`'
    r"|\\\n|&&|\|\||[;\n()\[\]]",
    re.DOTALL,
)
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|`((?:[^`\\]|\\.)*)`', re.DOTALL)
_FILLED: Final = re.compile(r"[{(]([^{}()]{1,200})[})]|\$(\w{1,60})")
_PATH: Final = re.compile(
    r"[\w.~-]{0,80}/[\w./-]{2,120}|\b[\w-]{1,60}\.(?:sh|py|js|bin|exe|zip|tgz|json|txt|dat|db|log|ps1)\b"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w{0,80}")
_HOOK: Final = re.compile(r"\"(?:pre|post)?install\"\s*:\s*\"(?:[^\"\\\\]|\\\\.){1,400}\"|<!\(.{1,200}\)")
_OF_TESTS: Final = re.compile(r"(?:^|/)(?:tests?/|test_|conftest)|[._-](?:test|spec)\.")
_DECORATED: Final = re.compile(r"^\s*@[\w.]+")
_IMPORT: Final = re.compile(r"^\s*(?:from\b|import\b|export\b.{0,200}\bfrom\b)|\brequire\(")
_KEPT: Final = re.compile(
    r"\bopen\(\s*(\w{1,60})|\b(\w{1,60})\.write_(?:text|bytes)\(|\b(?:write|append)File(?:Sync)?\(\s*(\w{1,60})"
    r"|\bcreateWriteStream\(\s*(\w{1,60})|\burlretrieve\([^,()]{1,200},\s*(\w{1,60})|\s-[oO]\s*[\"']?\$\{?(\w{1,60})"
    r"|>\s*[\"']?\$\{?(\w{1,60})|-(?:OutFile|Destination)\s+\$(\w{1,60})"
)
_HANDED_ON: Final = re.compile(r"\benv\s{0,3}[:=]\s{0,3}[\w.]{1,60}|\benv\s{0,3}[:=]\s{0,3}\{[^{}]{0,200}\}")
_OPENS_BLOCK: Final = re.compile(r"(?:=>|\))\s{0,4}\{\s{0,4}$|;\s{0,4}$")
_GOES_ON: Final = re.compile(r"\n\s{0,200}[.|]")
_UNENDED: Final = re.compile(r"[|,=+\\]\s{0,4}$|=>\s{0,4}$")
_GIVEN: Final = re.compile(
    r"(?:^|\{)\s*(?:(?:export|local|const|let|var|my|readonly|default)\s+)*[$@]?([\w$.,\s{}\[\]*]{1,160}?)\s{0,3}"
    r"(?::\s?[^=\n]{1,60})?(?:[-+.:|&?]{0,2})=(?![=>~])"
)
_TAKEN: Final = re.compile(
    r"\bas\s+(\w{1,60})|\bfor(?:each)?\s*\(?(?:\s*(?:const|let|var))?\s+\$?([\w,\s$\[\]()]{1,80}?)\s+(?:in|of)\b"
    r"|(?:\(([\w,\s{}]{1,80})\)|\b(\w{1,60}))\s{0,3}=>|\bfunction\s*\w*\(([\w,\s]{1,80})\)"
    r"|\bread\s+(?:-r\s+)?(\w{1,60})|\b(\w{1,60})\.(?:append|push|add|update|extend|write|concat|insert|set)\("
    r"|\b(\w{1,60})\s{0,3}:="
)
_FUNCTION: Final = re.compile(
    r"^(?:\s*@[^\n]{0,200}\n)*\s*(?:(?:export|default|public|private|static|async)\s+)*(?:def|function\*?|func|sub|fn)\s+([\w-]{1,80})\s*\(?([^)]{0,400})"
    r"|^\s*(?:(?:export|default|const|let|var)\s+)*([\w.]{1,80})\s*[:=]\s*(?:async\s*)?(?:function\s*\w*\s*)?"
    r"(?:\(([^()]{0,400})\)|(\w{1,60}))\s*(?:=>|\{)"
    r"|^\s*(?:(?:async|public|private|protected|static)\s+)*(?!if|for|while|switch|catch)(\w{1,80})\s*\(([^()]{0,400})\)"
    r"\s*(?::[^={}();\n]{1,120})?\{"
)
_RETURN: Final = re.compile(r"=>\s{0,3}[^{\s]|\b(?:return|yield)\b|^\s*(?:module\.)?exports\b|^\s*echo\b")
_BRANCH: Final = re.compile(r"\s*(?:\}?\s*else\s*)?(?:if|elif|switch|while)\b")
_CALL: Final = re.compile(r"\b([A-Za-z_]\w{2,80})\s{0,3}\(")
_COMMON: Final = frozenset(
    {"self", "this", "os", "re", "json", "fs", "cp", "process", "console", "require", "exports", "sys"}
)


_Scope = tuple[str, str]  # a file and a function
_Name = tuple[_Scope, str]


class _Origin(NamedTuple):
    """The place of a mark, and the steps from there."""

    source: SourceFile
    line: int
    steps: int


Held = dict[str, _Origin]
"""What a name or a statement holds: each mark, with its origin."""


def _nearer(held: Held, more: Held, steps: int = 0) -> None:
    """Put into `held` what `more` holds, so many steps further; of one mark the nearest origin."""
    for mark, origin in more.items():
        known = held.get(mark)
        if origin.steps + steps <= _STEPS and (known is None or origin.steps + steps < known.steps):
            held[mark] = origin._replace(steps=origin.steps + steps)


class _Flow(Struct, frozen=True, rename={"sources": "from", "sink": "to", "within_file": "file"}):
    what: str
    category: Category
    severity: Severity
    sources: frozenset[str]
    sink: str
    also: str = ""
    within_file: bool = False
    bare: bool = False
    steps: int = _STEPS
    alone: Severity | None = None


class _Rules(Struct, frozen=True):
    sources: dict[str, str]
    sinks: dict[str, str]
    flow: tuple[_Flow, ...]


class _Statement:
    """One statement, with what it gives to which names."""

    def __init__(
        self, source: SourceFile, line: int, text: str, scope: _Scope, parameters: frozenset[str] | None
    ) -> None:
        self.source, self.line, self.text, self.scope = source, line, text, scope
        self.marks: Held = {}
        self.sinks: dict[str, int] = {}  # with their lines
        self.is_header = parameters is not None
        self.held: Held = {}
        bare = _HANDED_ON.sub(" ", text)
        strings = [next(filter(None, match.groups()), "") for match in _STRING.finditer(bare)]
        code = _STRING.sub(" ", bare)
        inner = " ".join(part for text in strings for match in _FILLED.findall(text) for part in match)
        self.names = frozenset(_WORD.findall(f"{code} {inner}")[:_MOST_NAMES]) - _COMMON
        paths = _PATH.findall(bare)
        self.paths = frozenset(paths) | {name for path in paths if "." in (name := path.rpartition("/")[2])}
        self.calls = frozenset(_CALL.findall(f"{code} {inner}")[:_MOST_NAMES]) - _COMMON
        self.parameters = parameters or frozenset[str]()
        self.kept = frozenset(part for match in _KEPT.findall(bare) for part in match if part)
        self.imports = _IMPORT.search(text) is not None
        given = None if self.imports and "require" not in text else _GIVEN.search(code)
        taken = [part for match in _TAKEN.findall(code) for part in match if part]
        self.gives = frozenset(_WORD.findall(" ".join([given[1] if given else "", *taken]))) - _COMMON
        self.assigned = frozenset(_WORD.findall(given[1])) - _COMMON if given else frozenset[str]()
        self.branches = _BRANCH.match(code) is not None
        self.returns = _RETURN.search(code) is not None


class _Function(NamedTuple):
    """A function: its file and name, its file's name without a suffix, its parameters."""

    scope: tuple[str, str]
    stem: str
    parameters: frozenset[str]


class Functions(dict[str, list[_Function]]):
    """The functions of a bundle by name, and by the name of their file: of one name the first ones."""

    def __init__(self) -> None:
        super().__init__()
        self.of_stem: defaultdict[str, list[_Function]] = defaultdict(list)

    def add(self, one: _Function) -> None:
        """Note a function."""
        for some in (self.setdefault(one.scope[1], []), self.of_stem[one.stem]):
            if len(some) < _MOST_NAMES:
                some.append(one)


def _header(text: str, stem: str) -> tuple[str, frozenset[str]] | None:
    """Return the name and the parameters of a function that begins; what a module is has the name of its file."""
    match = _FUNCTION.match(text)
    if match is None:
        return None
    name = match[1] or match[3] or match[6]
    listed = match[2] or match[4] or match[5] or match[7] or ""
    name = stem if name in ("module.exports", "exports", "default") else name.rpartition(".")[2]
    return name, frozenset(_WORD.findall(listed)) - _COMMON


class _Code:
    """Text that is read as code, with the number of lines before it in its file and the offsets of marks and sinks."""

    def __init__(self, source: SourceFile, text: str, offset: int, language: str) -> None:
        self.source, self.text, self.offset, self.language = source, text, offset, language
        self.marks, self.sinks = (_offsets(text, kinds, in_shell=language in _SHELLS) for kinds in _patterns())


class _Pattern(NamedTuple):
    """One alternative of a pattern, with letters that every match of it holds."""

    needle: str
    text: str


@cache
def _patterns() -> tuple[dict[str, tuple[_Pattern, ...]], dict[str, tuple[_Pattern, ...]]]:
    """Return the patterns of sources and of sinks by name; a blank matches what parts words of a command."""
    rules = rules_as("flows", _Rules)
    sources, sinks = (
        {name: tuple(_alternatives(lines)) for name, lines in kind.items()} for kind in (rules.sources, rules.sinks)
    )
    return sources, sinks


def _alternatives(lines: str) -> Iterator[_Pattern]:
    for line in filter(None, lines.split("\n")):
        depth, text = 0, ""
        for part in re.findall(r"\\.|\[(?:\\.|[^\]])*\]|.", line):
            depth += (part == "(") - (part == ")")
            if part == "|" and depth == 0:
                yield _Pattern(_needle(text), text.replace(" ", _PARTED))
                text = ""
            else:
                text += part
        yield _Pattern(_needle(text), text.replace(" ", _PARTED))


def _needle(pattern: str) -> str:
    """Return the longest run of letters outside of groups, classes and what need not be there."""
    bare = pattern
    while bare != (bare := re.sub(r"\((?:\\.|\[(?:\\.|[^\]])*\]|[^()\\\[])*\)", "^", bare)):
        pass
    runs = [""]
    for part in re.findall(r"\\.|\[(?:\\.|[^\]])*\]|\{[^{}]*\}|.", bare):
        if part in ("?", "*") or part.startswith("{"):
            runs += [runs.pop()[:-1], ""]
        elif len(part) > 2 or part in (".", "^", "$", "+", " ") or (part[0] == "\\" and part[1].isalpha()):  # noqa: PLR2004 - a class
            runs.append("")
        else:
            runs[-1] += part[-1]
    return max(runs, key=len)


@cache
def _joined(alternatives: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


def _offsets(text: str, kinds: dict[str, tuple[_Pattern, ...]], *, in_shell: bool) -> dict[str, list[int]]:
    """Return where each kind is in a text; patterns of shells count for their kind in shells alone."""
    offsets: defaultdict[str, list[int]] = defaultdict(list)
    for name, patterns in kinds.items():
        kind = name.removesuffix("_in_shell")
        if kind != name and not in_shell:
            continue
        present = tuple(one.text for one in patterns if one.needle in text)
        if present:
            offsets[kind] += [match.start() for match in _joined(present).finditer(text)]
    return {kind: some for kind, some in offsets.items() if some}


class Flows:
    """The scanner of flows."""

    def scan(self, bundle: Bundle) -> Report:
        """Return a finding at each statement that a mark reaches and that may not have it."""
        codes = list(_codes(bundle))
        known = {mark for one in codes for mark in one.marks}
        used = {sink for one in codes for sink in one.sinks}
        flows = [
            one
            for one in rules_as("flows", _Rules).flow
            if one.sink in used and not one.sources.isdisjoint(known) and one.also in {"", *known}
        ]
        wanted = {name for one in flows for name in (*one.sources, one.sink, one.also)}
        statements: list[_Statement] = []
        functions = Functions()
        unmarked = _UNMARKED
        for one in codes if flows else ():
            is_marked = not wanted.isdisjoint(one.marks.keys() | one.sinks.keys())
            unmarked -= 0 if is_marked else len(one.text)
            if len(statements) < MAX_STATEMENTS and (is_marked or unmarked >= 0):
                statements += _statements(one, functions)
        _hand_on(statements, functions)
        return Report(
            findings=(*_findings_of(statements, flows, in_library=is_library(bundle)), *_at_install(statements, bundle))
        )


def _codes(bundle: Bundle) -> Iterator[_Code]:
    """Yield the code and the settings of the bundle, and the code within documents that an agent follows."""
    left = MAX_CODE
    for source in sorted(bundle.sources.values(), key=lambda one: (len(one.content), one.path)):
        size = len(source.content)
        if (
            size <= min(left, MAX_FILE)
            and not source.unread
            and (source.language or source.suffix not in ("map", "lock"))
            and not source.name.endswith(".d.ts")
        ):
            left -= size
            if MINIFIED.search(source.content):
                continue
            if not is_document(source):
                text = source.text.replace('\\"', '"') if source.suffix == "json" else source.text
                language = source.language or (_DATA if source.suffix in _DATA_SUFFIXES else "")
                yield _Code(source, text, 0, language)
            elif not is_trusted(source, bundle):
                yield from (_Code(source, f"{part}\n", n, "bash") for n, part in _inline(source))
    for one in bundle.snippets:
        if not one.trusted and not one.source.language and is_document(one.source):
            yield _Code(one.source, one.content.decode(), one.offset, one.language)


def _inline(source: SourceFile) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.lines):
        if "`" in line and not line.lstrip().startswith("```"):
            yield from ((number, part) for part in re.findall(r"`([^`\n]{8,600})`", line))


def _statements(code: _Code, functions: Functions) -> Iterator[_Statement]:
    """Yield the statements of a text, and note the functions that it defines."""
    path, stem = code.source.path, code.source.name.partition(".")[0]
    starts = [0, *(match.end() for match in re.finditer("\n", code.text))]
    cuts = _cuts(code.text, code.language)
    marks, sinks = (_first_lines(some, cuts, starts, code.offset) for some in (code.marks, code.sinks))
    within: list[tuple[int, str]] = []
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(code.text)], strict=True)):
        text = code.text[begin:end]
        bare = text.lstrip()
        if not bare or bare.startswith(("#", "//", "*", '"""', "'''")):
            continue
        first = begin + len(text) - len(bare)
        line = bisect_right(starts, first)
        indent = first - starts[line - 1]
        while within and within[-1][0] >= indent and not code.text[starts[line - 1] : first].strip():
            within.pop()
        name, parameters = _header(text, stem) or ("", None)
        if parameters is not None:
            within.append((indent, name))
        scope = path, within[-1][1] if within else ""
        statement = _Statement(code.source, line + code.offset, text, scope, parameters)
        if parameters is not None:
            functions.add(_Function(scope, stem, parameters))
        statement.marks = {mark: _Origin(code.source, at, 0) for mark, at in marks.get(number, {}).items()}
        statement.sinks = sinks.get(number, {})
        yield statement


def _first_lines(
    offsets: dict[str, list[int]], cuts: list[int], starts: list[int], before: int
) -> dict[int, dict[str, int]]:
    """Return by statement the first line of each kind."""
    lines: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for name, some in offsets.items():
        for offset in sorted(some):
            lines[bisect_right(cuts, offset)].setdefault(name, bisect_right(starts, offset) + before)
    return lines


def _cuts(text: str, language: str) -> list[int]:
    """Return the offsets at which a statement ends."""
    cuts: list[int] = []
    depth = lines = start = 0
    ends = (";", "&&", "||") if language in _SHELLS else (";",)
    for match in _TOKEN.finditer(text):
        mark, is_end = match[0], match[0] in ends
        if mark in ("(", "["):
            depth += language != _DATA
        elif mark in (")", "]"):
            depth = max(0, depth - 1)
        elif mark == "\n":
            lines += 1
            line, start = text[start : match.start()], match.end()
            goes_on = (
                depth or _UNENDED.search(line[-20:]) or _GOES_ON.match(text, match.start()) or _DECORATED.match(line)
            )
            if language == _DATA:  # one value, whatever follows it
                goes_on = line.endswith(("\\", "|"))
            is_end = not goes_on or lines >= _LINES or _OPENS_BLOCK.search(line[-20:]) is not None
        if is_end:
            cuts.append(match.end())
            depth = lines = 0
    return [cut for cut in cuts if cut < len(text)]


class _Held:
    """Contents of names, functions and files.

    Names of a function are forgotten and learned again in each round, in the order of the statements; parameters, what
    functions return, names of a whole file and files that are written last.
    """

    def __init__(self, statements: Iterable[_Statement], functions: Functions) -> None:
        self._known = _visible(statements, functions)
        self._parameters = {one.scope: one.parameters for some in functions.values() for one in some}
        self._kept: defaultdict[_Name, Held] = defaultdict(dict)
        self._returned: defaultdict[_Scope, Held] = defaultdict(dict)
        self._written: defaultdict[str, Held] = defaultdict(dict)  # by path
        self._filling: set[_Scope] = set()  # functions that write to a file which their caller names
        self._left = _MOST_CALLS
        self.forget()

    def forget(self) -> None:
        """Begin another round."""
        self._names: defaultdict[_Name, Held] = defaultdict(dict)
        self._handles: dict[_Name, frozenset[str]] = {}  # names of open files, with those of their paths

    def _called(self, scope: _Scope, names: frozenset[str]) -> Iterator[_Function]:
        known = self._known[scope[0]]
        for name in sorted(known.keys() & names):  # the same calls everywhere, should they be too many
            for function in known[name]:
                self._left -= 1 + len(function.parameters)
                if self._left < 0:
                    return
                yield function

    def of(self, one: _Statement) -> Held:
        """Return what a statement holds: its marks, and what its names, functions and files hold."""
        scope, module = one.scope, (one.scope[0], "")
        held = dict(one.marks)
        for name in sorted(one.names):
            for some, place in ((self._names, scope), (self._kept, scope), (self._kept, module)):
                if more := some.get((place, name)):
                    _nearer(held, more)
        for function in self._called(scope, one.calls):
            _nearer(held, self._returned.get(function.scope, {}), _CROSSING)
        for path in one.paths:
            _nearer(held, self._written.get(path, {}), 1)
        return held

    def take(self, one: _Statement) -> None:
        """Hand on what a statement holds; a name that it gives anew, and that holds nothing, is clean."""
        is_written = "keep" in one.sinks
        if is_written and one.kept:
            self._handles |= {(one.scope, name): one.kept for name in one.gives}
        if not one.held:
            for name in one.assigned - one.names:
                self._names.pop((one.scope, name), None)
            return
        for name in one.gives | one.kept if is_written else one.gives:
            self._give(one, name)
        for name in one.parameters:
            _nearer(self._kept[one.scope, name], one.held, 1)
        for path in one.paths if is_written else ():
            _nearer(self._written[path], one.held, 1)
        if not one.kept.isdisjoint(self._parameters.get(one.scope, ())):
            self._filling.add(one.scope)
        if one.returns or one.scope in self._filling:
            _nearer(self._returned[one.scope], one.held)
        elif one.branches and "clock" in one.held:  # what is returned then depends on it
            _nearer(self._returned[one.scope], {"clock": one.held["clock"]})
        self._pass(one)

    def _give(self, one: _Statement, name: str) -> None:
        _nearer(self._names[one.scope, name], one.held, 1)
        if not one.scope[1] or one.is_header or "self." in one.text or "this." in one.text:
            _nearer(self._kept[(one.scope[0], ""), name], one.held, 1)
        for file in self._handles.get((one.scope, name), ()):
            _nearer(self._names[one.scope, file], one.held, 1)

    def _pass(self, one: _Statement) -> None:
        for function in self._called(one.scope, one.calls | one.names):
            for name in one.names if function.scope in self._filling else ():
                _nearer(self._names[one.scope, name], one.held, 1)
            for parameter in function.parameters if function.scope != one.scope else ():
                _nearer(self._kept[function.scope, parameter], one.held, _CROSSING)


def _hand_on(statements: list[_Statement], functions: Functions) -> None:
    """Let every statement hold what its names hold, until nothing new is handed on."""
    holding = _Held(statements, functions)
    for _ in range(_ROUNDS):
        before = [len(one.held) for one in statements]
        for one in statements:
            one.held = holding.of(one)
            holding.take(one)
        if before == [len(one.held) for one in statements]:
            break
        holding.forget()


def _visible(statements: Iterable[_Statement], functions: Functions) -> dict[str, dict[str, list[_Function]]]:
    """Return by file the functions that are called by a name there: its own, and those that it imports."""
    known: defaultdict[str, dict[str, list[_Function]]] = defaultdict(dict)
    for name, defined in functions.items():
        for one in defined:
            known[one.scope[0]].setdefault(name, []).append(one)
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for statement in statements:
        path = statement.scope[0]
        if not statement.imports or _OF_TESTS.search(path):
            continue
        for name in _WORD.findall(statement.text)[:_MOST_NAMES]:
            others = [one for one in functions.get(name, ()) if one.scope[0] != path]
            for alias in {name, *(statement.assigned if "require" in statement.text else ())}:
                if len(others) == 1:
                    known[path].setdefault(alias, others)
            for one in functions.of_stem.get(name, ())[:_MOST_NAMES] if name not in seen[path] else ():
                known[path].setdefault(one.scope[1], [one])
            seen[path].add(name)
    return known


def _findings_of(statements: list[_Statement], flows: Iterable[_Flow], *, in_library: bool) -> Iterator[Finding]:
    has_guess = False
    for flow in flows:
        sinks = [one for one in statements if flow.sink in one.sinks]
        reached = list(_reached(statements, sinks, flow))
        if not reached and flow.alone and len(sinks) == 1:
            # Nothing leads there that can be followed, but there is no other way out of the skill.
            read = [
                one.marks[mark] for one in statements if "read" in one.sinks for mark in flow.sources & one.marks.keys()
            ]
            reached = [(sinks[0], origin, flow.alone) for origin in read[:1]]
        for number, (one, origin, most) in enumerate(reached[:_MOST_OF_ONE]):
            severity = most
            if in_library and (origin.source is not one.source or origin.steps >= _CROSSING):
                # In a library much has one name: a value that comes from afar is probably another one.
                severity = max(most, "low" if has_guess else "high", key=SEVERITIES.index)
                has_guess = True
            elif in_library and number and most == "high":
                severity = "medium"
            line = one.sinks[flow.sink]
            is_here = (origin.source, origin.line) == (one.source, line)
            where = "" if is_here else f" It is from {origin.source.place(origin.line)}."
            host = next(iter(sorted(hosts_in(one.text))), "")
            text = f"{flow.what}.{where}"
            yield new_finding(flow.category, severity, one.source.place(line), text, host or one.source.path)


def _reached(
    statements: Iterable[_Statement], sinks: Iterable[_Statement], flow: _Flow
) -> Iterator[tuple[_Statement, _Origin, Severity]]:
    """Yield the statements that a mark of the flow reaches, with its origin."""
    in_file: dict[str, _Origin] = {}
    also = "" if flow.within_file else flow.also  # which is somewhere in the bundle then
    for one in statements if flow.within_file else ():
        for mark in flow.sources & one.marks.keys():
            in_file.setdefault(one.source.path, one.marks[mark])
    for one in sinks:
        if (flow.bare and (one.gives or one.returns)) or (also and also not in one.held):
            continue
        origins = [one.held[mark] for mark in sorted(flow.sources & one.held.keys())]
        near = [origin for origin in origins if origin.steps <= flow.steps]
        origin = near[0] if near else in_file.get(one.source.path)
        if origin is not None:
            yield one, origin, flow.severity


def _at_install(statements: Iterable[_Statement], bundle: Bundle) -> Iterator[Finding]:
    """Yield the first use of the network in each file that runs when the package is installed."""
    files = {"setup.py"}
    for name in ("package.json", "binding.gyp"):
        source = bundle.sources.get(name)
        for match in _HOOK.finditer(source.text) if source is not None else ():
            files |= {path.removeprefix("./") for path in _PATH.findall(match[0])}
    files |= {f"{path}.js" for path in files} | {f"{path}/index.js" for path in files}
    reported: set[str] = set()
    for one in statements:
        path = one.source.path
        line = min((at for sink, at in one.sinks.items() if sink in ("send", "ask_names")), default=0)
        if path in files and line and path not in reported:
            reported.add(path)
            text = "Code that runs when the package is installed uses the network."
            yield new_finding("excessive_capability", "high", one.source.place(line), text, path)
