"""The layout of bundles: which skill type a set of files is, and the `manifest.json` that goes with it."""

import configparser
import email.parser
import re
from collections.abc import Mapping
from typing import Any, Final

from validator.protocol import limits
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.text import printable

MANIFEST: Final = "manifest.json"
REQUIREMENTS: Final = "requirements.txt"
_PROMPTS = ("SKILL.md", "prompt.md")
_DOCUMENTS = (".md", ".txt", ".jsonl")
_ENTRY = re.compile(r"\s*([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)\s*(?:\[.*)?", re.ASCII)
_MAIN = re.compile(rb"^(?:async )?def main\(", re.MULTILINE)
_METADATA_BYTES = 1024 * 1024


def guess_skill_type(files: Mapping[str, bytes]) -> SkillType | None:
    """Return what the files' manifest says they are, else what their names suggest; None if that is nothing."""
    declared = str(_manifest_of(files).get("skill_type"))
    if declared in ASSESSED_TYPES:
        return SkillType(declared)
    signs = (
        (SkillType.MCP_SERVER, "mcp.json" in files),
        (SkillType.AGENT_COMPOSITION, "composition.json" in files),
        (SkillType.EXECUTABLE_PYTHON, any(name.endswith(".py") for name in files)),
        (SkillType.EXECUTABLE_SCRIPT, any(name.endswith(".sh") for name in files)),
        (SkillType.DECLARATIVE, any(name in files for name in _PROMPTS)),
        (SkillType.RAG_KNOWLEDGE, any(name.endswith(_DOCUMENTS) for name in files)),
    )
    return next((skill_type for skill_type, seen in signs if seen), None)


def completed(files: Mapping[str, bytes], skill_type: SkillType, name: str) -> dict[str, Any]:
    """Return the manifest for files that have none; what a Python distribution says of itself is taken over."""
    about = _metadata(files)
    return {
        "name": about.get("Name") or name,
        "version": about.get("Version") or "0",
        "description": about.get("Summary") or "",
        "skill_type": skill_type.value,
        "entry_point": _entry_point(files, skill_type),
        "capabilities": [],
    }


def requirements(files: Mapping[str, bytes]) -> bytes | None:
    """Return the requirements that a distribution's metadata names, extras left out; None where there are none."""
    lines = [
        printable(" ".join(value.split()), limits.MAX_STRING)
        for value in _header_values(files, "Requires-Dist")
        if not re.search(r";.*\bextra\b", value, re.DOTALL)
    ]
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


def _manifest_of(files: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        document = decode_plain(files.get(MANIFEST, b"{}"), limit=_METADATA_BYTES)
    except JsonError:
        return {}
    return document if isinstance(document, dict) else {}


def _entry_point(files: Mapping[str, bytes], skill_type: SkillType) -> str | None:
    if skill_type is SkillType.MCP_SERVER:
        return _first(files, "server.py", ".py")
    if skill_type is SkillType.EXECUTABLE_SCRIPT:
        return _first(files, "main.sh", ".sh")
    if skill_type is SkillType.EXECUTABLE_PYTHON:
        return _python_entry_point(files)
    if skill_type is SkillType.AGENT_COMPOSITION:
        return "composition.json" if "composition.json" in files else None
    if skill_type is SkillType.DECLARATIVE:
        return next((name for name in _PROMPTS if name in files), None)
    return None


def _first(files: Mapping[str, bytes], usual: str, ending: str) -> str | None:
    return usual if usual in files else min((name for name in files if name.endswith(ending)), default=None)


def _python_entry_point(files: Mapping[str, bytes]) -> str | None:
    """Return `module:function`: a distribution's own or first console script, else a `main` of a top file, or None."""
    for entry in _console_scripts(files):
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in files or f"{module}/__init__.py" in files:
            return entry
    top = sorted(name for name in files if name.endswith(".py") and "/" not in name)
    for name in sorted(top, key=lambda name: name != "main.py"):
        if _MAIN.search(files[name]):
            return f"{name.removesuffix('.py')}:main"
    return None


def _console_scripts(files: Mapping[str, bytes]) -> list[str]:
    name = min((name for name in files if name.endswith(".dist-info/entry_points.txt")), default=None)
    if name is None:
        return []
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(files[name][:_METADATA_BYTES].decode())
    except (configparser.Error, UnicodeDecodeError):
        return []
    section = dict(parser["console_scripts"]) if "console_scripts" in parser else {}
    own = _metadata(files).get("Name", "").lower()
    scripts = sorted(section.items(), key=lambda script: (script[0] != own, script))
    return [match[1] for _, value in scripts if (match := _ENTRY.fullmatch(value))]


def _metadata(files: Mapping[str, bytes]) -> dict[str, str]:
    return {
        field: printable(" ".join(values[0].split()), 500)
        for field in ("Name", "Version", "Summary")
        if (values := _header_values(files, field))
    }


def _header_values(files: Mapping[str, bytes], field: str) -> list[str]:
    """Return the values of one header of a distribution's METADATA or PKG-INFO; what is no UTF-8 is replaced."""
    names = [name for name in files if name == "PKG-INFO" or re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if not names:
        return []
    text = files[min(names)][:_METADATA_BYTES].decode(errors="replace")
    return [str(value) for value in email.parser.HeaderParser().parsestr(text, headersonly=True).get_all(field, [])]
