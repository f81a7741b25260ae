"""Calls that hand control to something else: one function per family of the rules."""

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Final

from localnet.analysis.result import found
from localnet.analysis.script import labels as lab
from localnet.analysis.script import tables
from localnet.analysis.script.flow import Flow
from localnet.analysis.script.holding import parts_of_call
from localnet.analysis.script.rules import object_to
from localnet.analysis.script.sources import program_of
from localnet.analysis.script.strings import is_assembled, leading_text, literal, text_of
from localnet.analysis.script.syntax import Node
from localnet.analysis.shell_parser import parse_script
from localnet.analysis.shell_rules import hits_of
from localnet.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_HIDDEN: Final = frozenset({lab.DECODED, lab.FETCHED, lab.REMOTE})
_BLOB: Final = 200  # characters
_LITERALS: Final = frozenset({"string", "template_string"})
_UNVERIFIED: Final = "process.env.NODE_TLS_REJECT_UNAUTHORIZED"
_REQUIRES: Final = frozenset({"require", "module.require", "process.mainModule.require", "import"})
_MAX_COMMAND: Final = 4_096  # characters of a command line that is read as a script


def sinks_of(source: SourceFile, flow: Flow) -> Iterator[Finding]:
    """Yield a finding for every expression of the file that a rule is about."""
    for node in flow.names.code.nodes:
        if node.kind in ("call_expression", "new_expression"):
            function, arguments = parts_of_call(node)
            if function is not None:
                name = flow.names.of(function)
                for rule in _CALL_RULES:
                    for objection in rule(flow, node, name, arguments):
                        yield object_to(objection, source, node.line)
                yield from _shell_script(source, flow, node, name, arguments)
        elif node.kind in ("pair", "assignment_expression"):
            if _unverified(flow, node):
                yield object_to("unverified", source, node.line)
        elif node.kind == "string" and node.end - node.start > _BLOB and _is_blob(literal(flow.names.scopes, node)):
            yield object_to("blob", source, node.line)


def _evaluated(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.TIMERS and arguments and arguments[0].kind in _LITERALS:
        yield "eval-literal"
    if not arguments or not (name in tables.EVALUATORS or name.endswith("._compile")):
        return
    if flow.of_all(arguments) & _HIDDEN:
        yield "eval-hidden"
    elif all(text_of(flow.names.scopes, argument) is not None for argument in arguments[-1:]):
        yield "eval-literal"
    else:
        yield "eval-given"


def _run(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name not in tables.SPAWNERS or not arguments:
        return
    scopes, given = flow.names.scopes, flow.of(arguments[0])
    if lab.CONNECTION in flow.of_all(arguments[1:]) and program_of(flow.names, arguments) in tables.SHELL_PROGRAMS:
        yield "remote-shell"  # as its standard streams
    if lab.REMOTE in given:
        yield "remote-shell"
    elif given & _HIDDEN and not leading_text(scopes, arguments[0]):
        yield "run-hidden"
    elif name in tables.SHELLS or _through_shell(flow, arguments):
        yield "shell-fixed" if _command_of(flow, name, arguments) is not None else "shell-given"


def _through_shell(flow: Flow, arguments: list[Node]) -> bool:
    """Whether the program is a shell that is given a command, or the options ask for one."""
    if program_of(flow.names, arguments) in tables.SHELL_PROGRAMS and len(arguments) > 1:
        flags = [text_of(flow.names.scopes, item) for item in arguments[1].children]
        if any(flag in ("-c", "/c", "-Command") for flag in flags):
            return True
    return any(_option(flow, argument, "shell") == "true" for argument in arguments[1:])


def _command_of(flow: Flow, name: str, arguments: list[Node]) -> str | None:
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


def _shell_script(source: SourceFile, flow: Flow, call: Node, name: str, arguments: list[Node]) -> Iterator[Finding]:
    """Yield what the rules for shell scripts object to in a command that is spelled out."""
    if name not in tables.SPAWNERS or not arguments:
        return
    command = _command_of(flow, name, arguments) if name in tables.SHELLS or _through_shell(flow, arguments) else None
    for pipeline in parse_script(command[:_MAX_COMMAND]).pipelines if command else ():
        for hit in hits_of(pipeline):
            yield found(hit.category, hit.severity, source.place(call.line), hit.text, hit.target or source.path)


def _remote_shell(flow: Flow, call: Node, _: str, arguments: list[Node]) -> Iterator[str]:
    """What a connection says goes into a shell, or what a shell says into a connection."""
    function = call.child("function")
    if function is None or function.kind != "member_expression":
        return
    key, owner = function.child("property"), flow.of(function.child("object"))
    verb = flow.names.code.text(key) if key is not None else ""
    given = flow.of_all(arguments)
    piped = verb == "pipe" and owner | given >= lab.OBJECTS and not owner & given & lab.OBJECTS
    told = lab.SHELL in owner and lab.REMOTE in given
    answered = lab.CONNECTION in owner and lab.SHELL in given
    if piped or (verb in ("write", "send") and (told or answered)):
        yield "remote-shell"


def _start_file(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.WRITERS and lab.START_PATH in flow.of_all(arguments[:2]):
        yield "start-file"


def _secret_file(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.READERS and lab.SECRET_PATH in flow.of_all(arguments[:1]):
        yield "secret-file"


def _unserialized(_: Flow, __: Node, name: str, ___: list[Node]) -> Iterator[str]:
    if name in tables.UNSERIALIZERS:
        yield "unserialize"


def _imported(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name not in _REQUIRES or not arguments:
        return
    text = text_of(flow.names.scopes, arguments[0])
    if (text or leading_text(flow.names.scopes, arguments[0])).startswith("data:") or lab.DECODED in flow.of(
        arguments[0]
    ):
        yield "eval-hidden"
    elif is_assembled(arguments[0]) and leading_text(flow.names.scopes, arguments[0]):
        yield "import-assembled"


def _unverified(flow: Flow, node: Node) -> bool:
    if node.kind == "pair":
        value = node.child("value")
        return value is not None and value.kind == "false" and flow.names.code.key_of(node) == "rejectUnauthorized"
    value = node.child("right")
    off = value is not None and flow.names.code.text(value)[:8].strip("\"'`") in ("0", "false")
    return off and flow.names.of(node.child("left")) == _UNVERIFIED


def _option(flow: Flow, argument: Node, key: str) -> str:
    """Return the source of an option of an object literal; empty if it has none."""
    for pair in argument.children if argument.kind == "object" else ():
        value = pair.child("value")
        if value is not None and flow.names.code.key_of(pair) == key:
            return flow.names.code.text(value)[:64]
    return ""


def _is_blob(value: str) -> bool:
    if len(value) < _BLOB or " " in value or not value.isascii() or value.startswith("data:"):
        return False
    try:
        return bool(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return False


_CALL_RULES: Final[tuple[Callable[[Flow, Node, str, list[Node]], Iterator[str]], ...]] = (
    _evaluated,
    _run,
    _remote_shell,
    _start_file,
    _secret_file,
    _unserialized,
    _imported,
)
