"""Pinned dependencies, and the advisories that are known for them."""

import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from email.parser import BytesParser
from email.policy import compat32
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from miner.advisories import Advisory, advisories_for
from miner.analysis.bounds import MAX_JSON, MAX_LOCK, MAX_LOCKED, MAX_REQUIREMENT, MAX_REQUIREMENTS
from miner.analysis.result import Report, found
from miner.analysis.source import SourceFile, read_object
from validator.protocol.findings import SEVERITIES
from validator.protocol.sssa import Dependency, Finding

_SAID: Final = 3  # summaries that one finding repeats


def pinned_finding(place: str, pin: str, url: str, advisories: Sequence[Advisory]) -> Finding:
    """Return one finding for a pin, with the ids of all its advisories, as grave as the gravest.

    Args:
        place: evidence of the pin.
        pin: package and version, as people read them.
        url: of the package.
        advisories: at least one.
    """
    ordered = sorted(advisories, key=lambda advisory: (SEVERITIES.index(advisory.severity), advisory.cve))
    more = f" And {len(ordered) - _SAID} more." if len(ordered) > _SAID else ""
    text = f"{pin}: {' '.join(advisory.summary for advisory in ordered[:_SAID])}{more}"
    finding = found("dependency_cve", ordered[0].severity, place, text, url)
    return msgspec.structs.replace(finding, cve_ids=tuple(sorted(advisory.cve for advisory in ordered)))


_EXACT: Final = frozenset({"==", "==="})
_MAX_TOML: Final = 64 * 1024  # bytes
_DOTTED: Final = re.compile(r"[\w\"' \t.-]+")
_MAX_DOTS: Final = 64  # in a row: tomllib's time is quadratic in the parts of a dotted key
_MAX_VERSION: Final = 64  # characters


_LOCKED: Final = re.compile(r"name = \"([\w.-]{1,128})\"")
_LOCKED_VERSION: Final = re.compile(r"version = \"([^\"]{1,64})\"")
_TOML_LOCKS: Final = frozenset({"poetry.lock", "uv.lock", "pdm.lock", "pylock.toml"})
_NAMES: Final = _TOML_LOCKS | {"Pipfile.lock", "pyproject.toml", "setup.cfg", "METADATA", "PKG-INFO"}


class Pin(NamedTuple):
    """A package at one version; `version` is empty if the entry leaves it open."""

    package: str
    version: str
    line: int


def declares_dependencies(source: SourceFile) -> bool:
    """Whether the file is one of those that name dependencies."""
    listed = "requirements" in source.name or "constraints" in source.name or "/requirements/" in f"/{source.path}"
    return (listed and source.suffix in ("txt", "in")) or source.name in _NAMES


def read_dependencies(sources: Iterable[SourceFile]) -> Report:
    """Return the pinned dependencies of the files with their CVEs, and a finding for each that has any."""
    findings: list[Finding] = []
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for source in sources:
        for pin in pins_of(source):
            if not pin.version:
                text = f"{pin.package} is not pinned: another version may be installed than was looked at."
                findings.append(found("other", "low", source.place(pin.line), text, pin.package))
                continue
            advisories = advisories_for(pin.package, pin.version)
            known[pin.package, pin.version] = tuple(advisory.cve for advisory in advisories)
            target = f"pkg:pypi/{pin.package}@{pin.version}"
            if advisories:
                named = f"{pin.package} {pin.version}"
                findings.append(pinned_finding(source.place(pin.line), named, target, advisories))
    dependencies = tuple(Dependency(package, version, cves) for (package, version), cves in sorted(known.items()))
    return Report(findings=tuple(findings), dependencies=dependencies)


