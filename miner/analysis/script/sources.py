"""Where labels come from: the environment, paths, and calls that fetch, connect, decode or start shells."""

import re
from typing import Final

from miner.analysis import private_paths as paths
from miner.analysis.script import labels as lab
from miner.analysis.script import tables
from miner.analysis.script.labels import NONE, Labels
from miner.analysis.script.names import Names
from miner.analysis.script.strings import literal, text_of, unwrapped
from miner.analysis.script.syntax import Node

_ENVIRONMENT: Final = "process.env"
_CODINGS: Final = frozenset({"base64", "base64url", "hex"})
_FOLDER: Final = re.compile(rf"^(?:{paths.HOME_FOLDER.pattern})$")
_HOMES: Final = frozenset({f"{_ENVIRONMENT}.HOME", f"{_ENVIRONMENT}.USERPROFILE"})
_PATHS: Final = (
    (paths.CREDENTIALS, lab.SECRET_PATH),
    (paths.OWN_CREDENTIALS, lab.LOCAL_PATH),
    (paths.START, lab.START_PATH),
    (_FOLDER, lab.FOLDER),
)
_MAX_PATH: Final = 1_024  # characters of a literal that are looked at as a path


def of_name(name: str) -> Labels:
    """Return the labels of a dotted name: the environment, or one secret variable of it."""
    if name == _ENVIRONMENT:
        return frozenset({lab.ENVIRONMENT})
    if name in _HOMES:
        return frozenset({lab.HOME})
    variable = name.removeprefix(f"{_ENVIRONMENT}.")
    if variable == name or "." in variable or not tables.SECRET_VARIABLE.search(variable):
        return NONE
    return frozenset({lab.VARIABLE + variable})


def of_literal(names: Names, node: Node) -> Labels:
    """Return the labels of a literal that names a file."""
    text = literal(names.scopes, node) if node.end - node.start <= _MAX_PATH else ""
    return frozenset(label for pattern, label in _PATHS if text and pattern.search(text))


def of_call(names: Names, name: str, arguments: list[Node], given: Labels) -> Labels:
    """Return the labels that a call brings into being.

    Args:
        names: of the file.
        name: the dotted name of what is called.
        arguments: of the call.
        given: the labels of the arguments.
    """
    found = set()
    if name in tables.READERS and given & {lab.SECRET_PATH, lab.LOCAL_PATH}:
        found.add(lab.FILE)
    if name == "os.homedir":
        found.add(lab.HOME)
    if name == "Reflect.get" and arguments and names.of(arguments[0]) in tables.HOLDERS:
        found.add(lab.COMPUTED)
    if name in tables.FETCHERS:
        found.add(lab.FETCHED)
    if name in tables.CONNECTORS:
        found.add(lab.CONNECTION)
    if name in tables.DECODERS or (name == "Buffer.from" and _coding(names, arguments) in _CODINGS):
        found.add(lab.DECODED)
    if name in tables.SPAWNERS and not tables.SHELL_PROGRAMS.isdisjoint(programs_of(names, arguments)):
        found.add(lab.SHELL)
    if name in ("Deno.env.get", "Deno.env.toObject", "Bun.env"):
        variable = text_of(names.scopes, arguments[0]) if arguments else None
        found |= of_name(f"{_ENVIRONMENT}.{variable}" if variable else _ENVIRONMENT)
    return frozenset(found)


def programs_of(names: Names, arguments: list[Node]) -> list[str]:
    """Return the programs that a call may start, without their folders; empty for one that is not spelled out."""
    if not arguments:
        return [""]
    first = unwrapped(arguments[0])
    choices = [first]
    if first.kind == "ternary_expression":
        choices = [child for child in first.children if child.field != "condition"]
    elif first.kind == "binary_expression" and text_of(names.scopes, first) is None:
        choices = [child for child in first.children if child.field in ("left", "right")]
    return [_program(text_of(names.scopes, choice) or "") for choice in choices]


def _program(command: str) -> str:
    words = command.split()
    return words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""


def _coding(names: Names, arguments: list[Node]) -> str | None:
    return text_of(names.scopes, arguments[1]) if len(arguments) > 1 else None
