"""Dependencies that are pinned to versions with known advisories."""

import base64
import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from validator.planting.draws import Draws
from validator.planting.shape import Files, Plant, Shape
from validator.planting.shapes.text.advisories import NPM, PYTHON, SOUND_NPM, SOUND_PYTHON, Advisory
from validator.planting.shapes.text.jsonfile import Member, json_of, place_of, with_member
from validator.planting.shapes.text.lines import lines_of, put, text_of
from validator.protocol.skill_types import SkillType

PYTHON_TYPES: Final = frozenset({SkillType.EXECUTABLE_PYTHON, SkillType.MCP_SERVER, SkillType.AGENT_COMPOSITION})
NODE_TYPES: Final = frozenset({SkillType.EXECUTABLE_SCRIPT, SkillType.MCP_SERVER})
_FILE: Final = "requirements.txt"
_PYPROJECT: Final = "pyproject.toml"
_PACKAGE: Final = "package.json"
_LOCK: Final = "package-lock.json"
_LISTS: Final = (
    *(".txt", ".toml", ".json", ".cfg", ".ini", ".lock", ".yml", ".yaml"),
    *("METADATA", "PKG-INFO", "Pipfile", "Dockerfile"),
)


def pinned(path: str, content: bytes, line: int, advisory: Advisory, more: Mapping[str, bytes] | None = None) -> Plant:
    """Return the fault of a file that pins the advisory's package; `more` are files that change with it."""
    changed = {**(more or {}), path: content}
    severity, cves = advisory.severity, (advisory.cve,)
    return Plant(changed, path, line, "dependency_cve", severity, cves, target_pattern=advisory.package)


def unmentioned(files: Files, known: tuple[Advisory, ...]) -> list[Advisory]:
    """Return those whose package no manifest of dependencies mentions: a package has one version."""
    said = b"\n".join(content for path, content in files.items() if path.endswith(_LISTS)).lower()
    words = set(re.findall(rb"[a-z0-9][a-z0-9._-]*", said))
    return [one for one in known if one.package.encode() not in words]


def homes_of(files: Files) -> list[str]:
    """Return the folders that Python code of the bundle is at home in: its top, or those of children."""
    children = {PurePosixPath(path).parent for path in files if PurePosixPath(path).name == "manifest.json"}
    homes = children & {folder for path in files if path.endswith(".py") for folder in PurePosixPath(path).parents}
    above = {folder for home in homes for folder in home.parents}
    return sorted(str(home) for home in homes - above) or ["."]


def at_home(folder: str, name: str) -> str:
    """Return the path of a file in one of those folders."""
    return str(PurePosixPath(folder) / name)


