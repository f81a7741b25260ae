"""Insertion of a fault's lines into code: free names, a condition around what is run, a drawn place."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws
from taskmaker.planting.code.javascript import Script
from taskmaker.planting.code.python import Module
from taskmaker.planting.code.shell import Commands
from taskmaker.planting.code.source import GUARD, STEP, Block, Code, Put, Source, blocks
from taskmaker.planting.lexicon import Lists, Scope
from taskmaker.planting.planting import Files, Placed, Plant
from taskmaker.planting.templates import Form, Template, render

CODE_TYPES: Final = frozenset(set(ASSESSED_TYPES) - {SkillType.DECLARATIVE, SkillType.RAG_KNOWLEDGE})
READERS: Final[Mapping[str, Callable[[Source], Code | None]]] = {
    "python": Module.read,
    "javascript": Script.read,
    "shell": Commands.read,
}
_LOOKS: Final = 64  # files that are opened before a bundle counts as one without a place
_TRIES: Final = 4  # and those of them that are parsed, which takes up to a fifth of a second each
_SUFFIXES: Final = {
    ".py": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts"), "javascript"),
    **dict.fromkeys((".sh", ".bash"), "shell"),
}
# A condition: its first line, what leaves a function, its last line.
_CONDITIONS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "python": ("if {}:", "return", ()),
    "javascript": ("if ({}) {{", "return;", ("}",)),
    "shell": ("if {}; then", "return 0", ("fi",)),
}
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNPLAIN: Final = re.compile(r"[^a-z0-9]+")
_DEFINES: Final = ("def ", "class ", "function ", "async function ")
# Code of others, or code that only tests run: no reviewer of the skill reads it first.
_ASIDE: Final = re.compile(
    r"(^|/)(node_modules|vendor|third_party|site-packages|tests?|__tests__|examples?|fixtures)/"
    r"|(^|/)(test_[^/]*|conftest)\.py$|_test\.py$|\.(test|spec|min|d)\.[cm]?[jt]s$"
)


class Names:
    """Spells identifiers as a language does; each is free in the file that takes them.

    Args:
        language: whose conventions they follow.
        source: the file.
        kinds: of the lists that hold their phrases: names, locals or constants.
    """

    def __init__(self, language: str, source: Source, kinds: Mapping[str, str]) -> None:
        self._language = language
        self._kinds = kinds
        self._taken = set(_IDENTIFIER.findall(source.text))

    def spell(self, name: str, phrase: str) -> str:
        """Return the identifier for a phrase of one of those lists; of any other list the phrase itself."""
        kind = self._kinds.get(name)
        if kind is None:
            return phrase
        if kind == "locals" and self._language != "shell":  # what a shell's functions name, the whole script sees
            return phrase
        if kind == "constants":
            return self._free(phrase.upper().replace(" ", "_"))
        first, *others = phrase.split()
        camel = first + "".join(word.capitalize() for word in others)
        return self._free(camel if self._language == "javascript" else "_".join((first, *others)))

    def _free(self, plain: str) -> str:
        name, count = plain, 1
        while name in self._taken:
            count += 1
            name = f"{plain}{count}" if self._language == "javascript" else f"{plain}_{count}"
        self._taken.add(name)
        return name


def language_of(path: str, data: bytes) -> str | None:
    """Return the language of a file of the bundle's own code; None for any other file."""
    if _ASIDE.search(path):
        return None
    suffix = PurePosixPath(path).suffix.lower()
    if suffix:
        return _SUFFIXES.get(suffix)
    return "shell" if re.match(rb"#!\S*(/|env\s+)(ba|da)?sh\b", data[:80]) else None


def scope_of(draws: Draws, template: Template, lists: Lists, language: str, source: Source) -> Scope:
    """Return the words of a template for a file of code."""
    stem = _UNPLAIN.sub("-", PurePosixPath(source.path).stem.lower()).strip("-")[:24] or "app"
    flags = stem.upper().replace("-", "_").lstrip("0123456789_") or "APP"
    given = {"stem": stem, "flags": flags, "suffix": {"python": "py", "javascript": "js", "shell": "sh"}[language]}
    return Scope(
        draws,
        template.word_lists,
        lists,
        known=given,
        rows=template.rows,
        spell=Names(language, source, template.spelled).spell,
    )


def place_in_code(
    template: Template, lists: Lists, draws: Draws, files: Files, skill_type: SkillType
) -> tuple[Placed, Scope] | None:
    """Return one of the template's forms in a file of its language, and the words that were drawn for it."""
    if skill_type not in CODE_TYPES:
        return None
    wanted = {form.place for form in template.forms}
    known = ((path, language_of(path, data)) for path, data in sorted(files.items()))
    languages = {path: language for path, language in known if language in wanted and language is not None}
    sources = (Source.read(path, files[path]) for path in draws.some(list(languages), _LOOKS, _LOOKS))
    for source in islice(filter(None, sources), _TRIES):
        language = languages[source.path]
        forms = [form for form in template.forms if form.place == language and _has_libraries(form, source)]
        code = READERS[language](source) if forms else None
        if code is None:
            continue
        scope = scope_of(draws, template, lists, language, source)
        done = _placed(code, draws.pick(forms), scope, grave=template.about.get("grave", False))
        if done is not None:
            return done, scope
    return None


