"""Shell scripts: capabilities, commands as tracing would show them, and what they do that they should not."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from miner.analysis import shell_tables as tables
from miner.analysis.bounds import MAX_COMMANDS, Budget
from miner.analysis.hidden_text import invisible_characters
from miner.analysis.links import hosts_in
from miner.analysis.result import BEYOND, Report, Use, found, merged
from miner.analysis.secret_scan import secrets_in
from miner.analysis.shell_commands import Command, Pipeline, Script, program_of
from miner.analysis.shell_flow import ShellFlow
from miner.analysis.shell_parser import parse_script
from miner.analysis.shell_reach import reach_of, settings_of
from miner.analysis.shell_rules import Hit, hits_of
from miner.analysis.shell_secrets import secrets_of
from miner.analysis.shell_tables import DOWNLOADERS, INTERPRETERS, SENDERS
from miner.analysis.source import SourceFile
from validator.protocol import vocabulary as cap
from validator.protocol.limits import MAX_STRING
from validator.protocol.sssa import Finding

_MAX_EMBEDDED: Final = 3  # scripts within scripts


class Objection(NamedTuple):
    """A rule's objection, and the lines of the script that it is about."""

    first: int
    last: int
    hit: Hit


def objections_to(script: Script, depth: int = 0) -> list[Objection]:
    """Return what the rules object to in a script, once for each line and text.

    Args:
        script: that was parsed.
        depth: how many scripts it stands in.
    """
    seen: dict[tuple[int, str, str], Objection] = {}
    for one in _objections(script, depth):
        key = (one.last, one.hit.category, one.hit.text)
        if key not in seen or (one.hit.target and not seen[key].hit.target):
            seen[key] = one
    return list(seen.values())


def _objections(script: Script, depth: int) -> Iterator[Objection]:
    flow = ShellFlow(script)
    for number, pipeline in enumerate(script.pipelines):
        first, last = pipeline[0].line, pipeline[-1].line
        yield from (Objection(first, last, hit) for hit in hits_of(pipeline))
        for step, hit in reach_of(flow, flow.steps(number)):
            yield Objection(step.command.line, step.command.line, hit)
        for command in pipeline if depth < _MAX_EMBEDDED else ():
            for text in _embedded(command):
                inner = parse_script(text, depth=depth + 1)
                yield from (Objection(first, last, one.hit) for one in objections_to(inner, depth + 1))
    yield from (Objection(line, line, hit) for line, hit in settings_of(flow))


def _embedded(command: Command) -> Iterator[str]:
    """Yield the scripts that a shell gets as text: here-documents, here-strings, `-c`, a trap's first word."""
    program, arguments = program_of(command)
    if program == "trap" and len(arguments) > 1 and " " in arguments[0]:
        yield arguments[0]
    if program not in tables.SHELLS:
        return
    yield from (text for sign, text in command.redirects if sign in ("<<", "<<<"))
    if "-c" in arguments[:-1]:
        yield arguments[arguments.index("-c") + 1]


_SUFFIXES: Final = frozenset({"sh", "bash", "zsh", "ksh"})
_BUILTINS: Final = frozenset(
    """
    [ [[ : . alias bg bind break builtin cd command compgen complete continue declare dirs echo eval exec exit export
    false fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
    return set shift shopt source test times trap true type typeset ulimit umask unalias unset wait
    """.split()  # noqa: SIM905 - a list of sixty strings reads worse
)
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "sort", "uniq", "wc", "diff", "cmp", "od", "strings", "ls"}
)
_SEARCHERS: Final = frozenset(
    {"grep", "egrep", "awk", "sed", "cut", "find", "stat", "file", "md5sum", "sha256sum", "xxd"}
)
_CREATORS: Final = frozenset({"mkdir", "touch", "tee"})
_CHANGERS: Final = frozenset({"cp", "mv", "ln", "install", "chmod", "chown", "truncate", "dd"})
_DELETERS: Final = frozenset({"rm", "rmdir", "shred", "unlink"})
_ENVIRONMENT: Final = frozenset({"env", "printenv"})
_FUNCTION: Final = re.compile(
    r"^[ \t]*(?:([A-Za-z_][\w-]{0,60})[ \t]*\(\)|function[ \t]+([A-Za-z_][\w-]{0,60}))", re.MULTILINE
)
_SHELLBANGS: Final = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash", b"#!/usr/bin/env sh", b"#!/usr/bin/bash")
_HARMLESS_TARGETS: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "&")


