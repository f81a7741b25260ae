"""Places for lines in texts: paragraphs, tables, fences, front matter, records, lists, and new files.

Whole lines are put in: every old line stays as it is, in its order, with the file's own line endings.
"""

import json
import re
import textwrap
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from sssa.protocol.bundles import json_object
from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws
from taskmaker.planting.lexicon import Scope
from taskmaker.planting.planting import Files, Placed, Plant
from taskmaker.planting.templates import SINK, Form, holds, render

READ_TYPES: Final = frozenset({SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE, SkillType.AGENT_COMPOSITION})
MAX_BYTES: Final = 512 * 1024
_MARKDOWN: Final = frozenset({".md", ".markdown", ".mdx"})
_ASIDE: Final = re.compile(
    r"(?:change|history|licen[cs]e|notice|authors|copying|requirements|constraints)", re.IGNORECASE
)
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_CODE_FENCE: Final = re.compile(r"(?:```|~~~)(bash|sh|shell|console|python|py|yaml|js|javascript|ts|typescript)\s*")
_DIVIDER: Final = re.compile(r"\s*+\|?\s*+:?-{3,}:?\s*+(?:\|\s*+:?-{3,}:?\s*+)+\|?\s*+")
_LABELS: Final = {"py": "python", "js": "js", "sh": "bash", "json": "json", "toml": "toml"}
_CELLS: Final = ("-", "all", "see note", "0")
_UNKNOWN_LINES: Final = 10_000


class Document(NamedTuple):
    """A text in the bundle; `gaps` are numbers of lines from 0 on, before which a paragraph may stand."""

    path: str
    text: str
    gaps: tuple[int, ...]


def text_of(content: bytes | None) -> str | None:
    """Return the text of a file; None where it is no UTF-8, holds a NUL, or is longer than 512 KiB."""
    if content is None or len(content) > MAX_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def lines_of(text: str) -> list[str]:
    """Return the lines without their endings; a last one that is empty is none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def put(path: str, text: str, at: int, block: Sequence[str], sink: int = 0) -> Placed:
    """Return the text with `block` before line `at`, counted from 0; `sink` is the line of it that is pointed at."""
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    whole, tail = text.endswith("\n") or not text, "\r" if "\r\n" in text else ""
    before, after = parts[:at], parts[at:]
    if before and not after and not whole:
        before[-1] += tail
    joined = "\n".join((*before, *(line + tail for line in block), *after))
    return Placed({path: (joined + ("\n" if whole or not after else "")).encode()}, path, at + sink + 1)


def marked_lines(text: str) -> tuple[list[str], int]:
    """Return the lines of a rendered template and which of them, from 0 on, is marked; the first where none is."""
    lines = text.split("\n")
    sink = next((at for at, line in enumerate(lines) if line.endswith(SINK)), 0)
    return [line.removesuffix(SINK) for line in lines], sink


def texts_read(files: Files, skill_type: SkillType, suffixes: frozenset[str]) -> list[tuple[str, str]]:
    """Return path and content of what a model gets to read, by path; of a composition that of its children."""
    texts = []
    for path in sorted(files):
        name = PurePosixPath(path)
        if name.suffix.lower() in suffixes and not _ASIDE.match(name.name) and _is_read(files, skill_type, name):
            text = text_of(files[path])
            texts += [(path, text)] if text else []
    return texts


def _is_read(files: Files, skill_type: SkillType, name: PurePosixPath) -> bool:
    if skill_type is not SkillType.AGENT_COMPOSITION:
        return skill_type in READ_TYPES
    return any(
        json_object(files, f"{parent}/manifest.json").get("skill_type") in READ_TYPES
        for parent in name.parents
        if str(parent) != "."
    )


def documents(files: Files, skill_type: SkillType, about: str = "") -> list[Document]:
    """Return the texts with a gap: `markdown` alone, or `all` Markdown, for any reader."""
    terms = about.split()
    suffixes = _MARKDOWN if {"markdown", "all"} & set(terms) else _MARKDOWN | {".txt"}
    matching = []
    for path, text in texts_read(files, SkillType.RAG_KNOWLEDGE if "all" in terms else skill_type, suffixes):
        if gaps := _gaps(lines_of(text), markdown=not path.lower().endswith(".txt")):
            matching.append(Document(path, text, gaps))
    return matching


def _gaps(lines: list[str], *, markdown: bool) -> tuple[int, ...]:
    """Return where a paragraph breaks nothing: behind a blank line, outside front matter, fences and comments."""
    gaps, fence, comment, start = [], "", False, 0
    if markdown and lines and lines[0] == "---":
        start = next((i for i, line in enumerate(lines[1:], 2) if line in {"---", "..."}), len(lines))
    for i, line in enumerate(lines):
        if i > start and not fence and not comment and not lines[i - 1].strip() and _begins(line):
            gaps.append(i)
        mark = _FENCE.match(line) if markdown else None
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if markdown and not fence:
            comment = line.rfind("<!--") > line.rfind("-->") or (comment and "-->" not in line)
    if lines and not fence and not comment:
        gaps.append(len(lines))
    return tuple(gaps)


def _begins(line: str) -> bool:
    """Return whether a paragraph begins here: neither a list's next item nor what is indented under one."""
    return bool(line.strip()) and not line.startswith((" ", "\t", "- ", "* ", "+ ")) and not re.match(r"\d+[.)] ", line)


