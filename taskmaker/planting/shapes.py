"""Shapes of faults, read from template files: of `data/shapes/`, and of an owner's folder (SPEC 16, D-33)."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Severity
from sssa.protocol.text import printable
from sssa.sources import Draws
from taskmaker.planting import documents, json_edits
from taskmaker.planting.code.insertion import CODE_TYPES, place_in_code, quoted_in_code
from taskmaker.planting.lexicon import Lists, NoWordsError, Scope, WordsError, check_lists
from taskmaker.planting.planting import HARMLESS_BY_WORDS, Company, Constraints, Files, Placed, Plant, Planter, Shape
from taskmaker.planting.templates import (
    LANGUAGES,
    MOST_FILES,
    Form,
    Template,
    TemplateError,
    check_head,
    read_file,
    read_lists,
    read_template,
    render,
    types_of,
)

Place = Callable[[Form, Scope, Files, SkillType], Placed | None]

HERE: Final = Path(__file__).parent
PLACES: Final[Mapping[str, Place]] = {
    "copy": json_edits.copy,
    "description": json_edits.description,
    "fence": documents.fence,
    "file": documents.new_file,
    "front-matter": documents.front_matter,
    "line": documents.line,
    "member": json_edits.member,
    "paragraph": documents.paragraph,
    "record": documents.record,
    "table": documents.table,
    "text": json_edits.text_value,
    "value": json_edits.empty_value,
}
_CATEGORIES: Final[Mapping[str, Category]] = {
    "exfiltration": "secrets_exposure",
    "secret": "secrets_exposure",
    "injection": "prompt_injection",
    "capability": "excessive_capability",
    "poisoned_description": "tool_poisoning",
    "vulnerable_pin": "dependency_cve",
    "transitive_risk": "transitive_risk",
}
# Words that a place gives.
_GIVEN: Final = ("stem", "flags", "suffix", "comment", "element", "tool", "key", "old", "home", "beside")
_LISTS: Final = (
    *(".txt", ".toml", ".json", ".cfg", ".ini", ".lock", ".yml", ".yaml"),
    *("METADATA", "PKG-INFO", "Pipfile", "Dockerfile"),
)


def plant_template(  # noqa: PLR0913, PLR0917 - a template and all that it goes into
    template: Template, lists: Lists, draws: Draws, files: Files, skill_type: SkillType, constraints: Constraints
) -> Plant | None:
    """Return a fault of a template at a drawn place; None where the bundle has no place for any of its forms."""
    about = template.about
    if about["family"] == "vulnerable_pin":
        lists = _unmentioned(lists, files)
    if constraints.severities is not None:
        template, lists = _of_severities(template, lists, constraints.severities)
    code = [form for form in template.forms if form.place in LANGUAGES]
    texts = [form for form in template.forms if form.place not in LANGUAGES]
    texts = [form for form in texts if constraints.fresh or form.place != "file"]
    for form in draws.some([*texts, *code[:1]], len(texts) + 1, len(texts) + 1):
        if form.place in LANGUAGES:
            done = place_in_code(template, lists, draws, files, skill_type)
        else:
            scope = words_of(template, lists, draws)
            if "@home@" in form.about:
                scope.give("home", draws.pick(documents.homes_of(files)))
            placed = PLACES[form.place](form, scope, files, skill_type)
            done = None if placed is None else (placed, scope)
        if done is not None:
            return _plant(template, *done)
    return None


def _of_severities(template: Template, lists: Lists, severities: frozenset[Severity]) -> tuple[Template, Lists]:
    """Return template and lists without the entries that would give another severity."""
    name, _, field = template.about["severity"].strip("@").partition(".")

    def kept(chosen: Lists) -> Lists:
        entries = [one for one in chosen.get(name, ()) if field and one[field] in severities]
        return {**chosen, name: entries} if entries else chosen

    return template._replace(word_lists=kept(template.word_lists)), kept(lists)


def severities_of(template: Template, lists: Lists) -> frozenset[Severity]:
    """Return the severities that a template's faults can have: one, or those of the entries of a list."""
    levels = template.about["severity"]
    if "@" not in levels:
        return frozenset({levels})
    name, _, field = levels.strip("@").partition(".")
    entries = template.word_lists.get(name) or lists.get(name, ())
    return frozenset(one[field] for one in entries if isinstance(one, Mapping))


def words_of(template: Template, lists: Lists, draws: Draws) -> Scope:
    """Return the words of a template for a text."""
    scope = Scope(draws, template.word_lists, lists, rows=template.rows)
    for name in template.about.get("use", ()):
        chosen = dict(draws.pick(lists[name]))
        scope = scope.child({}, {key: value for key, value in chosen.items() if isinstance(value, list)})
    return scope


