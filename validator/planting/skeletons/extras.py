"""What skeletons of all types carry beside their own files: a manifest, a history, a licence, people and places."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.skeletons.phrases import CITIES, NAMES
from validator.protocol.skill_types import SkillType

CHANGES: Final = (
    "Clearer wording.",
    "Smaller corrections.",
    "Sorted by name.",
    "One more example.",
    "Old entries removed.",
    "Dates follow one format.",
    "Tidied up.",
    "Faster on long inputs.",
    "Messages name the file.",
    "Works without any settings.",
)
_LICENCE: Final = (
    "Everybody may use, change and pass on these files, as long as this notice stays with them.",
    "They come without any warranty.",
)


class About(NamedTuple):
    """What a manifest says beside type and version."""

    name: str
    description: str
    entry_point: str
    capabilities: tuple[str, ...] = ()


def manifest(draws: Draws, skill_type: SkillType, about: About) -> bytes:
    """Return a `manifest.json`, indented by two or four columns, short lists in one line or not."""
    document = {
        "name": about.name,
        "version": draws.version(),
        "description": about.description,
        "skill_type": skill_type.value,
        "entry_point": about.entry_point,
        "capabilities": sorted(about.capabilities),
    }
    return json_text(draws, document)


def json_text(draws: Draws, document: Any) -> bytes:
    """Return a document as people write it: two or four columns, in rare cases with lists of words in one line."""
    indent = draws.pick((2, 2, 4))
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    if isinstance(document, dict) and draws.number(0, 1):
        for value in document.values():
            if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
                text = text.replace(_indented(value, indent), json.dumps(value, ensure_ascii=False))
    return (text + "\n").encode()


def _indented(words: Sequence[str], indent: int) -> str:
    return json.dumps(words, indent=indent, ensure_ascii=False).replace("\n", "\n" + " " * indent)


def history(draws: Draws, changes: Sequence[str] = CHANGES) -> str:
    """Return a change history with drawn versions and days, the newest entry first."""
    days = sorted((draws.date() for _ in range(draws.number(2, 5))), reverse=True)
    major, minor = draws.number(0, 4), draws.number(len(days), 30)
    parts = [draws.pick(("# Changelog", "# Changes", "# History"))]
    for age, day in enumerate(days):
        parts.append(f"## {major}.{minor - age}.{draws.number(0, 9)} ({day})")
        parts.append("\n".join(f"- {change}" for change in draws.some(changes, 1, 3)))
    return "\n\n".join(parts) + "\n"


def extras(draws: Draws) -> dict[str, bytes]:
    """Return some of the files that lie beside any project: a history, a licence."""
    files = {}
    if draws.number(0, 1):
        files[draws.pick(("CHANGELOG.md", "HISTORY.md", "CHANGES.md"))] = history(draws).encode()
    if not draws.number(0, 3):
        year, owner = draws.number(2019, 2026), draws.pick(NAMES)
        text = f"Copyright (c) {year} {owner}, {draws.pick(CITIES)}\n\n" + "\n".join(_LICENCE) + "\n"
        files[draws.pick(("LICENSE", "LICENSE.txt"))] = text.encode()
    return files
