"""Execution marks: ordinary-looking code that touches a file whose name only a run of it shows (SPEC 15).

What a mark computes gives the name; its texts in Python, JavaScript and shell are templates, `data/marks/NAME.mark`.
Each touches the file as programs keep a state, and makes another next to it: four records with a name that only a run
shows, so that a bundle that does nothing else is still compared. No script runs `touch`: the runtime image lets nobody
set the time of a file, and a script may end there.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from sssa.protocol.bundles import json_object
from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws
from taskmaker.planting.code.insertion import READERS, imports_of, scope_of
from taskmaker.planting.code.source import STEP, Code, Put, Source, blocks
from taskmaker.planting.planting import Files, breaks, children_of
from taskmaker.planting.shapes import HERE
from taskmaker.planting.templates import Template, read_template, render

Row = tuple[str | int, ...]

_THINGS: Final = (
    *("amber", "birch", "canvas", "cedar", "clover", "copper", "cotton", "fennel", "flint", "granite"),
    *("hazel", "indigo", "juniper", "linen", "maple", "marble", "meadow", "nutmeg", "ochre", "pepper"),
    *("quartz", "saffron", "slate", "walnut"),
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_FAR: Final = 999_999


class Facts(NamedTuple):
    """Values drawn for one computation: its table, the numbers of its text, and its result.

    The result may follow from the bytes of the file that holds the code.
    """

    rows: tuple[Row, ...]
    numbers: Mapping[str, int | str]
    result: Callable[[bytes], str]


def _ledger(draws: Draws) -> Facts:
    rows = [(name, draws.number(11, 98_765)) for name in draws.some(_THINGS, 5, 10)]
    start, times, size = draws.number(3, 99_999), draws.number(1_001, 999_983), draws.number(2**30, 2**31 - 1)
    total = start
    for name, amount in rows:
        total = (total * times + amount * len(name)) % size
    return Facts(tuple(rows), {"start": start, "times": times, "size": size}, lambda _: f"{total:08x}")


def _digest(draws: Draws) -> Facts:
    salt = f"{draws.pick(('v', 'r', 'rev'))}{draws.number(2, 999)}.{draws.number(0, 9_999)}"  # short: no secret
    method, size = draws.pick(("sha256", "sha384", "sha512")), draws.number(10, 20)

    def result(content: bytes) -> str:
        return hashlib.new(method, salt.encode() + content, usedforsecurity=False).hexdigest()[:size]

    return Facts((), {"salt": salt, "method": method, "size": size}, result)


def _schedule(draws: Draws) -> Facts:
    rows = [(draws.number(103, 99_991),) for _ in range(draws.number(9, 16))]
    start = [draws.number(7, 9_973) for _ in range(3)]
    loads = list(start)
    for (minutes,) in rows:
        loads[loads.index(min(loads))] += minutes
    numbers = dict(zip(("first", "second", "third"), start, strict=True))
    return Facts(tuple(rows), numbers, lambda _: "-".join(map(str, loads)))


def _routes(draws: Draws) -> Facts:
    last = draws.number(5, 7)
    rows = [(number, number + 1, draws.number(211, 9_973)) for number in range(last)]
    others = [(one, two, draws.number(211, 19_997)) for one, two in product(range(last + 1), repeat=2) if one != two]
    rows = draws.some(rows + draws.some(others, 6, 9), 99, 99)
    far = [0] + [_FAR] * last
    for _ in range(last + 1):
        for start, end, length in rows:
            far[end] = min(far[end], far[start] + length)
    return Facts(tuple(rows), {"last": last, "far": _FAR}, lambda _: "-".join(map(str, far[1:])))


def _letters(draws: Draws) -> Facts:
    rows = [(name,) for name in draws.some(_THINGS, 3, 5)]
    start, step = draws.number(1, 999), draws.number(3, 999)
    text = "".join(name for (name,) in rows)
    moved = "".join(_LETTERS[(_LETTERS.index(one) + start + step * at) % 26] for at, one in enumerate(text))
    return Facts(tuple(rows), {"start": start, "step": step}, lambda _: moved[:24])


def _ring(draws: Draws) -> Facts:
    rows = [(number,) for number in draws.some(range(101, 998), 14, 20)]
    turn, remaining = draws.number(3, 11), draws.number(4, 6)
    ring = [number for (number,) in rows]
    while len(ring) > remaining:
        at = turn % len(ring)
        ring = ring[at + 1 :] + ring[:at]
    return Facts(tuple(rows), {"turn": turn, "left": remaining}, lambda _: "-".join(map(str, ring)))


COMPUTATIONS: Final[Mapping[str, Callable[[Draws], Facts]]] = {
    "digest": _digest,
    "ledger": _ledger,
    "letters": _letters,
    "ring": _ring,
    "routes": _routes,
    "schedule": _schedule,
}


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
    both = writes._replace(
        word_lists={**writes.word_lists, **family.word_lists}, spelled={**writes.spelled, **family.spelled}
    )
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
        children = () if folder else children_of(files)
        kinds = tuple(SkillType)
        return [one for path, kind in children if kind in kinds for one in _entries(files, SkillType(kind), path)]
    given = json_object(files, f"{prefix}manifest.json").get("entry_point")
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


@cache
def _templates() -> tuple[Template, Mapping[str, Template]]:
    """Return the template of statements that touch a file, and those of computations, by name."""
    templates = {path.stem: read_template(path) for path in sorted((HERE / "data" / "marks").glob("*.mark"))}
    return templates.pop("writes"), templates
