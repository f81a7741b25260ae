"""Ordinary compositions: two to four children of other types, and who calls whom."""

from collections.abc import Callable, Mapping
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Files
from validator.planting.skeletons.extras import About, extras, json_text, manifest
from validator.planting.skeletons.knowledge import draw_knowledge
from validator.planting.skeletons.packages import draw_package
from validator.planting.skeletons.scripts import draw_script
from validator.planting.skeletons.servers import draw_server
from validator.planting.skeletons.skills import draw_skill
from validator.protocol.skill_types import SkillType

_KINDS: Final[tuple[tuple[SkillType, tuple[str, ...], Callable[[Draws], Files]], ...]] = (
    (SkillType.RAG_KNOWLEDGE, ("library", "handbook", "answers"), lambda draws: draw_knowledge(draws)[0]),
    (SkillType.DECLARATIVE, ("writer", "editor", "replies"), lambda draws: draw_skill(draws)[0]),
    (SkillType.MCP_SERVER, ("toolbox", "lookup", "helpers"), draw_server),
    (SkillType.EXECUTABLE_PYTHON, ("counter", "figures", "tables"), draw_package),
    (SkillType.EXECUTABLE_SCRIPT, ("preparer", "sorter", "cleaner"), draw_script),
)
_FOLDERS: Final = ("", "agents/", "members/", "children/")
_FIRST: Final = ("office", "front", "news", "back", "garden", "harbour", "weekly", "research")
_SECOND: Final = ("crew", "desk", "line", "team", "round", "table")
_POWERS: Final = {
    SkillType.EXECUTABLE_PYTHON: ("file_read",),
    SkillType.EXECUTABLE_SCRIPT: ("file_read", "file_write", "subprocess"),
}


def draw_agents(draws: Draws) -> Mapping[str, bytes]:
    """Return the files of a harmless composition: `composition.json`, its manifest, and a folder for each child."""
    name, folder = f"{draws.pick(_FIRST)}-{draws.pick(_SECOND)}", draws.pick(_FOLDERS)
    files: dict[str, bytes] = {}
    children: list[dict[str, str]] = []
    for skill_type, names, draw in draws.some(_KINDS, 2, 4):
        called = draws.pick(names)
        path = f"{folder}{called}"
        files |= {f"{path}/{file}": content for file, content in draw(draws).items()}
        children.append({"name": called, "skill_type": skill_type.value, "path": path})
    document = {"name": name, "children": children, "flow": _flow(draws, name, [child["name"] for child in children])}
    powers = {power for child in children for power in _POWERS.get(SkillType(child["skill_type"]), ())}
    listed = " and ".join(child["name"] for child in children)
    about = About(name, f"Lets {listed} work on one request.", "composition.json", tuple(powers))
    files["composition.json"] = json_text(draws, document)
    files["manifest.json"] = manifest(draws, SkillType.AGENT_COMPOSITION, about)
    return {**extras(draws), **files}


def _flow(draws: Draws, name: str, children: list[str]) -> list[list[str]]:
    """Return who calls whom, in order: one after the other, or all from the middle."""
    if draws.number(0, 1):
        return [[name, child] for child in children]
    return [list(pair) for pair in zip([name, *children[:-1]], children, strict=True)]