def _requirement(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known = unmentioned(files, PYTHON)
    if not known:
        return None
    advisory, path = draws.pick(known), at_home(draws.pick(homes_of(files)), _FILE)
    line = f"{advisory.package}=={advisory.version}"
    if path not in files:
        return pinned(path, f"{line}\n".encode(), 1, advisory)
    text = text_of(files[path])
    if text is None or any(old.endswith("\\") or "--hash" in old for old in lines_of(text)):
        return None
    return pinned(path, *put(text, draws.number(0, len(lines_of(text))), [line]), advisory)


_OTHERS: Final = (
    "requirements-dev.txt",
    "constraints.txt",
    "requirements/base.txt",
    "requirements-server.txt",
    "dev-requirements.txt",
)


def _among_many(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known, folder = unmentioned(files, PYTHON), draws.pick(homes_of(files))
    free = [path for name in _OTHERS if (path := at_home(folder, name)) not in files]
    if not known or not free:
        return None
    advisory = draws.pick(known)
    bad = f"{advisory.package}=={advisory.version}"
    lines = sorted((*draws.some(SOUND_PYTHON, 5, 12), bad))
    head = draws.pick(([], [f"# compiled on {draws.date()}"], ["# pinned, see the read-me", ""]))
    content = "\n".join((*head, *lines)) + "\n"
    return pinned(draws.pick(free), content.encode(), len(head) + lines.index(bad) + 1, advisory)


def _pyproject(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known, path = unmentioned(files, PYTHON), at_home(draws.pick(homes_of(files)), _PYPROJECT)
    if not known:
        return None
    advisory = draws.pick(known)
    entry = f'    "{advisory.package}=={advisory.version}",'
    if path in files:
        text = text_of(files[path]) or ""
        lines = lines_of(text)
        if "dependencies = [" not in lines:
            return None
        return pinned(path, *put(text, lines.index("dependencies = [") + 1, [entry]), advisory)
    lines = [f'    "{one}",' for one in draws.some(SOUND_PYTHON, 0, 4)]
    lines.insert(draws.number(0, len(lines)), entry)
    name = f"{draws.pick(('small', 'desk', 'office', 'plain'))}-{draws.pick(('tools', 'kit', 'helper'))}"
    head = [
        "[project]",
        f'name = "{name}"',
        f'version = "{draws.version()}"',
        'requires-python = ">=3.9"',
        "dependencies = [",
    ]
    content = "\n".join((*head, *lines, "]")) + "\n"
    return pinned(path, content.encode(), len(head) + lines.index(entry) + 1, advisory)


def _python_lock(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known, folder = unmentioned(files, PYTHON), draws.pick(homes_of(files))
    free = [path for name in ("uv.lock", "poetry.lock") if (path := at_home(folder, name)) not in files]
    if not known or not free:
        return None
    advisory, path = draws.pick(known), draws.pick(free)
    pairs = sorted(
        (*(tuple(one.split("==")) for one in draws.some(SOUND_PYTHON, 4, 9)), (advisory.package, advisory.version))
    )
    lines = ["version = 1", 'requires-python = ">=3.9"', ""] if path.endswith("uv.lock") else []
    at = 0
    for name, version in pairs:
        at = len(lines) + 3 if name == advisory.package else at
        lines += ["[[package]]", f'name = "{name}"', f'version = "{version}"', "optional = false", ""]
    if path.endswith("poetry.lock"):
        lines += ["[metadata]", 'lock-version = "2.0"', 'python-versions = ">=3.9"', ""]
    return pinned(path, "\n".join(lines).encode(), at, advisory)


def draw_package(draws: Draws) -> dict[str, Any]:
    """Return the head of a `package.json`."""
    name = f"{draws.pick(('small', 'desk', 'office', 'plain'))}-{draws.pick(('tools', 'kit', 'helper'))}"
    return {"name": name, "version": draws.version(), "private": True}


def _npm(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known = unmentioned(files, NPM)
    if not known:
        return None
    advisory = draws.pick(known)
    if _PACKAGE not in files:
        versions = dict(sorted((*draws.some(SOUND_NPM, 0, 4), (advisory.package, advisory.version))))
        text = json.dumps({**draw_package(draws), "dependencies": versions}, indent=2) + "\n"
        return pinned(_PACKAGE, text.encode(), text[: text.index(f'"{advisory.package}"')].count("\n") + 1, advisory)
    file = json_of(files[_PACKAGE])
    held = place_of(file.text, ("dependencies",)) if file else None
    if file and held and file.text[held.value] == "{":
        member = Member(advisory.package, advisory.version, advisory.package)
        changed = with_member(draws, file, ("dependencies",), member)
    else:
        value = {advisory.package: advisory.version}
        changed = with_member(draws, file, (), Member("dependencies", value, advisory.package))
    return None if changed is None else pinned(_PACKAGE, *changed, advisory)


def _locked(draws: Draws, name: str, version: str) -> dict[str, Any]:
    digest = base64.b64encode(bytes(draws.number(0, 255) for _ in range(64))).decode()
    address = f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz"
    return {"version": version, "resolved": address, "integrity": f"sha512-{digest}", "license": "MIT"}


def _npm_lock(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    known = unmentioned(files, NPM)
    if not known:
        return None
    advisory = draws.pick(known)
    entry, key = _locked(draws, advisory.package, advisory.version), f"node_modules/{advisory.package}"
    if _LOCK in files:
        file = json_of(files[_LOCK])
        changed = with_member(draws, file, ("packages",), Member(key, entry, f'"{advisory.version}"'))
        return None if changed is None else pinned(_LOCK, *changed, advisory)
    if _PACKAGE in files:
        return None
    sound = draws.some(SOUND_NPM, 3, 7)
    first = {sound[0][0]: f"^{sound[0][1]}"}
    package = {**draw_package(draws), "dependencies": first}
    packages = {"": {"name": package["name"], "version": package["version"], "dependencies": first}}
    listed = sorted((*((name, _locked(draws, name, version)) for name, version in sound), (advisory.package, entry)))
    packages |= {f"node_modules/{name}": one for name, one in listed}
    lock = {
        "name": package["name"],
        "version": package["version"],
        "lockfileVersion": 3,
        "requires": True,
        "packages": packages,
    }
    text = json.dumps(lock, indent=2) + "\n"
    line = text[: text.index(f'"{key}"')].count("\n") + 2
    return pinned(_LOCK, text.encode(), line, advisory, {_PACKAGE: (json.dumps(package, indent=2) + "\n").encode()})


PINS: Final = (
    Shape("vulnerable-requirement", "vulnerable_pin", "easy", PYTHON_TYPES, _requirement),
    Shape("vulnerable-npm-dependency", "vulnerable_pin", "easy", NODE_TYPES, _npm),
    Shape("vulnerable-pin-among-many", "vulnerable_pin", "medium", PYTHON_TYPES, _among_many),
    Shape("vulnerable-project-dependency", "vulnerable_pin", "medium", PYTHON_TYPES, _pyproject),
    Shape("vulnerable-pin-in-a-lock", "vulnerable_pin", "hard", PYTHON_TYPES, _python_lock),
    Shape("vulnerable-pin-in-an-npm-lock", "vulnerable_pin", "hard", NODE_TYPES, _npm_lock),
)
