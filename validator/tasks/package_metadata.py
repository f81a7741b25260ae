"""Metadata of packages: of a distribution, of a project's pyproject.toml, of an npm package.json."""

import configparser
import email.parser
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.text import printable

PACKAGE: Final = "package.json"
PYPROJECT: Final = "pyproject.toml"
_MOST = 1024 * 1024  # bytes of a document that are read
_ENTRY = re.compile(r"\s*([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)\s*(?:\[.*)?", re.ASCII)
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", re.ASCII)
_METADATA = re.compile(r"PKG-INFO|[^/]+\.dist-info/METADATA")
_EXTRA = re.compile(r";.*\bextra\b", re.DOTALL)
_TEXT = 500  # code points


def json_object(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the JSON object in the file `name`, an empty one where there is none."""
    try:
        document = decode_plain(files.get(name, b"{}"), limit=_MOST)
    except JsonError:
        return {}
    return document if isinstance(document, dict) else {}


def project_table(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml, an empty one where there is none."""
    try:
        table = tomllib.loads(files.get(PYPROJECT, b"")[:_MOST].decode()).get("project")
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def about(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return `name`, `version` and `description`, those that the package says; a distribution's metadata come first."""
    package, project = json_object(files, PACKAGE), project_table(files)
    found: dict[str, str] = {}
    for name, header in (("name", "Name"), ("version", "Version"), ("description", "Summary")):
        said = (*header_values(files, header)[:1], project.get(name), package.get(name))
        texts = (printable(" ".join(value.split()), _TEXT) for value in said if isinstance(value, str))
        if text := next((text for text in texts if text), None):
            found[name] = text
    return found


def header_values(files: Mapping[str, bytes], field: str) -> list[str]:
    """Return the values of one header of a distribution's METADATA or PKG-INFO; what is no UTF-8 is replaced."""
    name = metadata_file(files)
    if name is None:
        return []
    text = files[name][:_MOST].decode(errors="replace")
    return [str(value) for value in email.parser.HeaderParser().parsestr(text, headersonly=True).get_all(field, [])]


def metadata_file(files: Mapping[str, bytes]) -> str | None:
    """Return the file with the distribution's metadata, None if there is none."""
    return min((name for name in files if _METADATA.fullmatch(name)), default=None)


def python_requirements(files: Mapping[str, bytes]) -> list[str]:
    """Return what a distribution requires, as it says it, extras left out; of a project, where no metadata is built."""
    if metadata_file(files) is not None:
        return [value for value in header_values(files, "Requires-Dist") if not _EXTRA.search(value)]
    listed = project_table(files).get("dependencies")
    return [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []


def python_names(requirements: Iterable[str]) -> frozenset[str]:
    """Return the normalised names of the distributions that are required."""
    return frozenset(
        re.sub(r"[-_.]+", "-", match[1]).lower() for value in requirements if (match := _NAME.match(value))
    )


def npm_names(files: Mapping[str, bytes], table: str) -> frozenset[str]:
    """Return the packages that `dependencies` or another table of package.json names."""
    found = json_object(files, PACKAGE).get(table)
    return frozenset(found) if isinstance(found, dict) else frozenset()


def npm_programs(files: Mapping[str, bytes]) -> list[str]:
    """Return the files that package.json gives as programs (`bin`) and that are there, its own name's first."""
    package = json_object(files, PACKAGE)
    listed, own = package.get("bin"), str(package.get("name")).rpartition("/")[2]
    if isinstance(listed, str):
        listed = {own: listed}
    if not isinstance(listed, dict):
        return []
    named = sorted(listed.items(), key=lambda program: (program[0] != own, program[0]))
    return [path for _, value in named if (path := _file(files, value))]


def npm_main(files: Mapping[str, bytes]) -> str | None:
    """Return the file that package.json gives as its main module, None if it is not there."""
    package = json_object(files, PACKAGE)
    return next((path for field in ("main", "module") if (path := _file(files, package.get(field)))), None)


def console_scripts(files: Mapping[str, bytes]) -> list[str]:
    """Return `module:function` of the console scripts, the distribution's own name's first."""
    scripts = _listed_scripts(files)
    own = about(files).get("name", "").lower()
    named = sorted(scripts.items(), key=lambda script: (script[0].lower() != own, script[0]))
    return [match[1] for _, value in named if (match := _ENTRY.fullmatch(value))]


def _listed_scripts(files: Mapping[str, bytes]) -> dict[str, str]:
    name = min((name for name in files if name.endswith(".dist-info/entry_points.txt")), default=None)
    if name is None:
        found = project_table(files).get("scripts")
        return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    try:
        parser.read_string(files[name][:_MOST].decode())
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser["console_scripts"]) if "console_scripts" in parser else {}


def _file(files: Mapping[str, bytes], path: object) -> str | None:
    """Return a path that package.json names if a file stands there: `./` and a missing ending are usual."""
    if not isinstance(path, str):
        return None
    plain = path.removeprefix("./")
    return next((name for name in (plain, f"{plain}.js", f"{plain}/index.js") if name in files), None)
