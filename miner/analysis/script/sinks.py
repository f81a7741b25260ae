"""Calls that hand control to something else: one function per family of the rules."""

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Final

from miner.analysis.script import labels as lab
from miner.analysis.script import tables
from miner.analysis.script.commands import command_of, is_shell, through_shell
from miner.analysis.script.flow import Flow
from miner.analysis.script.holding import parts_of_call
from miner.analysis.script.rules import object_to
from miner.analysis.script.strings import is_assembled, leading_text, literal, text_of, unwrapped
from miner.analysis.script.syntax import Node
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_HIDDEN: Final = frozenset({lab.DECODED, lab.FETCHED, lab.REMOTE})
_BLOB: Final = 200  # characters
_LITERALS: Final = frozenset({"string", "template_string"})
_UNVERIFIED: Final = "process.env.NODE_TLS_REJECT_UNAUTHORIZED"
_CHECKS: Final = frozenset({"rejectUnauthorized", "strictSSL", "strict-ssl", "verifySsl", "sslVerify"})
_REQUIRES: Final = frozenset({"require", "module.require", "process.mainModule.require", "import"})
_HOMES: Final = frozenset({"process.env.HOME", "process.env.USERPROFILE"})
_BROAD_FOLDERS: Final = frozenset({"/", "~", "~/", "/home", "/etc", "/usr", "/var", "/root", "/opt", "C:\\", "C:/"})
_MAX_TEXT: Final = 4_096  # characters of an argument that are searched for a path


def sinks_of(source: SourceFile, flow: Flow) -> Iterator[Finding]:
    """Yield a finding for every expression of the file that a rule is about."""
    for node in flow.names.code.nodes:
        if node.kind in ("call_expression", "new_expression"):
            function, arguments = parts_of_call(node)
            name = flow.names.of(function)
            for rule in _CALL_RULES:
                for objection in rule(flow, node, name, arguments):
                    yield object_to(objection, source, node.line)
        elif node.kind in ("pair", "assignment_expression"):
            if _unverified(flow, node):
                yield object_to("unverified", source, node.line)
        elif node.kind == "string" and node.end - node.start > _BLOB and _is_blob(literal(flow.names.scopes, node)):
            yield object_to("blob", source, node.line)


def _evaluated(flow: Flow, call: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.TIMERS and arguments:
        if flow.of(arguments[0]) & _HIDDEN:
            yield "eval-hidden"
        elif arguments[0].kind in _LITERALS:
            yield "eval-literal"
    function = call.child("function")
    if function is not None and lab.COMPUTED in flow.of(unwrapped(function)):
        yield "call-assembled"
    name = name.removesuffix(".call").removesuffix(".apply")
    if not arguments or not (name in tables.EVALUATORS or flow.names.method_of(call) == "_compile"):
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
    if lab.CONNECTION in flow.of_all(arguments[1:]) and is_shell(flow, arguments):
        yield "remote-shell"  # as its standard streams
    if lab.REMOTE in given:
        yield "remote-shell"
    elif given & _HIDDEN and not leading_text(scopes, arguments[0]):
        yield "run-hidden"
    elif name in tables.SHELLS or through_shell(flow, arguments):
        yield "shell-fixed" if command_of(flow, name, arguments) is not None else "shell-given"


def _remote_shell(flow: Flow, call: Node, _: str, arguments: list[Node]) -> Iterator[str]:
    """What a connection says goes into a shell, or what a shell says into a connection."""
    function = call.child("function")
    if function is None or function.kind != "member_expression":
        return
    verb, owner, given = flow.names.method_of(call), flow.of(function.child("object")), flow.of_all(arguments)
    piped = verb == "pipe" and owner | given >= lab.OBJECTS and not owner & given & lab.OBJECTS
    told = lab.SHELL in owner and lab.REMOTE in given
    answered = lab.CONNECTION in owner and lab.SHELL in given
    if piped or (verb in ("write", "send") and (told or answered)):
        yield "remote-shell"


def _dropped(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    """What was fetched is written to a file, and the file is run."""
    if not arguments or name not in tables.SPAWNERS | tables.NATIVE | _REQUIRES:
        return
    code = flow.names.code
    run = [code.text(one)[:_MAX_TEXT] for one in arguments[:1]]
    written = any(path and path in text for text in run for path in flow.dropped)
    if written or lab.DROPPED in flow.of_all(arguments[:2]):
        yield "run-hidden"


def _deleted(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name not in tables.DELETERS or not arguments:
        return
    target = unwrapped(arguments[0])
    found = flow.names.scopes.binding(target) if target.kind == "identifier" else None
    value = unwrapped(found.value) if found is not None and found.value is not None else target
    function, _given = parts_of_call(value)
    home = function is not None and flow.names.of(function) == "os.homedir"
    home = home or flow.of(target) >= {lab.HOME, lab.FOLDER} or _below_home(flow, target)
    if home or flow.names.of(value) in _HOMES or (text_of(flow.names.scopes, value) or "") in _BROAD_FOLDERS:
        yield "delete-broad"


def _below_home(flow: Flow, target: Node) -> bool:
    """Whether a path is the home folder with nothing behind it but what is only known at run time."""
    if lab.HOME not in flow.of(target) or target.kind not in (
        "template_string",
        "call_expression",
        "binary_expression",
    ):
        return False
    code = flow.names.code
    return not any(
        len(code.text(node).strip("'\"`/\\")) > 0 for node in _spelled(target) if node.end - node.start < _MAX_TEXT
    )


def _spelled(node: Node) -> Iterator[Node]:
    """Yield the literal parts of an expression."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node.kind in ("string", "string_fragment"):
            yield node
        nodes += node.children


def _start_file(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.WRITERS and lab.START_PATH in flow.of_all(arguments[:2]):
        yield "start-file"


def _secret_file(flow: Flow, _: Node, name: str, arguments: list[Node]) -> Iterator[str]:
    if name in tables.READERS | tables.COPIERS and lab.SECRET_PATH in flow.of_all(arguments[:1]):
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
    code = flow.names.code
    value = node.child("value") if node.kind == "pair" else node.child("right")
    if value is None:
        return False
    text = code.text(value)[:8].strip("\"'`")
    if node.kind == "pair":
        key, name = code.key_of(node), ""
    else:
        target, name = node.child("left"), flow.names.of(node.child("left"))
        named = target.child("property") or target.child("index") if target is not None else None
        key = code.text(named)[:64].strip("\"'`") if named is not None else ""
    if key in _CHECKS:
        return text in ("false", "!1", "0")
    return text in ("0", "false") and (key == "NODE_TLS_REJECT_UNAUTHORIZED" or name == _UNVERIFIED)


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
    _dropped,
    _deleted,
    _start_file,
    _secret_file,
    _unserialized,
    _imported,
)