def paragraph(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Put a paragraph into a drawn gap of a drawn document, `wrapped` as wide as its own lines."""
    texts = documents(files, skill_type, form.about)
    if not texts:
        return None
    document = scope.draws.pick(texts)
    block, sink = marked_lines(render(form.parts[""], scope))
    if "wrapped" in form.about.split():
        pieces = [_wrapped(document, line) for line in block]
        block, sink = list(chain(*pieces)), sum(map(len, pieces[:sink]))
    at = scope.draws.pick(document.gaps)
    if at < len(lines_of(document.text)):
        return put(document.path, document.text, at, (*block, ""), sink)
    return put(document.path, document.text, at, ("", *block), sink + 1)


def _wrapped(document: Document, text: str) -> list[str]:
    """Return the text in lines as wide as the document's own; one if those are not wrapped by hand."""
    widths = [len(line) for line in lines_of(document.text) if line.strip()]
    longest = max(widths, default=0)
    by_hand = 50 <= longest <= 130 and sum(width > longest * 0.65 for width in widths) > 1  # noqa: PLR2004 - columns
    width = longest if by_hand else _UNKNOWN_LINES
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def table(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Put a row into a table that a document has; the text is one of its cells."""
    tables = [one for one in documents(files, skill_type, "markdown") if _rows(one.text)]
    if not tables:
        return None
    draws = scope.draws
    path, text, _ = draws.pick(tables)
    at, columns = draws.pick(_rows(text))
    cells = [draws.pick(_CELLS) for _ in range(columns)]
    cells[-1 if draws.number(0, 1) else 0] = render(form.parts[""], scope)
    return put(path, text, at, [f"| {' | '.join(cells)} |"])


def _rows(text: str) -> list[tuple[int, int]]:
    """Return the places behind a table's rows as numbers of lines from 0 on, each with its count of columns."""
    table_rows, columns = [], 0
    for i, line in enumerate(lines_of(text)):
        if _DIVIDER.fullmatch(line):
            columns = line.strip().strip("|").count("|") + 1
        elif columns and line.lstrip().startswith("|"):
            table_rows.append((i + 1, columns))
        else:
            columns = 0
    return table_rows


def quoted_in_document(
    draws: Draws, files: Files, suffix: str, lines: Sequence[str], leads: Sequence[str]
) -> Plant | None:
    """Put lines as a block of code, with a sentence about it, into a document; a longer fence holds fences."""
    texts = documents(files, SkillType.RAG_KNOWLEDGE, "all")
    if not texts:
        return None
    document = draws.pick(texts)
    marks = "````" if draws.number(0, 1) or any("```" in line for line in lines) else "```"
    block = [draws.pick(leads), "", marks + _LABELS.get(suffix, ""), *lines, marks]
    at = draws.pick(document.gaps)
    placed = put(document.path, document.text, at, [*block, ""] if at < len(lines_of(document.text)) else ["", *block])
    return Plant(placed.changed, document.path, None, "other", "low")


def fence(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Put the text first into code that a document shows; `@comment@` is what begins a comment there."""
    sections = [
        (one, at + 1, mark[1])
        for one in documents(files, skill_type, "markdown")
        for at, line in enumerate(lines_of(one.text))
        if (mark := _CODE_FENCE.fullmatch(line))
    ]
    if not sections:
        return None
    document, at, language = scope.draws.pick(sections)
    scope.give("comment", "//" if language[0] in "jt" else "#")
    return put(document.path, document.text, at, *marked_lines(render(form.parts[""], scope)))


def front_matter(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Put a field last into the front matter of a document that has none of that name."""
    block, sink = marked_lines(render(form.parts[""], scope))
    key, blocks = block[0].partition(":")[0] + ":", []
    for path, text in texts_read(files, skill_type, frozenset({".md", ".mdx"})):
        lines = lines_of(text)
        end = next((i for i, line in enumerate(lines[1:], 1) if line == "---"), 0) if lines[0] == "---" else 0
        blocks += [(path, text, end)] if end and not any(line.startswith(key) for line in lines[:end]) else []
    if not blocks:
        return None
    path, text, end = scope.draws.pick(blocks)
    return put(path, text, end, block, sink)


def record(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Put a record like the others into a file of JSON lines, its last text the form's, with letters `escaped`."""
    places = [
        (path, text, rows)
        for path, text in texts_read(files, skill_type, frozenset({".jsonl"}))
        if (rows := _records(text))
    ]
    if not places:
        return None
    draws = scope.draws
    path, text, rows = draws.pick(places)
    row = dict(draws.pick(rows))
    last = [key for key, value in row.items() if isinstance(value, str)][-1]
    row[last] = render(form.parts[""], scope)
    numbers = [key for key, value in row.items() if isinstance(value, int) and not isinstance(value, bool)]
    at = len(rows) if numbers else draws.number(1, len(rows))
    row |= {key: len(rows) + 1 for key in numbers}
    compact, escaped = '":"' in lines_of(text)[0], form.about == "escaped"
    line = json.dumps(row, ensure_ascii=escaped, separators=(",", ":") if compact else None)
    if escaped:
        written = json.dumps(row[last])
        hidden = (f"\\u{ord(one):04x}" if one.isalpha() and draws.number(0, 1) else one for one in written[1:-1])
        line = line.replace(written, f'"{"".join(hidden)}"')
    return put(path, text, at, [line])


def _records(text: str) -> list[dict[str, Any]] | None:
    """Return the records of JSON lines; None where a line is none, or a record has no text."""
    try:
        rows = [json.loads(line) for line in lines_of(text)]
    except (ValueError, RecursionError):
        return None
    with_text = (isinstance(row, dict) and any(isinstance(value, str) for value in row.values()) for row in rows)
    return rows if all(with_text) else None


def line(form: Form, scope: Scope, files: Files, _type: SkillType) -> Placed | None:
    """Put lines into a file that exists: `PATH|PATH`, with `after LINE` or `before BEGINNING` or `first` behind it.

    None goes into a list whose lines continue, or are pinned by hash.
    """
    named, _, where = form.about.partition(" ")
    paths = [path for path in scope.fill(named).split("|") if path in files]
    text = text_of(files[paths[0]]) if paths else None
    lines = lines_of(text or "")
    if text is None or any(old.endswith("\\") or "--hash" in old for old in lines):
        return None
    how, _, what = where.partition(" ")
    places = {
        "": range(len(lines) + 1),
        "first": [0],
        "after": [at + 1 for at, old in enumerate(lines) if old == what][:1],
        "before": [at for at, old in enumerate(lines) if old.startswith(what)],
    }[how]
    if not places:
        return None
    return put(paths[0], text, scope.draws.pick(places), *marked_lines(render(form.parts[""], scope)))


def new_file(form: Form, scope: Scope, files: Files, skill_type: SkillType) -> Placed | None:
    """Make a file, `PATH|PATH`, of which one that is free is drawn, `unless PATH|PATH` exists; further parts the same.

    `@home@` is a folder that Python code is at home in, `@beside@` one with a document that a model reads.
    """
    paths, _, others = form.about.partition(" unless ")
    if "@beside@" in paths:
        texts = documents(files, skill_type)
        if not texts:
            return None
        scope.give("beside", str(PurePosixPath(scope.draws.pick(texts).path).parent))
    if any(path in files for path in scope.fill(others).split("|")):
        return None
    free = [path for path in map(_joined, scope.fill(paths).split("|")) if path not in files and _at_home(path, files)]
    if not free:
        return None
    path = scope.draws.pick(free)
    lines, sink = marked_lines(render(form.parts[""], scope))
    made = {path: "\n".join(lines) + "\n"}
    for part, blocks in form.parts.items():
        if part.startswith("file "):
            made.setdefault(_joined(scope.fill(part.removeprefix("file "))), render(blocks, scope) + "\n")
    return Placed({name: text.encode() for name, text in made.items() if name not in files}, path, sink + 1)


_ECOSYSTEMS: Final = (
    (
        re.compile(r"package(-lock)?\.json|yarn\.lock|\.npmrc|\.yarnrc.*|pnpm-.*"),
        re.compile(r"package\.json|.*\.[cm]?[jt]s"),
    ),
    (
        re.compile(r".*requirements.*\.txt|poetry\.lock|Pipfile.*|pyproject\.toml|setup\..*|\.pypirc|pip\.conf"),
        re.compile(r".*\.py"),
    ),
    (
        re.compile(r"Dockerfile.*|(docker-)?compose.*\.ya?ml|Procfile"),
        re.compile(r"Dockerfile.*|(docker-)?compose.*\.ya?ml"),
    ),
)


def _at_home(path: str, files: Files) -> bool:
    """Return whether the bundle is of the ecosystem that a file of this name belongs to."""
    name, names = PurePosixPath(path).name, [PurePosixPath(one).name for one in files]
    needed = next((needs for made, needs in _ECOSYSTEMS if made.fullmatch(name)), None)
    return needed is None or any(map(needed.fullmatch, names))


def _joined(path: str) -> str:
    return str(PurePosixPath(path))


def homes_of(files: Files) -> list[str]:
    """Return the folders that Python code of the bundle is at home in: its top, or those of children."""
    children = {PurePosixPath(path).parent for path in files if PurePosixPath(path).name == "manifest.json"}
    homes = children & {folder for path in files if path.endswith(".py") for folder in PurePosixPath(path).parents}
    above = {folder for home in homes for folder in home.parents}
    return sorted(str(home) for home in homes - above) or ["."]


def written_files(forms: Sequence[Form], scope: Scope) -> dict[str, str]:
    """Return the files of a bundle: of each form `PATH|PATH` one, `if CONDITION`, or one `for NAME in LIST`."""
    made: dict[str, str] = {}
    for form in forms:
        named, _, condition = form.about.partition(" if ")
        named, _, loop = named.partition(" for ")
        if condition and not holds(condition, scope):
            continue
        name, _, of = loop.partition(" in ")
        for row in scope.rows(of) if loop else ("",):
            scope.give(name, row)
            path = scope.draws.pick(scope.fill(named).split("|"))
            made[path] = render(form.parts[""], scope.child() if loop else scope) + "\n"
    return made
