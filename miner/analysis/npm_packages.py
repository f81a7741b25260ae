"""Packages of the npm registry: package.json, what it runs at installation, lock files, and known advisories."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from miner.advisories import advisories_for
from miner.analysis.bounds import MAX_LOCK, MAX_LOCKED, MAX_PACKAGES, MAX_REQUIREMENTS, Budget
from miner.analysis.requirements import pinned_finding
from miner.analysis.result import BEYOND, Report, Use, found, merged
from miner.analysis.script.read import findings_in
from miner.analysis.shell_code import objections_to
from miner.analysis.shell_commands import Pipeline, program_of
from miner.analysis.shell_parser import parse_script
from miner.analysis.source import SourceFile, line_of, read_object, string
from miner.npm_advisories import TABLE
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Dependency, Finding
from validator.protocol.strict_json import JsonError, decode_plain

FILE_NAME: Final = "package.json"
_RUNTIMES: Final = frozenset({"node", "bun", "deno"})
_AT_INSTALLATION: Final = frozenset({"preinstall", "install", "postinstall"})
_MAX_SCRIPTS: Final = 200
_MAX_COMMAND: Final = 4_096  # characters of one script
_EXACT: Final = re.compile(r"=?v?(\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,40})?)")
_OPEN: Final = frozenset({"", "*", "x", "latest", "next"})
_ELSEWHERE: Final = re.compile(
    r"(?:git\+|git:|https?:|github:|gitlab:|bitbucket:|gist:)|^[\w-]{1,40}/[\w.-]{1,100}(?:#|$)"
)
_LISTS: Final = ("dependencies", "optionalDependencies")
_COMMANDS: Final = frozenset(
    "node npm npx git ssh sudo bash sh python python3 pip curl wget docker ls cd cat code claude".split()  # noqa: SIM905
)


class Pin(NamedTuple):
    """A package of the registry at one version, and the line that says so."""

    package: str
    version: str
    line: int


class Package(NamedTuple):
    """What a package.json holds: the report about it, and its exact dependencies."""

    report: Report
    pins: tuple[Pin, ...]


def read_package(source: SourceFile, budget: Budget) -> Package:
    """Return what a package.json holds.

    Args:
        source: the file.
        budget: of what is read of its scripts.
    """
    document = read_object(source)
    if document is None:
        text = "package.json is not a JSON object, repeats a key, or is larger than what is read."
        return Package(Report(findings=(found("other", "medium", source.place(), text, source.path),)), ())
    findings: list[Finding] = []
    uses: list[Use] = []
    for name, command, line in _scripts(source, document):
        place = source.place(line)
        if not budget.take_shell(len(command[:_MAX_COMMAND])):
            findings.append(found("other", "medium", place, BEYOND, source.path))
            break
        script = parse_script(command[:_MAX_COMMAND])
        findings += [
            found(hit.category, hit.severity, place, f"Script {name[:40]}: {hit.text}", hit.target or source.path)
            for _, _, hit in objections_to(script)
        ]
        for pipeline in script.pipelines:
            for code in _inline(pipeline):
                findings += findings_in(code, source, line, budget)
            if name in _AT_INSTALLATION:
                uses += _programs(place, pipeline)
    findings += _taken_commands(source, document)
    pins: list[Pin] = []
    for name, wanted, line in _dependencies(source, document):
        exact = _EXACT.fullmatch(wanted)
        if exact is not None:
            pins.append(Pin(name, exact[1], line))
        elif wanted in _OPEN or _ELSEWHERE.match(wanted):
            text = f"{name[:214]} is not pinned: another version may be installed than was looked at."
            findings.append(found("other", "low", source.place(line), text, name))
    return Package(Report(findings=tuple(findings), uses=tuple(uses)), tuple(pins))


def _scripts(source: SourceFile, document: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    start = line_of(source, "scripts")
    for name, command in list(_table(document.get("scripts")).items())[:_MAX_SCRIPTS]:
        if isinstance(command, str):
            yield name, command, line_of(source, name, start)


def _inline(pipeline: Pipeline) -> Iterator[str]:
    """Yield the code that a command line gives to node as text."""
    for command in pipeline:
        program, arguments = program_of(command)
        for flag, code in pairwise(arguments) if program in _RUNTIMES else ():
            if flag in ("-e", "--eval", "-p", "--print", "-pe"):
                yield code


def _programs(place: str, pipeline: Pipeline) -> Iterator[Use]:
    for command in pipeline:
        program, _ = program_of(command)
        if program:
            yield Use(cap.SUBPROCESS, place, program if "$" not in program else "")


def _taken_commands(source: SourceFile, document: dict[str, Any]) -> Iterator[Finding]:
    for name in sorted(_table(document.get("bin")).keys() & _COMMANDS):
        text = f"The package puts itself on the path in place of `{name}`."
        line = line_of(source, name, line_of(source, "bin"))
        yield found("excessive_capability", "high", source.place(line), text, source.path)


def _dependencies(source: SourceFile, document: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    left = MAX_REQUIREMENTS
    for key in _LISTS:
        start = line_of(source, key)
        for name, wanted in list(_table(document.get(key)).items())[:left]:
            left -= 1
            yield name, string(wanted).strip(), line_of(source, name, start)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_VERSION: Final = r"\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.+-]{1,40})?"
_NAME: Final = r"(?:@[\w.~-]{1,100}/)?[\w.~-]{1,214}"
_KEY: Final = re.compile(rb'^\s{0,200}"((?:[^"\\]|\\.){1,600})"\s{0,8}:\s{0,8}\{')
_YARN_ENTRY: Final = re.compile(rf'"?({_NAME})@')
_YARN_VERSION: Final = re.compile(rf'  version:? "?({_VERSION})"?\s*$')
_PNPM_ENTRY: Final = re.compile(rf"  ['\"]?/?({_NAME})[@/]({_VERSION})(?:[(_][^:]{{0,400}})?['\"]?:\s*$")
_PACKAGES: Final = "node_modules/"


def pins_of(source: SourceFile) -> tuple[Pin, ...] | None:
    """Return the packages that the lock file names, the first ones; None if it cannot be read."""
    if len(source.content) > MAX_LOCK:
        return None
    pins = READERS[source.name](source)
    return None if pins is None else tuple(pin for pin, _ in zip(pins, range(MAX_LOCKED), strict=False))


def _npm(source: SourceFile) -> Iterator[Pin] | None:
    try:
        document = decode_plain(source.content, limit=MAX_LOCK)
    except JsonError:
        return None
    return _npm_pins(source, document) if isinstance(document, dict) else None


def _npm_pins(source: SourceFile, document: dict[str, Any]) -> Iterator[Pin]:
    """Yield the pins of the flat list of today's files, and of the nested one of old ones."""
    lines = _key_lines(source.content)
    packages = document.get("packages")
    for path, entry in packages.items() if isinstance(packages, dict) else ():
        if path and isinstance(entry, dict):
            yield from _pin(path.rpartition(_PACKAGES)[2], entry, lines.get(path, 1))
    queue = [document.get("dependencies")] if not isinstance(packages, dict) else []
    while queue:
        table = queue.pop()
        for name, entry in table.items() if isinstance(table, dict) else ():
            if isinstance(entry, dict):
                yield from _pin(name, entry, lines.get(name, 1))
                queue.append(entry.get("dependencies"))