def quoted_in_code(draws: Draws, files: Files, suffix: str, lines: Sequence[str], names: Sequence[str]) -> Plant | None:
    """Put lines as a text that nothing runs into a file of code, one of `suffix` if there is one."""
    known = [path for path, data in sorted(files.items()) if language_of(path, data)]
    alike = [path for path in known if path.endswith(suffix)]
    for path in draws.some(alike or known, _TRIES, _TRIES):
        language, source = language_of(path, files[path]), Source.read(path, files[path])
        code = None if source is None or language is None else READERS[language](source)
        if code is None or source is None or language is None or not code.tops:
            continue
        name = Names(language, source, {"text": "constants"}).spell("text", draws.pick(names))
        block = Block(tuple(_quoted(language, name, lines)))
        content, _ = source.with_lines([code.definition(draws.pick(code.tops), block)])
        return Plant({path: content}, path, None, "other", "low")
    return None


def _quoted(language: str, name: str, lines: Sequence[str]) -> list[str]:
    """Return lines as a text constant of a language; as a comment where they hold what ends or changes one."""
    text = "\n".join(lines)
    opens, closes, bad = {
        "python": (f'{name} = """', '"""', ('"""', "\\")),
        "javascript": (f"const {name} = `", "`;", ("`", "\\", "${")),
        "shell": (f": <<'{name}'", name, (name,)),
    }[language]
    if any(one in text for one in bad):
        mark = "//" if language == "javascript" else "#"
        return [f"{mark} {line}".rstrip() for line in lines]
    return [opens, *lines, closes]


def imports_of(form: Form) -> tuple[str, ...]:
    """Return what a form of code imports."""
    return tuple(one.strip() for one in form.about.split(",") if one.strip())


def _has_libraries(form: Form, source: Source) -> bool:
    """Return whether a file imports those libraries of a form that do not come with Python."""
    foreign = [one for one in imports_of(form) if one.partition(".")[0] not in sys.stdlib_module_names]
    return form.place != "python" or all(
        re.search(rf"^import {re.escape(one)}$", source.text, re.MULTILINE) for one in foreign
    )


def _placed(code: Code, form: Form, scope: Scope, *, grave: bool) -> Placed | None:
    draws, source = scope.draws, code.source
    body, call = render(form.parts[""], scope), render(form.parts.get("call", ()), scope).strip("\n")
    imports, inside = imports_of(form), draws.number(0, 1) == 1 and (bool(code.bodies) or code.runs_through)
    if call:
        guard = scope.entry(f"{'grave' if grave else 'guard'}_{form.place}")
        scope = scope.child()
        holds, fails = scope.fill(guard["holds"]), scope.fill(guard["fails"])
        imports = (*imports, *guard.get("imports", ()))
        body, call, inside = _guarded(form.place, (body, call), (holds, fails), inside=inside)
    missing = code.imports(imports)
    if missing is None:
        return None
    content, line = source.with_lines([*missing, *inserted(code, draws, body, call, first=inside)])
    return Placed({source.path: content}, source.path, line)


def _guarded(language: str, texts: tuple[str, str], guard: tuple[str, str], *, inside: bool) -> tuple[str, str, bool]:
    """Return body and call under a condition: in the body's function if that is wanted and possible, else around."""
    opens, leaves, closes = _CONDITIONS[language]
    body, call = texts
    without = "\n".join(line for line in body.split("\n") if line.strip() != GUARD)
    if inside and GUARD in body and "{1" not in guard[1]:  # a shell's functions have parameters of their own
        lines = [opens.format(guard[1]), STEP * 2 + leaves, *(STEP + line for line in closes)]
        return body.replace(GUARD, "\n".join(lines)), call, True
    lines = [opens.format(guard[0]), *(STEP + line for line in call.split("\n")), *closes]
    return without, "\n".join(lines), False


def inserted(code: Code, draws: Draws, body: str, call: str, *, first: bool) -> list[Put]:
    """Return body and call at drawn places; definitions before all others where they have to be `first`."""
    definitions, calls = blocks(body, code.style), blocks(call, code.style)
    if code.runs_through:
        at = draws.number(0, len(code.tops) - 1)
        later = draws.number(at, len(code.tops) - 1)
        places = [code.tops[at]] * len(definitions) + [code.tops[later]] * len(calls)
        return [code.definition(place, part) for place, part in zip(places, definitions + calls, strict=True)]
    end = len(code.source.lines)
    puts = []
    for part in definitions:
        defines = any(line.startswith(_DEFINES) for line in part.lines)
        if not defines and code.constants is not None:
            at = code.constants
            puts.append(code.definition(at, part) if at in code.tops else Put(at, part.spaced(1, 0)))
        elif code.tops:
            puts.append(code.definition(code.tops[0] if first else draws.pick(code.tops), part))
        else:
            puts.append(Put(end, part.spaced(2, 0)))
    at, space = draws.pick(draws.pick(code.bodies)) if calls and code.bodies else (end, "")
    return puts + [Put(at, part.indented(space) if space else part.spaced(1, 0)) for part in calls]