def _plant(template: Template, placed: Placed, scope: Scope) -> Plant:
    about, family = template.about, template.about["family"]
    target = scope.fill(about.get("target", ""))
    text = placed.changed[placed.path].decode()
    return Plant(
        placed.changed,
        placed.path,
        placed.line,
        _CATEGORIES[family],
        cast("Severity", scope.fill(about["severity"])),
        tuple(map(scope.fill, about.get("cves", ()))),
        target if target and target in text else placed.about or placed.path,
        placed.tool if family == "poisoned_description" else None,
    )


def _unmentioned(lists: Lists, files: Files) -> Lists:
    """Return the lists without packages that a manifest of dependencies mentions: a package has one version."""
    text = b"\n".join(content for path, content in files.items() if path.endswith(_LISTS)).lower()
    names = set(re.findall(rb"[a-z0-9][a-z0-9._-]*", text))
    return {
        name: [one for one in entries if isinstance(one, str) or str(one.get("package")).encode() not in names]
        for name, entries in lists.items()
    }


@cache
def builtin_lists() -> Lists:
    """Return the word lists of `words/`."""
    return read_words(HERE / "data" / "words")


@cache
def builtin_shapes() -> tuple[Shape, ...]:
    """Return the shapes of `shapes/`, read once."""
    return read_shapes(HERE / "data" / "shapes", builtin_lists())


class Own(NamedTuple):
    """Additions of an owner: a folder of shapes and word lists, and the domains that all planted content names."""

    shapes: Path | None = None
    domains: tuple[str, ...] = ()


NOTHING_OWN: Final = Own()


def _lists_with(own: Own) -> Lists:
    lists = {**builtin_lists(), **(read_words(own.shapes) if own.shapes else {})}
    return {**lists, "domain": own.domains} if own.domains else lists


@cache
def shapes_with(own: Own) -> tuple[Shape, ...]:
    """Return the built-in shapes and those of an owner's folder, checked; its word lists replace built-in ones.

    Raises:
        TemplateError: a file cannot be used; the text names it and the field.
    """
    if own == NOTHING_OWN:
        return builtin_shapes()
    lists = _lists_with(own)
    known = read_shapes(HERE / "data" / "shapes", lists)
    more: tuple[Shape, ...] = ()
    if own.shapes:
        more = read_shapes(own.shapes, lists, check=True)
        _check_own_lists(own.shapes, lists)
    names = {shape.name for shape in known}
    for shape in more:
        if shape.name in names:
            raise TemplateError(f"{printable(shape.name, 80)}: a built-in shape has this name; choose another")
    return (*known, *more)


def _check_own_lists(folder: Path, lists: Lists) -> None:
    """Raise TemplateError where a list of an owner's folder cannot take the place of the built-in one."""
    known = {**builtin_lists(), "domain": ("",)}
    own = {name: entries for name, entries in read_words(folder).items() if name in known}
    scope = Scope(Draws(_Zeros()), {}, lists, known=dict(zip(_GIVEN, _GIVEN, strict=True)))
    with _naming(folder):
        for name, entries in own.items():
            fields = set.intersection(*(set(one) if isinstance(one, Mapping) else set() for one in known[name]))
            if not all(isinstance(one, Mapping) == bool(fields) and fields <= set(one) for one in entries):
                wanted = f"tables with {', '.join(sorted(fields))}" if fields else "texts"
                raise TemplateError(f"words.{name}: must hold {wanted}, like the built-in list")
        check_lists(scope, own)


@cache
def company_with(own: Own = NOTHING_OWN) -> Company:
    """Return what planted bundles have next to faults: of `company/`, and shapes with harmless words."""
    folder, lists = HERE / "data" / "company", _lists_with(own)
    own_lists = read_words(folder)
    folders = [HERE / "data" / "shapes", *([own.shapes] if own.shapes else [])]

    def with_words(harmless: Lists) -> list[Shape]:
        shapes = chain(*(read_shapes(one, {**lists, **own_lists, **harmless}) for one in folders))
        return [shape for shape in shapes if shape.family in HARMLESS_BY_WORDS]

    def of_public_values(harmless: Lists) -> list[Shape]:
        return [shape for shape in with_words(harmless) if shape.severities == {"public"}]

    public = {"secret": own_lists["public_value"]}
    return Company(
        read_shapes(folder, {**lists, **own_lists}),
        _Quotes(own_lists).quote,
        {shape.name: shape for shape in with_words(_without_faults(lists))},
        of_public_values(public),
        of_public_values({**public, "public_part": ["@placeholder@"]}),
    )


def _without_faults(lists: Lists) -> Lists:
    """Return credentials without their drawn part, those of one piece without any, and pins of fixed versions."""
    values = [(one, one["value"][0] if isinstance(one["value"], list) else one["value"]) for one in lists["secret"]]
    secrets = [{**one, "value": f"{value.rpartition('@')[0].partition('@')[0]}@placeholder@"} for one, value in values]
    pins = {
        name: [{**one, "version": one["fixed"]} for one in lists[name] if "fixed" in one]
        for name in ("pin_python", "pin_npm")
    }
    return {"secret": secrets, **pins}


