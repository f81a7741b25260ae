"""Entry point of a bundle according to its own documents (manifest, mcp.json, composition). Pure; starts nothing."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracer.process import Launch
from tracer.records import TRACES

MANIFEST: Final = "manifest.json"
COMPOSITION: Final = "composition.json"
MAX_DOCUMENT: Final = 256 * 1024
_MAX_CHILDREN: Final = 16
_MAX_FLOW: Final = 256
_MAX_NAME: Final = 256
_TYPES: Final = frozenset({*TRACES, "rag_knowledge", "declarative"})
_FUNCTION: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_FOLDER: Final = re.compile(r"(?!.*(?:^|/)\.\.(?:/|$))[A-Za-z0-9_.\-][A-Za-z0-9_.\-/]{0,255}")


@dataclass(frozen=True, slots=True)
class Child:
    """One member of a composition; `path` is its folder, laid out like a bundle of its type."""

    name: str
    skill_type: str
    path: str


@dataclass(frozen=True, slots=True)
class Composition:
    """`composition.json`; `flow` holds (caller, callee) edges in the order of the calls."""

    name: str
    children: tuple[Child, ...]
    flow: tuple[tuple[str, str], ...] = ()


def read_composition(files: Mapping[str, bytes]) -> Composition | None:
    """Return the bundle's composition; None if it has none that can be read."""
    document = _document(files, COMPOSITION)
    children, flow = document.get("children"), document.get("flow", [])
    if not _is_name(document.get("name")) or not isinstance(children, list) or not isinstance(flow, list):
        return None
    launches = [_child(one) for one in children]
    edges = [tuple(edge) if isinstance(edge, list) else () for edge in flow]
    if len(launches) > _MAX_CHILDREN or len(edges) > _MAX_FLOW or None in launches:
        return None
    if not all(len(edge) == 2 and all(map(_is_name, edge)) for edge in edges):  # noqa: PLR2004 - caller and callee
        return None
    return Composition(document["name"], tuple(child for child in launches if child), tuple((a, b) for a, b in edges))


def _child(entry: object) -> Child | None:
    if not isinstance(entry, dict):
        return None
    name, skill_type, path = (entry.get(key) for key in ("name", "skill_type", "path"))
    if not isinstance(name, str) or not isinstance(skill_type, str) or not isinstance(path, str):
        return None
    if not _is_name(name) or skill_type not in _TYPES or not _FOLDER.fullmatch(path):
        return None
    return Child(name, skill_type, path)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME


def launch_of(files: Mapping[str, bytes], skill_type: str, folder: str = "") -> Launch:
    """Return what running the bundle means; mode `none` if it names nothing that can be run.

    Args:
        files: its files, paths relative to its own folder.
        skill_type: a runtime type other than agent_composition.
        folder: its folder within the whole bundle.
    """
    entry = _document(files, MANIFEST).get("entry_point")
    entry = entry if isinstance(entry, str) else ""
    if skill_type == "executable_python" and _FUNCTION.fullmatch(entry):
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in files or f"{module}/__init__.py" in files:
            return Launch("function", entry, folder)
    if skill_type == "executable_script" and (script := entry or "main.sh") in files:
        return Launch("script", script, folder)
    if skill_type == "mcp_server" and (server := entry or "server.py") in files:
        return Launch("server", server, folder)
    return Launch("none", folder=folder)


def below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    """Return the files under `folder`, paths relative to it."""
    prefix = folder.strip("/") + "/"
    return {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}


def _document(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    content = files.get(name, b"")
    try:
        document = json.loads(content) if len(content) <= MAX_DOCUMENT else None
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