def is_shell(source: SourceFile) -> bool:
    """Whether the file is a shell script, by its name or its first line."""
    return source.suffix in _SUFFIXES or source.content.startswith(_SHELLBANGS)


def read_shell(sources: Iterable[SourceFile], budget: Budget) -> Report:
    """Return what the scripts hold."""
    return merged(_read_script(source, budget) for source in sources)


def _read_script(source: SourceFile, budget: Budget) -> Report:
    if not budget.take_text(len(source.text)) or not budget.take_shell(len(source.text)):
        return Report(findings=(found("other", "medium", source.place(), BEYOND, source.path),))
    findings: list[Finding] = [*invisible_characters(source, code=True), *secrets_in(source)]
    script = parse_script(source.text)
    pipelines = script.pipelines
    if source.truncated or not script.complete:
        findings.append(found("other", "medium", source.place(), BEYOND, source.path))
    for first, last, hit in objections_to(script):
        place = source.place(first, last)
        findings.append(found(hit.category, hit.severity, place, hit.text, hit.target or source.path))
    said = {finding.evidence_ref for finding in findings if finding.category == "secrets_exposure"}
    for line, what in dict.fromkeys(secrets_of(script)):
        if source.place(line) not in said:
            findings.append(found("secrets_exposure", "high", source.place(line), what, source.path))
            said.add(source.place(line))
    functions = frozenset(name for match in _FUNCTION.finditer(source.text) for name in match.groups() if name)
    commands = [str(c) for pipeline in pipelines for c in pipeline if c.literal and c.argv != (":",)]
    return Report(
        findings=tuple(findings),
        uses=tuple(use for pipeline in pipelines for use in _uses_of(source, pipeline, functions)),
        shell_commands=tuple(dict.fromkeys(c for c in commands if len(c) <= MAX_STRING))[:MAX_COMMANDS],
    )


def _uses_of(source: SourceFile, pipeline: Pipeline, functions: frozenset[str]) -> Iterator[Use]:
    place = source.place(pipeline[0].line, pipeline[-1].line)
    for command in pipeline:
        program, arguments = program_of(command)
        if program and program not in _BUILTINS and program not in functions:
            yield Use(cap.SUBPROCESS, place, program if "$" not in program else "")
        yield from _program_uses(place, program, arguments)
        yield from _redirect_uses(place, command)


def _program_uses(place: str, program: str, arguments: tuple[str, ...]) -> Iterator[Use]:
    names = [a for a in arguments if not a.startswith("-")]
    if program in DOWNLOADERS or program in SENDERS:
        hosts = sorted({host for argument in arguments for host in hosts_in(argument)})
        yield from [Use(cap.NETWORK, place, host) for host in hosts] or [Use(cap.NETWORK, place)]
    if program in _READERS:  # without a name they read standard input
        yield from _paths(cap.FILE_READ, place, [name for name in names if not name.isdigit()])
    if program in _SEARCHERS:
        yield from _paths(cap.FILE_READ, place, names[1:][-1:])
    if program in _CREATORS:
        yield from _paths(cap.FILE_WRITE, place, names)
    if program in _CHANGERS:
        yield from _paths(cap.FILE_WRITE, place, names[-1:])
    if program in _DELETERS:
        yield from _paths(cap.FILE_DELETE, place, names)
    if program in _ENVIRONMENT and not names:
        yield Use(cap.ENV_READ, place)
    elif program == "printenv":
        yield from [Use(cap.ENV_READ, place, name) for name in names]
    if program == "eval" or (program in INTERPRETERS and "-c" in arguments):
        yield Use(cap.DYNAMIC_CODE, place, program)


def _redirect_uses(place: str, command: Command) -> Iterator[Use]:
    for sign, target in command.redirects:
        if target.startswith(_HARMLESS_TARGETS) or target.isdigit() or sign in ("<<", "<<<"):
            continue
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Use(cap.NETWORK, place, target.split("/")[3].lower())
        elif sign.startswith("<"):
            yield from _paths(cap.FILE_READ, place, [target])
        else:
            yield from _paths(cap.FILE_WRITE, place, [target])


def _paths(capability: str, place: str, paths: list[str]) -> Iterator[Use]:
    """Yield the use of each path; one that is not spelled out has no pattern."""
    for path in paths:
        yield Use(capability, place, "" if "$" in path or "`" in path else path)
