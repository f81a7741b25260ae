"""Command lines: which calls give one to a shell, and what the rules for shell scripts object to in it."""

from collections.abc import Iterator
from typing import Final

from miner.analysis.bounds import Budget
from miner.analysis.result import BEYOND, found
from miner.analysis.script import tables
from miner.analysis.script.flow import Flow
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.sources import programs_of
from miner.analysis.script.strings import text_of
from miner.analysis.script.syntax import Node
from miner.analysis.shell_code import objections_to
from miner.analysis.shell_commands import Command, Pipeline, Script
from miner.analysis.shell_parser import parse_script
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_MAX_WORDS: Final = 64
_MAX_COMMAND: Final = 4_096  # characters of a command line that is read as a script


def commands_of(source: SourceFile, flow: Flow, budget: Budget) -> Iterator[Finding]:
    """Yield what is wrong with the command lines that the file spells out.

    Args:
        source: the file.
        flow: of its values.
        budget: of what is read of scripts.
    """
    for node in flow.names.code.nodes:
        function, arguments = parts_of_call(node) if node.kind == "call_expression" else (None, [])
        name = flow.names.of(function)
        command = _script_of(flow, name, arguments)
        words = [] if command else _words_of(flow, name, arguments)
        if not budget.take_shell(len(command) + sum(map(len, words))):
            yield found("other", "medium", source.place(node.line), BEYOND, source.path)
            return
        script = parse_script(command) if command else Script(_pipelines_of(node, words), complete=True)
        for _, _, hit in objections_to(script):
            yield found(hit.category, hit.severity, source.place(node.line), hit.text, hit.target or source.path)


def _pipelines_of(call: Node, words: list[str]) -> list[Pipeline]:
    return [(Command(call.line, tuple(words), literal=True, redirects=(), inner=()),)] if words else []


def _words_of(flow: Flow, name: str, arguments: list[Node]) -> list[str]:
    """Return the words of a call that starts a program by itself; one that is not spelled out is `?`."""
    if name not in tables.SPAWNERS or name in tables.SHELLS or len(arguments) < 2:  # noqa: PLR2004 - program and words
        return []
    items = arguments[1].children[:_MAX_WORDS] if arguments[1].kind == "array" else []
    return [text_of(flow.names.scopes, node) or "?" for node in (arguments[0], *items)]


def _script_of(flow: Flow, name: str, arguments: list[Node]) -> str:
    """Return the command line that a call gives to a shell; empty if it gives none that is spelled out."""
    if name not in tables.SPAWNERS or not arguments:
        return ""
    shell = name in tables.SHELLS or through_shell(flow, arguments)
    return (command_of(flow, name, arguments) or "")[:_MAX_COMMAND] if shell else ""


def is_shell(flow: Flow, arguments: list[Node]) -> bool:
    """Whether a call may start a shell."""
    return not tables.SHELL_PROGRAMS.isdisjoint(programs_of(flow.names, arguments))


def through_shell(flow: Flow, arguments: list[Node]) -> bool:
    """Whether the program is a shell that is given a command, or the options ask for one."""
    if is_shell(flow, arguments) and len(arguments) > 1:
        flags = [text_of(flow.names.scopes, item) for item in arguments[1].children]
        if any(flag in ("-c", "/c", "-Command") for flag in flags):
            return True
    return any(_option(flow, argument, "shell") == "true" for argument in arguments[1:])


def command_of(flow: Flow, name: str, arguments: list[Node]) -> str | None:
    """Return the command line that goes through a shell, as far as the source spells it out whole."""
    scopes = flow.names.scopes
    first = text_of(scopes, arguments[0])
    if name in tables.SHELLS or first is None or len(arguments) == 1:
        return first
    items = arguments[1].children if arguments[1].kind == "array" else []
    words = [text_of(scopes, item) for item in items]
    known = [word for word in words if word is not None]
    if len(known) != len(words):
        return None
    return known[-1] if len(known) > 1 and known[0] in ("-c", "/c", "-Command") else " ".join((first, *known))


def _option(flow: Flow, argument: Node, key: str) -> str:
    """Return the source of an option of an object literal; empty if it has none."""
    for pair in argument.children if argument.kind == "object" else ():
        value = pair.child("value")
        if value is not None and flow.names.code.key_of(pair) == key:
            return flow.names.code.text(value)[:64]
    return ""
