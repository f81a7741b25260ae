"""package.json: scripts that run at installation, commands that it puts on the path, dependencies."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from miner.analysis.bounds import MAX_REQUIREMENTS, Budget
from miner.analysis.json_file import line_of, read_object, string
from miner.analysis.result import BEYOND, Report, Use, found
from miner.analysis.script.read import findings_in
from miner.analysis.shell_commands import Pipeline, program_of
from miner.analysis.shell_objections import objections_to
from miner.analysis.shell_parser import parse_script
from miner.analysis.source import SourceFile
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Finding

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
