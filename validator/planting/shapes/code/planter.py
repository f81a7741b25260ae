"""From faults in single languages to a shape that plants them."""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Difficulty, Family, Files, Plant, Shape
from validator.planting.shapes.code import javascript, python, shell
from validator.planting.shapes.code.markup import Fault
from validator.planting.shapes.code.source import Placed, Source
from validator.planting.shapes.code.words import Language, Words
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Category, Severity

Maker = Callable[[Words], Fault]
Putter = Callable[[Source, Fault, Words], Placed | None]

CODE_TYPES: Final = frozenset(
    {
        SkillType.EXECUTABLE_PYTHON,
        SkillType.EXECUTABLE_SCRIPT,
        SkillType.MCP_SERVER,
        SkillType.AGENT_COMPOSITION,
    }
)
LOOKS: Final = 64  # files that are opened before a bundle counts as one without a place
TRIES: Final = 4  # and those of them that are parsed, which takes up to a fifth of a second each
_LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType(
    {
        ".py": "python",
        ".js": "javascript",
        ".mjs": "javascript",
        ".cjs": "javascript",
        ".ts": "javascript",
        ".mts": "javascript",
        ".sh": "shell",
        ".bash": "shell",
    }
)
_PUTTERS: Final[Mapping[Language, Putter]] = MappingProxyType(
    {"python": python.put, "javascript": javascript.put, "shell": shell.put}
)
_CATEGORIES: Final[Mapping[Family, Category]] = MappingProxyType(
    {"exfiltration": "secrets_exposure", "secret": "secrets_exposure", "capability": "excessive_capability"}
)
# Code of others, or code that only tests run: no reviewer of the skill reads it first.
_ASIDE: Final = re.compile(
    r"(^|/)(node_modules|vendor|third_party|site-packages|tests?|__tests__|examples?|fixtures)/"
    r"|(^|/)(test_[^/]*|conftest)\.py$|_test\.py$|\.(test|spec|min|d)\.[cm]?[jt]s$"
)


def language_of(path: str, data: bytes) -> Language | None:
    """Return the language of a file of the bundle's own code; None for any other file."""
    if _ASIDE.search(path):
        return None
    suffix = PurePosixPath(path).suffix.lower()
    if suffix:
        return _LANGUAGES.get(suffix)
    return "shell" if re.match(rb"#!\S*(/|env\s+)(ba|da)?sh\b", data[:80]) else None


def code_shape(
    name: str,
    family: Family,
    difficulty: Difficulty,
    severity: Severity,
    makers: Mapping[Language, Maker],
) -> Shape:
    """Return a shape that plants a fault in one file of code.

    Args:
        name: as of `Shape`.
        family: likewise; its category follows from it.
        difficulty: likewise.
        severity: what a sober reviewer says.
        makers: of the fault, by the languages that have it.
    """

    def plant(draws: Draws, files: Files, skill_type: SkillType) -> Plant | None:
        if skill_type not in CODE_TYPES:
            return None
        known = ((path, language_of(path, data)) for path, data in sorted(files.items()))
        languages = {path: language for path, language in known if language and language in makers}
        paths = list(languages)
        sources = (Source.read(path, files[path]) for path in draws.some(paths, LOOKS, LOOKS))
        for source in islice(filter(None, sources), TRIES):
            language = languages[source.path]
            words = Words(draws, language, source, files)
            fault = makers[language](words)
            done = _PUTTERS[language](source, fault, words)
            if done is not None:
                about = fault.target or done.path
                return Plant(done.changed, done.path, done.line, _CATEGORIES[family], severity, (), about)
        return None

    return Shape(name, family, difficulty, CODE_TYPES, plant)