class _Quotes(NamedTuple):
    """Quoting with these words: names of texts in code, sentences about blocks in documents."""

    word_lists: Lists

    def quote(self, draws: Draws, files: Files, path: str, lines: Sequence[str]) -> Plant | None:
        """Put lines that belong into the file `path` into a document or a file of code, where nothing runs them."""
        suffix = path.rpartition("/")[2].rpartition(".")[2]
        ways = [
            lambda: documents.quoted_in_document(draws, files, suffix, lines, self.word_lists["lead"]),
            lambda: quoted_in_code(draws, files, f".{suffix}", lines, self.word_lists["sample"]),
        ]
        ways = draws.some(ways, 2, 2)
        return ways[0]() or ways[1]()


def read_words(folder: Path) -> Lists:
    """Return the word lists of the TOML files in a folder.

    Raises:
        TemplateError: one cannot be used.
    """
    lists: dict[str, Any] = {}
    for path in _files(folder, "*.toml"):
        with _naming(path):
            try:
                lists |= read_lists("words", tomllib.loads(read_file(path)))
            except (tomllib.TOMLDecodeError, RecursionError) as error:
                raise TemplateError(f"not TOML: {printable(str(error), 200)}") from None
    return lists


def read_shapes(folder: Path, lists: Lists, *, check: bool = False) -> tuple[Shape, ...]:
    """Return the shapes of the files `*.shape` in a folder and those below, by family and name.

    Args:
        folder: of the files.
        lists: of shared words.
        check: whether every field, slot and form is checked, as for files that nobody has tested.

    Raises:
        TemplateError: a file cannot be used.
    """
    shapes = []
    for path in _files(folder, "**/*.shape"):
        with _naming(path):
            template = read_template(path)
            if check:
                check_shape(template, lists)
            code = {form.place for form in template.forms} <= set(LANGUAGES)
            types = types_of(template, CODE_TYPES if code else frozenset())
            about, plant, can = template.about, _planter(template, lists), severities_of(template, lists)
            shapes.append(Shape(template.name, about["family"], about["difficulty"], types, plant, can))
    return tuple(sorted(shapes, key=lambda shape: (shape.family, shape.name)))


def _planter(template: Template, lists: Lists) -> Planter:
    def plant(draws: Draws, files: Files, skill_type: SkillType, constraints: Constraints) -> Plant | None:
        with suppress(NoWordsError):  # of packages, those that the bundle does not name yet
            return plant_template(template, lists, draws, files, skill_type, constraints)
        return None

    return plant


def check_shape(template: Template, lists: Lists) -> None:
    """Fill every form and every word of a shape once.

    Raises:
        TemplateError: a field, a slot or a form cannot be used; the text names the field or the line.
    """
    check_head(template)
    if not template.about.get("types") and any(form.place not in LANGUAGES for form in template.forms):
        raise TemplateError("types: must name skill types where a form is no code")
    scope = words_of(template, lists, Draws(_Zeros()))
    for name in _GIVEN:
        scope.give(name, name)
    check_lists(scope, template.word_lists)
    for field in ("severity", "target"):
        scope.fill(str(template.about.get(field, "")))
    for form in template.forms:
        try:
            _check_form(form, scope.child())
        except WordsError as error:
            raise TemplateError(f"line {form.line}: {error.detail}") from None
        except ValueError as error:
            raise TemplateError(f"line {form.line}: {printable(str(error), 200)}") from None


def _check_form(form: Form, scope: Scope) -> None:
    if form.place not in (*LANGUAGES, *PLACES):
        raise TemplateError(f"the place is one of {', '.join((*LANGUAGES, *PLACES))}")
    scope.fill(form.about)
    texts = {part: render(blocks, scope) for part, blocks in form.parts.items()}
    if not texts[""].strip():
        raise TemplateError("the form has no text")
    if form.place in LANGUAGES and " <!>" not in texts[""]:
        raise TemplateError("no line of the form is marked with ` <!>`")
    if form.place in {"member", "value"}:
        json.loads("{" + texts[""] + "}" if form.place == "member" else texts[""])


class _Zeros:
    def token(self, count: int) -> bytes:
        return bytes(count)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the name of a file in front of what is wrong with it."""
    try:
        yield
    except WordsError as error:
        raise TemplateError(f"{printable(str(path), 200)}: {error.detail}") from None


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        paths = sorted(folder.glob(pattern)) if folder.is_dir() else None
    except OSError:
        paths = None
    if paths is None:
        raise TemplateError(f"{printable(str(folder), 200)}: no folder that can be read")
    if len(paths) > MOST_FILES:
        raise TemplateError(f"{printable(str(folder), 200)}: more than {MOST_FILES} files")
    return paths
