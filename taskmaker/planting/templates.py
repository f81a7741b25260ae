"""Templates of faults and of benign bundles: text files with a head in TOML, and forms of which one is drawn.

docs/seeding.md describes the format for people who write their own shapes.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Severity
from sssa.protocol.text import printable
from taskmaker.planting.lexicon import Lists, Rows, Scope, WordsError
from taskmaker.planting.planting import Difficulty, Family

LARGEST: Final = 256 * 1024  # bytes of a file
MOST_FILES: Final = 1_000  # of a folder
LANGUAGES: Final = ("python", "javascript", "shell")
SINK: Final = " <!>"
_HEAD: Final = re.compile(r"\+\+\+\n(.*?)^\+\+\+\n", re.DOTALL | re.MULTILINE)
_FORM: Final = re.compile(r"=== ([a-z-]+)(?: (.+))?")
_PART: Final = re.compile(r"--- (call|file .+)")
_BLOCK: Final = re.compile(r"<(each|repeat|if|sorted)(?: ([^<>]+))?>|<end>")
_IDENTIFIERS: Final = ("names", "locals", "constants")
_ABOUT: Final[Mapping[str, type]] = {
    "family": str,
    "difficulty": str,
    "severity": str,
    "types": list,
    "grave": bool,
    "target": str,
    "cves": list,
    "use": list,
    "lists": dict,
    "words": dict,
    **dict.fromkeys(_IDENTIFIERS, dict),
}


class TemplateError(WordsError):
    """A template of a fault cannot be used."""


class Block(NamedTuple):
    """Lines that are written for each row, some times, or under a condition; text where `kind` is empty."""

    kind: str
    about: str
    inside: tuple["Block", ...] = ()


class Form(NamedTuple):
    """One way to write a template.

    Attributes:
        place: where it goes: a language, or a place in a text.
        about: what the place asks for: imports of code, paths of files.
        parts: the text, and what is behind `--- call` or `--- file PATH`, by that.
        line: of the file, for messages.
    """

    place: str
    about: str
    parts: Mapping[str, tuple[Block, ...]]
    line: int


class Template(NamedTuple):
    """A file that was read.

    Attributes:
        name: of the file, without its ending.
        about: the plain fields of its head.
        words: lists of the template.
        spelled: which of them are identifiers, and of what kind.
        rows: lists that are drawn.
        forms: in the order of the file.
    """

    name: str
    about: Mapping[str, Any]
    word_lists: Lists
    spelled: Mapping[str, str]
    rows: Mapping[str, Rows]
    forms: tuple[Form, ...]


def parse(name: str, text: str) -> Template:
    """Return a template.

    Raises:
        TemplateError: the text names the field or the line.
    """
    head = _HEAD.match(text)
    if head is None:
        raise TemplateError("line 1: the file begins with a head in TOML between two lines `+++`")
    try:
        head_table = tomllib.loads(head[1])
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"head: not TOML: {printable(str(error), 200)}") from None
    for key, value in head_table.items():
        if key not in _ABOUT:
            raise TemplateError(f"head: no field is called `{printable(key, 80)}`; known are {', '.join(_ABOUT)}")
        if not isinstance(value, _ABOUT[key]):
            raise TemplateError(f"{key}: must be a {_ABOUT[key].__name__}")
    word_lists, spelled = dict(read_lists("words", head_table.pop("words", {}))), dict[str, str]()
    for kind in _IDENTIFIERS:
        lists = read_lists(kind, head_table.pop(kind, {}))
        word_lists |= lists
        spelled |= dict.fromkeys(lists, kind)
    rows = {key: _rows(key, value) for key, value in head_table.pop("lists", {}).items()}
    first = text.count("\n", 0, head.end()) + 1
    return Template(name, head_table, word_lists, spelled, rows, tuple(_forms(text[head.end() :], first)))


def read_lists(field: str, table: Mapping[str, Any]) -> Lists:
    """Return word lists as TOML has them.

    Raises:
        TemplateError: one is no list of texts or of tables, or empty.
    """
    for name, entries in table.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise TemplateError(f"{field}: `{printable(name, 80)}` must be lower-case letters, digits and _")
        if not isinstance(entries, list) or not entries:
            raise TemplateError(f"{field}.{name}: must be a list of texts or of tables, with at least one")
        if not (all(isinstance(one, str) for one in entries) or all(isinstance(one, dict) for one in entries)):
            raise TemplateError(f"{field}.{name}: must hold texts alone, or tables alone")
    return table


def _rows(name: str, rows: Any) -> Rows:
    try:
        made = Rows(**rows)
        if 0 <= made.least <= made.most <= MOST_FILES:
            return made
    except TypeError:
        pass
    raise TemplateError(f"lists.{name}: must have of, least and most (0 to {MOST_FILES}), may have also and by")


def _forms(text: str, first: int) -> Iterator[Form]:
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if _FORM.fullmatch(line)]
    if not starts or any(line.strip() for line in lines[: starts[0]]):
        raise TemplateError(f"line {first}: the head is followed by `=== PLACE` and its text")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        match = _FORM.fullmatch(lines[start])
        parts, part, at = {}, "", start + 1
        for here in range(start + 1, end + 1):
            begins = _PART.fullmatch(lines[here]) if here < end else None
            if here == end or begins:
                parts[part] = _blocks(lines[at:here], first + at)
                part, at = (begins[1] if begins else ""), here + 1
        if match is not None:
            yield Form(match[1], match[2] or "", parts, first + start)


def _blocks(lines: Sequence[str], first: int) -> tuple[Block, ...]:
    """Return the lines as texts and blocks; blank ones around them are left out."""
    stack: list[tuple[str, str, list[Block]]] = [("", "", [])]
    plain: list[str] = []

    def flush() -> None:
        if plain:
            stack[-1][2].append(Block("", "\n".join(plain)))
            plain.clear()

    text = "\n".join(lines).strip("\n")
    for number, line in enumerate(text.split("\n") if text else (), first):
        match = _BLOCK.fullmatch(line.strip())
        if match is None:
            plain.append(line)
            continue
        flush()
        if match[1]:
            stack.append((match[1], match[2] or "", []))
        elif len(stack) > 1:
            kind, about, inside = stack.pop()
            stack[-1][2].append(Block(kind, about, tuple(inside)))
        else:
            raise TemplateError(f"line {number}: `<end>` without a block")
    flush()
    if len(stack) > 1:
        raise TemplateError(f"line {first}: `<{stack[-1][0]} {stack[-1][1]}>` without `<end>`")
    return tuple(stack[0][2])


def render(blocks: Sequence[Block], scope: Scope) -> str:
    """Return the text of blocks; in a loop over rows with a marked one, the mark `<!>` stays with that one alone."""
    return "\n".join(_rendered(blocks, scope))


def _rendered(blocks: Sequence[Block], scope: Scope) -> Iterator[str]:
    for kind, about, inside in blocks:
        if not kind:
            yield scope.fill(about)
        elif kind == "if":
            if holds(about, scope):
                yield from _rendered(inside, scope)
        elif kind == "repeat":
            low, _, high = scope.fill(about).partition("-")
            for _ in range(scope.draws.number(int(low), int(high or low))):
                yield from _rendered(inside, scope.child())
        elif kind == "sorted":
            yield "\n".join(sorted(set(filter(None, render(inside, scope).split("\n")))))
        else:
            name, _, of = about.partition(" in ")
            rows = scope.rows(of)
            for at, row in enumerate(rows, 1):
                word = row if isinstance(row, Mapping) else scope.child().fill(row)
                comma = "" if at == len(rows) else ","
                one = render(inside, scope.child({name: word, "comma": comma, "at": str(at)}))
                yield one if scope.marked is None or row is scope.marked else one.replace(SINK, "")


def holds(condition: str, scope: Scope) -> bool:
    """Return whether a condition holds: `NAME` is a list with rows, `NAME=WORD` or `NAME!=WORD`."""
    name, equals, word = condition.partition("=")
    if not equals:
        return bool(scope.rows(name))
    return (scope.fill(f"@{name.rstrip('!')}@") == word) != name.endswith("!")


def check_head(template: Template) -> None:
    """Raise TemplateError where the head of a shape lacks a field, or a field has no value that is known."""
    about = template.about
    severities = get_args(Severity) if "@" not in about.get("severity", "") else (about["severity"],)
    choices = {"family": get_args(Family), "difficulty": get_args(Difficulty), "severity": severities}
    for field, allowed in choices.items():
        if about.get(field) not in allowed:
            raise TemplateError(f"{field}: must be one of {', '.join(allowed)}")
    if not set(about.get("types", ())) <= set(ASSESSED_TYPES):
        raise TemplateError(f"types: must be of {', '.join(ASSESSED_TYPES)}")


def types_of(template: Template, default: frozenset[SkillType]) -> frozenset[SkillType]:
    """Return the skill types whose bundles a template is for."""
    return frozenset(map(SkillType, template.about["types"])) if "types" in template.about else default


def read_template(path: Path) -> Template:
    """Return the template of a file. See `read_file` and `parse`."""
    return parse(path.stem, read_file(path))


def read_file(path: Path) -> str:
    """Return the text of a file.

    Raises:
        TemplateError: it cannot be read, is larger than 256 KiB, or no UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) <= LARGEST:
            return data.decode()
    except OSError as error:
        raise TemplateError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TemplateError("is no UTF-8") from None
    raise TemplateError(f"is larger than {LARGEST // 1024} KiB")
