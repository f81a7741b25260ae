"""Compositions made from packages that define several agents; pure: the same definitions make the same bundle."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from sssa.protocol.skill_types import SkillType
from taskmaker.packing import json_file

# What a definition calls the tools that it may use, in the words of a manifest.
_CAPABILITY: Final = {
    "Read": "file_read",
    "Grep": "file_read",
    "Glob": "file_read",
    "Write": "file_write",
    "Edit": "file_write",
    "Bash": "subprocess",
    "WebFetch": "network",
    "WebSearch": "network",
}
_MOST: Final = 300  # characters of a description


def composed(name: str, version: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a composition whose children are the agents that the Markdown files at the top define.

    A definition has front matter with `name`, and goes whole into its child's `prompt.md`; the composition hands work
    to each child.

    Args:
        name: of the composition.
        version: of the package.
        files: of the package's folder; what defines no agent is left out.

    Raises:
        ValueError: no file defines an agent, or two define the same.
    """
    agents = {path: definition for path, content in sorted(files.items()) if (definition := _definition(path, content))}
    names = [definition["name"] for definition in agents.values()]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{len(names)} definitions of {len(set(names))} agents")
    made: dict[str, bytes] = {}
    for path, definition in agents.items():
        folder = _folder(definition)
        made[f"{folder}/prompt.md"] = files[path]
        made[f"{folder}/manifest.json"] = json_file(
            _manifest(
                definition["name"],
                version,
                definition.get("description", ""),
                SkillType.DECLARATIVE,
                _capabilities(definition),
            )
        )
    children = [{"name": s["name"], "skill_type": "declarative", "path": _folder(s)} for s in agents.values()]
    needed = sorted({one for definition in agents.values() for one in _capabilities(definition)})
    about = f"{len(names)} agents that work for one."
    made["composition.json"] = json_file({"name": name, "children": children, "flow": [[name, one] for one in names]})
    made["manifest.json"] = json_file(_manifest(name, version, about, SkillType.AGENT_COMPOSITION, needed))
    return made


def _definition(path: str, content: bytes) -> dict[str, str]:
    """Return the plain fields of a file's front matter; nothing if it names no agent."""
    lines = content.decode(errors="replace").splitlines() if path.endswith(".md") and "/" not in path else []
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        return {}
    fields: dict[str, str] = {}
    for line in lines[1 : lines.index("---", 1)]:
        key, colon, value = line.partition(": ")
        if colon and key.isidentifier():
            fields.setdefault(key, value.strip().strip("\"'"))
    name = fields.get("name", "")
    return fields if name and PurePosixPath(name).name == name else {}


def _folder(definition: Mapping[str, str]) -> str:
    return f"agents/{definition['name']}"


def _capabilities(definition: Mapping[str, str]) -> list[str]:
    tools = (tool.strip() for tool in definition.get("tools", "").split(","))
    return sorted({_CAPABILITY[tool] for tool in tools if tool in _CAPABILITY})


def _manifest(name: str, version: str, about: str, kind: SkillType, capabilities: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "description": about[:_MOST],
        "skill_type": kind.value,
        "entry_point": "composition.json" if kind is SkillType.AGENT_COMPOSITION else "prompt.md",
        "capabilities": capabilities,
    }