def pins_of(source: SourceFile) -> list[Pin]:
    """Return the packages that the file names, the first ones; of requirements files those without a version, too."""
    if source.name in _TOML_LOCKS:
        return list(_toml_lock(source)) if len(source.content) <= MAX_LOCK else []
    if len(source.content) > MAX_JSON:
        return []
    if source.name == "Pipfile.lock":
        return list(_pipfile_lock(source))
    if source.name == "pyproject.toml":
        entries = _pyproject(source)
    elif source.name == "setup.cfg":
        entries = _setup_cfg(source)
    elif source.name in ("METADATA", "PKG-INFO"):
        return list(_metadata(source))
    else:
        return [pin for entry, line in _requirements_txt(source) for pin in _pin(entry, line, keep_open=True)]
    return [pin for entry in entries for pin in _pin(entry, source.line_with(entry, entry.partition("==")[0]))]


def _pin(entry: str, line: int, *, keep_open: bool = False) -> Iterator[Pin]:
    """Yield the entry's package at its pinned version; one without a pin only if `keep_open`."""
    if len(entry) > MAX_REQUIREMENT:
        return
    try:
        requirement = Requirement(entry)
        package = canonicalize_name(requirement.name)
        exact = [s.version for s in requirement.specifier if s.operator in _EXACT and not s.version.endswith(".*")]
        if exact and len(exact[0]) <= _MAX_VERSION:
            yield Pin(package, str(Version(exact[0])), line)
        elif keep_open:
            yield Pin(package, "", line)
    except (InvalidRequirement, InvalidVersion, ValueError, RecursionError):
        return


def _requirements_txt(source: SourceFile) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(source.lines[:MAX_REQUIREMENTS], start=1):
        entry = line.split(" #")[0].split(" --")[0].strip().rstrip("\\").strip()
        if entry and not entry.startswith(("#", "-")):
            yield entry, number


def _toml_lock(source: SourceFile) -> Iterator[Pin]:
    """Yield the packages of a lock file by its lines, as tools write it: TOML in full costs more than it tells."""
    package = ""
    count = 0
    for number, line in enumerate(source.lines, start=1):
        if line.startswith("[") or count >= MAX_LOCKED:
            package = ""
        elif match := _LOCKED.fullmatch(line.rstrip()):
            package = match[1]
        elif package and (match := _LOCKED_VERSION.fullmatch(line.rstrip())):
            yield from _pin(f"{package}=={match[1]}", number)
            package, count = "", count + 1


def _pipfile_lock(source: SourceFile) -> Iterator[Pin]:
    document = read_object(source) or {}
    lines = {line.strip().partition(":")[0]: number for number, line in enumerate(source.lines, start=1)}
    for group in ("default", "develop"):
        for package, entry in islice(_table(document.get(group)).items(), MAX_LOCKED):
            version = _table(entry).get("version")
            if isinstance(version, str):
                yield from _pin(f"{package}{version}", lines.get(f'"{package}"', 1))


def _pyproject(source: SourceFile) -> list[str]:
    if len(source.content) > _MAX_TOML or any(run.count(".") > _MAX_DOTS for run in _DOTTED.findall(source.text)):
        return []
    try:
        document = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return []
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    lists = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    lists.append(_table(document.get("build-system")).get("requires"))
    entries = [entry for some in lists if isinstance(some, list) for entry in some if isinstance(entry, str)]
    poetry = _table(_table(tool.get("poetry")).get("dependencies"))
    entries += [
        f"{name}=={version}" for name, version in poetry.items() if isinstance(version, str) and version[:1].isdigit()
    ]
    return entries[:MAX_REQUIREMENTS]


def _setup_cfg(source: SourceFile) -> list[str]:
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(source.text)
        text = config.get("options", "install_requires", fallback="")
    except (configparser.Error, ValueError):
        return []
    return [line.strip() for line in text.split("\n")[:MAX_REQUIREMENTS] if line.strip()]


def _metadata(source: SourceFile) -> Iterator[Pin]:
    """Yield the distribution itself and what it requires at an exact version."""
    headers = BytesParser(policy=compat32).parsebytes(source.content.partition(b"\n\n")[0], headersonly=True)
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    yield from _pin(f"{name}=={version}", source.line_with(f"Version: {version}"))
    for entry in headers.get_all("Requires-Dist", [])[:MAX_REQUIREMENTS]:
        yield from _pin(str(entry), source.line_with(str(entry)))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
