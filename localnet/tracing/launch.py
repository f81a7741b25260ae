"""What a bundle's own documents say should be run."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from localnet.tracing.process import Launch
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, decode, decode_plain

MANIFEST: Final = "manifest.json"
COMPOSITION: Final = "composition.json"
MAX_DOCUMENT: Final = 256 * 1024
_FUNCTION: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_FOLDER: Final = r"\A(?!.*(?:^|/)\.\.(?:/|$))[A-Za-z0-9_.\-][A-Za-z0-9_.\-/]{0,255}\Z"

ShortText = Annotated[str, Meta(min_length=1, max_length=256)]


class Child(Struct, frozen=True):
    """One member of a composition; `path` is its folder, laid out like a bundle of its type."""

    name: ShortText
    skill_type: SkillType
    path: Annotated[str, Meta(pattern=_FOLDER)]


class Composition(Struct, frozen=True):
    """`composition.json`; `flow` holds (caller, callee) edges in the order of the calls."""

    name: ShortText
    children: Annotated[tuple[Child, ...], Meta(max_length=16)]
    flow: Annotated[tuple[tuple[ShortText, ShortText], ...], Meta(max_length=256)] = ()


def read_composition(files: Mapping[str, bytes]) -> Composition | None:
    """Return the bundle's composition; None if it has none that can be read."""
    try:
        return decode(files.get(COMPOSITION, b""), Composition, limit=MAX_DOCUMENT)
    except JsonError:
        return None


def launch_of(files: Mapping[str, bytes], skill_type: SkillType, folder: str = "") -> Launch:
    """Return what running the bundle means; mode `none` if it names nothing that can be run.

    Args:
        files: its files, paths relative to its own folder.
        skill_type: a runtime type other than agent_composition.
        folder: its folder within the whole bundle.
    """
    entry = _entry_point(files)
    if skill_type is SkillType.EXECUTABLE_PYTHON and entry and _FUNCTION.fullmatch(entry):
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in files or f"{module}/__init__.py" in files:
            return Launch("function", entry, folder)
    if skill_type is SkillType.EXECUTABLE_SCRIPT and (script := entry or "main.sh") in files:
        return Launch("script", script, folder)
    if skill_type is SkillType.MCP_SERVER and (server := entry or "server.py") in files:
        return Launch("server", server, folder)
    return Launch("none", folder=folder)


def below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    """Return the files under `folder`, paths relative to it."""
    prefix = folder.strip("/") + "/"
    return {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}


def _entry_point(files: Mapping[str, bytes]) -> str | None:
    try:
        document: Any = decode_plain(files.get(MANIFEST, b""), limit=MAX_DOCUMENT)
    except (JsonError, msgspec.MsgspecError):
        return None
    entry = document.get("entry_point") if isinstance(document, dict) else None
    return entry if isinstance(entry, str) and entry else None