def _pin(name: str, entry: dict[str, Any], line: int) -> Iterator[Pin]:
    version = entry.get("version")
    if isinstance(version, str) and re.fullmatch(_VERSION, version) and re.fullmatch(_NAME, name):
        yield Pin(name, version, line)


def _key_lines(content: bytes) -> dict[str, int]:
    """Return the first line of every key that begins an object, as files are written that people read."""
    lines: dict[str, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        match = _KEY.match(line[:1_000])
        if match is not None:
            lines.setdefault(match[1].decode("utf-8", "replace"), number)
    return lines


def _yarn(source: SourceFile) -> Iterator[Pin]:
    name = ""
    for number, line in enumerate(_lines(source), start=1):
        if not line.startswith((" ", "#")):
            entry = _YARN_ENTRY.match(line)
            name, start = (entry[1], number) if entry is not None and line.endswith(":") else ("", number)
        elif name and (version := _YARN_VERSION.match(line)) is not None:
            yield Pin(name, version[1], start)
            name = ""


def _pnpm(source: SourceFile) -> Iterator[Pin]:
    within, known = False, set[tuple[str, str]]()
    for number, line in enumerate(_lines(source), start=1):
        if line and not line.startswith((" ", "#")):
            within = line.rstrip() in ("packages:", "snapshots:")
        entry = _PNPM_ENTRY.match(line) if within else None
        if entry is not None and (entry[1], entry[2]) not in known:
            known.add((entry[1], entry[2]))
            yield Pin(entry[1], entry[2], number)


def _lines(source: SourceFile) -> Iterator[str]:
    for line in source.content.split(b"\n"):
        yield line[:1_000].decode("utf-8", "replace").rstrip("\r")


READERS: Final[dict[str, Callable[[SourceFile], Iterator[Pin] | None]]] = {
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
    "yarn.lock": _yarn,
    "pnpm-lock.yaml": _pnpm,
}


_NAMES: Final = frozenset({FILE_NAME, *READERS})


def read_packages(sources: Iterable[SourceFile], budget: Budget) -> Report:
    """Return what the package.json and the lock files of a bundle hold, those nearest its root first."""
    files = sorted((one for one in sources if one.name in _NAMES), key=lambda s: (s.path.count("/"), s.path))
    reports = [_read(source, budget) for source in files[:MAX_PACKAGES]]
    beyond = [found("other", "medium", one.place(), BEYOND, one.path) for one in files[MAX_PACKAGES:][:1]]
    return merged([*reports, Report(findings=tuple(beyond))])


def _read(source: SourceFile, budget: Budget) -> Report:
    if source.name == FILE_NAME:
        package = read_package(source, budget)
        return merged([package.report, _known(source, package.pins)])
    pins = pins_of(source)
    if pins is None:
        text = "The lock file cannot be read, or is larger than what is read."
        return Report(findings=(found("other", "low", source.place(), text, source.path),))
    return _known(source, pins)


def _known(source: SourceFile, pins: Iterable[Pin]) -> Report:
    """Return the pins as dependencies, and a finding for each that has advisories."""
    findings: list[Finding] = []
    dependencies = []
    for pin in pins:
        advisories = advisories_for(pin.package, pin.version, TABLE)
        dependencies.append(Dependency(pin.package, pin.version, tuple(advisory.cve for advisory in advisories)))
        target = f"pkg:npm/{pin.package.replace('@', '%40', 1)}@{pin.version}"
        if advisories:
            findings.append(pinned_finding(source.place(pin.line), f"{pin.package} {pin.version}", target, advisories))
    return Report(findings=tuple(findings), dependencies=tuple(dependencies))
