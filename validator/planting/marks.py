"""Execution marks: ordinary-looking code that touches a file whose name only a run of it shows (SPEC 15). Pure.

The texts are templates, `data/marks`. Each touches the file as programs keep a state, and makes another next to it:
four records with a name that only a run shows, so that a bundle that does nothing else is still compared. No script
runs `touch`: the runtime image lets nobody set the time of a file, and a script may end there.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from validator.planting.code.insertion import READERS, imports_of, scope_of
from validator.planting.code.source import STEP, Code, Put, Source, blocks
from validator.planting.computations import COMPUTATIONS, Row
from validator.planting.draws import Draws
from validator.planting.shape import Files
from validator.planting.shapes import HERE
from validator.planting.sound import breaks
from validator.planting.templates import Template, read_template, render
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, decode_plain

_TRIES: Final = 3  # a file may have other uses for the names of what one way imports
_FUNCTION: Final = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_][\w.]*", re.ASCII)
_DEFAULTS: Final[Mapping[str, str]] = {SkillType.EXECUTABLE_SCRIPT: "main.sh", SkillType.MCP_SERVER: "server.py"}
_LANGUAGES: Final = {".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript"}
# How a function of statements begins, ends, and is called.
_FUNCTIONS: Final = {
    "python": ("def @keep@()<: -> None:>:\n", "", "@keep@()"),
    "javascript": ("function @keep@() {\n", "\n}", "@keep@();"),
    "shell": ("@keep@() {\n", "\n}", "@keep@"),
}
_STARTED_IN: Final = "/skill"
_MOST_JSON: Final = 256 * 1024


class Marked(NamedTuple):
    """A bundle with an execution mark.

    Attributes:
        files: of the bundle.
        path_in: the path that a run of the bundle touches, as traces name it. It may follow from the bytes of the file
            that holds the code, so ask once nothing is planted any more.
    """

    files: Files
    path_in: Callable[[Files], str]


class _Entry(NamedTuple):
    """A file that running the bundle runs: its language, the folder it is run in, and the function that is called."""

    path: str
    language: str
    folder: str
    function: str = ""


def plant_mark(files: Files, skill_type: SkillType, draws: Draws) -> Marked | None:
    """Return the bundle with a mark that an ordinary run leaves; None where nothing that is run has a place for it.

    Args:
        files: of a bundle.
        skill_type: of the bundle; content types are not run.
        draws: decides what is computed, from what, how it is written, and where. Who knows them knows the mark.
    """
    entries = _entries(files, skill_type)
    for entry in draws.some(entries, len(entries), len(entries)) * _TRIES:
        source = Source.read(entry.path, files[entry.path])
        code = None if source is None else READERS[entry.language](source)
        marked = None if code is None else _marked(files, entry, code, draws)
        if marked is not None:
            return marked
    return None


def _marked(files: Files, entry: _Entry, code: Code, draws: Draws) -> Marked | None:
    language, (writes, families) = entry.language, _templates()
    name = draws.pick(sorted(families))
    facts, family = COMPUTATIONS[name](draws), families[name]
    both = writes._replace(words={**writes.words, **family.words}, spelled={**writes.spelled, **family.spelled})
    scope = scope_of(draws, both, {}, language, code.source)
    for word, number in {**facts.numbers, "rows": _rows(facts.rows, language)}.items():
        scope.give(word, str(number))
    before, after = scope.fill("@around.before@"), scope.fill("@around.after@")
    place = scope.entry(f"{language}_place")
    body = next(form for form in family.forms if form.place == language)
    write = draws.pick([form for form in writes.forms if form.place == language])
    imports = code.imports(tuple(dict.fromkeys((*imports_of(body), *place["imports"], *imports_of(write)))))
    if imports is None:
        return None
    texts, call = [render(body.parts[""], scope)], render(write.parts[""], scope)
    if draws.number(0, 2):
        opens, closes, calls = map(scope.fill, _FUNCTIONS[language])
        texts.append(opens + "\n".join(STEP + line for line in call.split("\n")) + closes)
        call = calls
    content = code.source.with_lines([*imports, *_puts(code, entry, texts, call, draws)])[0]
    if breaks(entry.path, files[entry.path], content):
        return None
    folder = f"{_STARTED_IN}/{entry.folder}".rstrip("/") if place["folder"] == _STARTED_IN else place["folder"]
    return Marked(
        {**files, entry.path: content}, lambda late: f"{folder}/{before}{facts.result(late[entry.path])}{after}"
    )


def _puts(code: Code, entry: _Entry, texts: Sequence[str], call: str, draws: Draws) -> list[Put]:
    """Return definitions and their call at drawn places that an ordinary start passes."""
    tops = code.tops or [code.constants or 0]
    if code.runs_through:  # further down a script may have ended, or be in another folder
        tops = tops[:1]
    at = draws.number(0, len(tops) - 1)
    later = draws.number(at, len(tops) - 1)
    puts = [code.definition(tops[at], part) for text in texts for part in blocks(text, code.style)]
    (called,) = blocks(call, code.style)
    inner = code.body_of(entry.function)[:1]
    if inner and draws.number(0, 2):
        return [*puts, Put(inner[0][0], called.indented(inner[0][1]))]
    return [*puts, code.definition(tops[later], called)]


def _rows(rows: Sequence[Row], language: str) -> str:
    if language == "shell":
        return " ".join(":".join(map(str, row)) for row in rows)
    opens, closes = "()" if language == "python" else "[]"
    texts = (", ".join(json.dumps(value) for value in row) for row in rows)
    return "\n".join(f"    {opens}{text}{closes}," if len(rows[0]) > 1 else f"    {text}," for text in texts)


def _entries(files: Files, skill_type: SkillType, folder: str = "") -> list[_Entry]:
    """Return the files that a run of the bundle begins with, or of its child in a folder."""
    prefix = f"{folder}/" if folder else ""
    if skill_type is SkillType.AGENT_COMPOSITION:
        return [] if folder else _children(files)
    given = _document(files, f"{prefix}manifest.json").get("entry_point")
    entry = given if isinstance(given, str) else ""
    paths: tuple[str, ...] = ()
    if skill_type is SkillType.EXECUTABLE_PYTHON and (match := _FUNCTION.fullmatch(entry)):
        module = match[1].replace(".", "/")
        paths = (f"{module}.py", f"{module}/__init__.py")
    elif skill_type in _DEFAULTS:
        paths = (entry or _DEFAULTS[skill_type],)
    plain = "shell" if skill_type is SkillType.EXECUTABLE_SCRIPT else "python"
    return [
        _Entry(prefix + path, _LANGUAGES.get(PurePosixPath(path).suffix, plain), folder, entry.partition(":")[2])
        for path in paths
        if prefix + path in files
    ][:1]


def _children(files: Files) -> list[_Entry]:
    children = _document(files, "composition.json").get("children")
    found: list[_Entry] = []
    for child in children if isinstance(children, list) else ():
        path, kind = (child.get("path"), child.get("skill_type")) if isinstance(child, dict) else (None, None)
        if isinstance(path, str) and path.strip("/") and kind in tuple(SkillType):
            found += _entries(files, SkillType(kind), path.strip("/"))
    return found


def _document(files: Files, name: str) -> Mapping[str, Any]:
    try:
        document = decode_plain(files.get(name, b"{}"), limit=_MOST_JSON)
    except JsonError:
        return {}
    return document if isinstance(document, dict) else {}


@cache
def _templates() -> tuple[Template, Mapping[str, Template]]:
    """Return the template of statements that touch a file, and those of computations, by name."""
    found = {path.stem: read_template(path) for path in sorted((HERE / "data" / "marks").glob("*.mark"))}
    return found.pop("writes"), found
