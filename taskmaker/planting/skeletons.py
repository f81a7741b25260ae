"""Benign bundles of every assessed type, drawn from templates: bases of canaries where the owner has none."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from sssa.protocol.skill_types import SkillType, is_runtime, require_assessed
from sssa.sources import Draws
from taskmaker.planting.documents import texts_read, written_files
from taskmaker.planting.lexicon import Lists
from taskmaker.planting.planting import Files
from taskmaker.planting.shapes import HERE, builtin_lists, read_words, words_of
from taskmaker.planting.templates import Template, read_template

Skeleton = tuple[Files, str | None]

_TEXTS: Final = frozenset({".md", ".txt"})
_FOLDERS: Final = ("", "agents/", "members/", "children/")
_CHILDREN: Final[Mapping[SkillType, tuple[str, ...]]] = {
    SkillType.RAG_KNOWLEDGE: ("library", "handbook", "answers"),
    SkillType.DECLARATIVE: ("writer", "editor", "replies"),
    SkillType.MCP_SERVER: ("toolbox", "lookup", "helpers"),
    SkillType.EXECUTABLE_PYTHON: ("counter", "figures", "tables"),
    SkillType.EXECUTABLE_SCRIPT: ("preparer", "sorter", "cleaner"),
}


def draw_skeleton(skill_type: SkillType, draws: Draws) -> Skeleton:
    """Return the files of a harmless bundle and the name of the one that takes the marker, None for runtime types.

    Raises:
        ValueError: the type is `workflow`.
    """
    require_assessed(skill_type)
    files: dict[str, bytes] = {}
    given: dict[str, Any] = {}
    if skill_type is SkillType.AGENT_COMPOSITION:
        files, given = _children(draws)
    templates = _templates()
    chosen = draws.pick([one for one in templates if skill_type in one.about.get("types", ())])
    extras = next(one for one in templates if "types" not in one.about)
    made = {**_written(extras, draws, {}), **files, **_written(chosen, draws, given)}
    marked = None if is_runtime(skill_type) else draws.pick([path for path, _ in texts_read(made, skill_type, _TEXTS)])
    return made, marked


def _children(draws: Draws) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the files of two to four drawn children, and what a composition says of them."""
    folder = draws.pick(_FOLDERS)
    files: dict[str, bytes] = {}
    children: list[dict[str, str]] = []
    powers: set[str] = set()
    for kind in draws.some(list(_CHILDREN), 2, 4):
        name = draws.pick(_CHILDREN[kind])
        inside, _ = draw_skeleton(kind, draws)
        files |= {f"{folder}{name}/{path}": content for path, content in inside.items()}
        powers |= set(json.loads(inside["manifest.json"])["capabilities"])
        caller = children[-1]["name"] if children else "@name@"
        children.append({"name": name, "kind": str(kind), "path": f"{folder}{name}", "caller": caller})
    listed = " and ".join(child["name"] for child in children)
    values = {"children": children, "members": listed, "powers": json.dumps(sorted(powers))[1:-1]}
    return files, values


def _written(template: Template, draws: Draws, given: Mapping[str, Any]) -> dict[str, bytes]:
    scope = words_of(template, word_lists(), draws)
    for name, word in given.items():
        scope.give(name, word)
    texts = written_files(template.forms, scope)
    return {path: _json_text(draws, text) if path.endswith(".json") else text.encode() for path, text in texts.items()}


def _json_text(draws: Draws, text: str) -> bytes:
    """Return a document as people write it: two or four columns, at times with lists of words in one line."""
    document, indent = json.loads(text), draws.pick((2, 2, 4))
    written = json.dumps(document, indent=indent, ensure_ascii=False)
    if draws.number(0, 1):
        for value in document.values():
            if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
                long = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", "\n" + " " * indent)
                written = written.replace(long, json.dumps(value, ensure_ascii=False))
    return (written + "\n").encode()


@cache
def word_lists() -> Lists:
    """Return the word lists that bundles are made of."""
    return {**builtin_lists(), **read_words(HERE / "data" / "skeletons")}


@cache
def _templates() -> tuple[Template, ...]:
    paths = sorted((HERE / "data" / "skeletons").glob("*.bundle"))
    return tuple(read_template(path) for path in paths)
