"""The layout of bundles: the `manifest.json` that goes with a set of files, and the file that takes a marker."""

import re
from collections.abc import Mapping
from typing import Any, Final

from validator.protocol import limits
from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.tasks.described import about, console_scripts, npm_main, npm_programs, python_requirements

MANIFEST: Final = "manifest.json"
REQUIREMENTS: Final = "requirements.txt"
_PROMPTS = ("SKILL.md", "prompt.md")
_JAVASCRIPT = (".js", ".mjs", ".cjs")
_MAIN = re.compile(rb"^(?:async )?def main\(", re.MULTILINE)


def completed(files: Mapping[str, bytes], skill_type: SkillType, name: str) -> dict[str, Any]:
    """Return the manifest for files that have none; what a package says of itself is taken over."""
    said = about(files)
    return {
        "name": said.get("name") or name,
        "version": said.get("version") or "0",
        "description": said.get("description") or "",
        "skill_type": skill_type.value,
        "entry_point": _entry_point(files, skill_type),
        "capabilities": [],
    }


def requirements(files: Mapping[str, bytes]) -> bytes | None:
    """Return the requirements that a distribution's metadata names, extras left out; None where there are none."""
    lines = [printable(" ".join(value.split()), limits.MAX_STRING) for value in python_requirements(files)]
    return "".join(f"{line}\n" for line in lines).encode() or None


def marker_file(files: Mapping[str, bytes], skill_type: SkillType) -> str | None:
    """Return the file that can take a canary marker, None for runtime types and where no text would take it."""
    if skill_type is SkillType.DECLARATIVE:
        for name in _PROMPTS:
            if name in files:
                return name
    elif skill_type is not SkillType.RAG_KNOWLEDGE:
        return None
    texts = [name for name in files if name.endswith((".md", ".txt")) and "#" not in name and "::" not in name]
    return min(texts, default=None)


def _entry_point(files: Mapping[str, bytes], skill_type: SkillType) -> str | None:
    if skill_type is SkillType.MCP_SERVER:
        return _server(files)
    if skill_type is SkillType.EXECUTABLE_SCRIPT:
        return _script(files)
    if skill_type is SkillType.EXECUTABLE_PYTHON:
        return _python_entry_point(files)
    if skill_type is SkillType.AGENT_COMPOSITION:
        return "composition.json" if "composition.json" in files else None
    if skill_type is SkillType.DECLARATIVE:
        return next((name for name in _PROMPTS if name in files), None)
    return None


def _server(files: Mapping[str, bytes]) -> str | None:
    """Return the file that starts the server: the usual name, a program of package.json, a console script's module."""
    if "server.py" in files:
        return "server.py"
    if programs := npm_programs(files):
        return programs[0]
    for entry in console_scripts(files):
        module = entry.partition(":")[0].replace(".", "/")
        names = (f"{module}/__main__.py", f"{module}.py", f"{module}/__init__.py")
        if name := next((name for name in names if name in files), None):
            return name
    return npm_main(files) or _first(files, ".py") or _first(files, *_JAVASCRIPT)


def _script(files: Mapping[str, bytes]) -> str | None:
    """Return the script: the usual name, a program of package.json, the first shell script, the main module."""
    if "main.sh" in files:
        return "main.sh"
    programs = npm_programs(files)
    return programs[0] if programs else _first(files, ".sh") or npm_main(files) or _first(files, *_JAVASCRIPT)


def _first(files: Mapping[str, bytes], *endings: str) -> str | None:
    """Return the first of the files with one of these endings, the least deep first; None if there is none."""
    names = (name for name in files if name.endswith(endings))
    return min(names, key=lambda name: (name.count("/"), name), default=None)


def _python_entry_point(files: Mapping[str, bytes]) -> str | None:
    """Return `module:function`: a distribution's own or first console script, else a `main` of a top file, or None."""
    for entry in console_scripts(files):
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in files or f"{module}/__init__.py" in files:
            return entry
    top = sorted(name for name in files if name.endswith(".py") and "/" not in name)
    for name in sorted(top, key=lambda name: name != "main.py"):
        if _MAIN.search(files[name]):
            return f"{name.removesuffix('.py')}:main"
    return None
