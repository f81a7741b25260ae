"""Execution marks: ordinary-looking code that touches a file whose name only a run of it shows (SPEC 15). Pure."""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.marks.families import FAMILIES, Row
from validator.planting.marks.writes import CURRENT, FILE_NAMES, FUNCTIONS, PLACES, WRITES
from validator.planting.shape import Files
from validator.planting.shapes.code import shell
from validator.planting.shapes.code.javascript_module import Script
from validator.planting.shapes.code.markup import STEP, Block, Style, blocks, fill, moved_in
from validator.planting.shapes.code.python_module import Module
from validator.planting.shapes.code.source import Put, Source, alone
from validator.planting.shapes.code.words import Language, Words
from validator.planting.sound import breaks
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, decode_plain

_STEMS: Final = ("state", "run", "plan", "cache", "batch", "summary", "index", "queue", "session", "report")
_NAMES: Final = (  # what is before and behind the result
    ("{0}-", ".{1}"),
    (".{0}_", ""),
    ("{0}.", ".{1}"),
    ("", ".{1}"),
    ("last-{0}-", ""),
    ("{0}_", "_kept.{1}"),
)
_ENDS: Final = ("json", "txt", "log", "dat", "lock", "part", "idx")
_NOTES: Final = ("ok", "done", "ready", "1", "complete", "fresh")
_KEEPERS: Final = ("remember run", "note state", "save state", "mark done", "leave note", "store progress")
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {  # in the shell every name is the whole script's
    "total": ("total", "sum", "balance"),
    "entry": ("entry", "item", "row"),
    "name": ("label", "what", "title"),
    "one": ("one", "early", "left"),
    "two": ("two", "late", "middle"),
    "three": ("three", "night", "right"),
    "count": ("count", "steps", "todo"),
    "file": ("kept file", "target", "place"),
    "part": ("part", "draft", "fresh file"),
    "stream": ("out", "stream", "sink"),
}
_TRIES: Final = 3  # a file may have other uses for the names of what one way imports
_FUNCTION: Final = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_][\w.]*", re.ASCII)
_DEFAULTS: Final[Mapping[str, str]] = {SkillType.EXECUTABLE_SCRIPT: "main.sh", SkillType.MCP_SERVER: "server.py"}
_LANGUAGES: Final[Mapping[str, Language]] = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
}
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
    language: Language
    folder: str
    function: str = ""


class _Places(NamedTuple):
    """Where code may stand: lines of the top level in order, one that the code's call may have in place of those."""

    lines: Sequence[int]
    style: Style
    imports: Sequence[Put]
    gap: int
    inner: tuple[int, str] | None = None


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
        marked = None if source is None else _marked(files, entry, source, draws)
        if marked is not None:
            return marked
    return None


def _marked(files: Files, entry: _Entry, source: Source, draws: Draws) -> Marked | None:
    language, words = entry.language, Words(draws, entry.language, source, files)
    family, place = draws.pick(FAMILIES), draws.pick(PLACES)
    facts, path, write = family.draw(draws), place.paths[language], draws.pick(WRITES[language])
    before, after = (text.format(draws.pick(_STEMS), draws.pick(_ENDS)) for text in draws.pick(_NAMES))
    imports = tuple(dict.fromkeys((*family.imports.get(language, ()), *path.imports, *write.imports)))
    places = _PLACES_OF[language](source, entry, imports)
    if places is None:
        return None
    filled = {
        **{one: words.name(*phrases) for one, phrases in _VARIABLES.items()},
        "key": words.name(*family.names),
        "keep": words.name(*_KEEPERS),
        "table": words.constant(*family.tables) if language == "python" else words.name(*family.tables),
        "rows": _rows(facts.rows, language),
        "note": draws.pick(_NOTES),
        "before": before,
        "after": after,
        **facts.words,
    }
    filled["file_name"] = fill(draws.pick(FILE_NAMES[language]), filled)
    filled["path"] = fill(path.text, filled)
    texts, call = [family.texts[language]], write.text.strip("\n")
    if draws.number(0, 2):
        opens, closes, calls = FUNCTIONS[language]
        texts.append(opens + "\n".join(STEP + line for line in call.split("\n")) + closes)
        call = calls
    content = _written(source, places, [fill(text, filled) for text in texts], fill(call, filled), draws)
    if breaks(entry.path, files[entry.path], content):
        return None
    folder = f"{place.folder}/{entry.folder}".rstrip("/") if place is CURRENT else place.folder
    return Marked(
        {**files, entry.path: content}, lambda late: f"{folder}/{before}{facts.value(late[entry.path])}{after}"
    )


def _written(source: Source, places: _Places, texts: Sequence[str], call: str, draws: Draws) -> bytes:
    at = draws.number(0, len(places.lines) - 1)
    later = draws.number(at, len(places.lines) - 1)
    parts = [part for text in texts for part in blocks(text, places.style)]
    puts = [*places.imports, *(_put(source, places.lines[at], part, places.gap) for part in parts)]
    (called,) = blocks(call, places.style)
    if places.inner is not None and draws.number(0, 2):
        puts.append(Put(places.inner[0], moved_in(called, places.inner[1])))
    else:
        puts.append(_put(source, places.lines[later], called, places.gap))
    return source.with_lines(puts)[0]


def _put(source: Source, at: int, part: Block, gap: int) -> Put:
    if at < len(source.lines) and not source.lines[at].strip():
        return Put(at, alone(part, 1, 0))
    return Put(at, alone(part, 0 if source.blank_above(at) or not at else gap, gap))


def _rows(rows: Sequence[Row], language: Language) -> str:
    if language == "shell":
        return " ".join(":".join(map(str, row)) for row in rows)
    opens, closes = "()" if language == "python" else "[]"
    texts = (", ".join(json.dumps(value) for value in row) for row in rows)
    return "\n".join(f"    {opens}{text}{closes}," if len(rows[0]) > 1 else f"    {text}," for text in texts)


def _python_places(source: Source, entry: _Entry, imports: Sequence[str]) -> _Places | None:
    module = Module.parse(source)
    if module is None or not module.takes(imports):
        return None
    lines = module.top_places() or [module.last_import()]
    called = [one for one in module.tree.body if isinstance(one, ast.FunctionDef) and one.name == entry.function]
    inner = next((module.calls(one)[0] for one in called if one in module.functions), None)
    return _Places(lines, module.style, module.head_space(module.imports(imports)), 2, inner)


def _javascript_places(source: Source, entry: _Entry, imports: Sequence[str]) -> _Places | None:  # noqa: ARG001 - as of the others
    script = Script.read(source)
    missing = None if script is None else script.missing(imports)
    if script is None or missing is None or not script.top_places():
        return None
    return _Places(script.top_places(), script.style, [script.imports(missing)] if missing else [], 1)


def _shell_places(source: Source, entry: _Entry, imports: Sequence[str]) -> _Places | None:  # noqa: ARG001 - likewise
    first = shell.places_of(source)[:1]  # further down a script may have ended, or be in another folder
    return _Places(first, shell.style_of(source), (), 1)


_PLACES_OF: Final[Mapping[Language, Callable[[Source, _Entry, Sequence[str]], _Places | None]]] = {
    "python": _python_places,
    "javascript": _javascript_places,
    "shell": _shell_places,
}


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
    plain: Language = "shell" if skill_type is SkillType.EXECUTABLE_SCRIPT else "python"
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
