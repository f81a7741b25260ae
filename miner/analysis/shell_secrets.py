"""Secrets that a shell script spells out: in pieces, packed, in addresses, as arguments of programs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from miner.analysis import code_secrets as code
from miner.analysis.shell_commands import Command, Script, program_of

_DEFAULT: Final = re.compile(r"\$\{[A-Za-z_0-9]{1,64}:?[-=]([^}]{1,400})\}")
_PRINTING: Final = frozenset({"printf", "echo"})
_SETTERS: Final = frozenset({"export", "declare", "local", "readonly", "typeset", "env"})
# Options that are followed by a password, and those that one is glued to, by program.
_FOLLOWED: Final = {
    "sshpass": ("-p",),
    "docker": ("-p", "--password"),
    "podman": ("-p", "--password"),
    "redis-cli": ("-a", "--pass"),
    "ldapsearch": ("-w",),
    "curl": ("-u", "--user", "-U", "--proxy-user"),
    "http": ("-a", "--auth"),
    "unzip": ("-P",),
    "zip": ("-P",),
    "mongo": ("-p",),
    "mongosh": ("-p",),
    "sqlcmd": ("-P",),
    "smbclient": ("-U",),
}
_GLUED: Final = {"mysql": "-p", "mysqldump": "-p", "mariadb": "-p", "mysqladmin": "-p", "7z": "-p", "sshpass": "-p"}
_ALWAYS: Final = frozenset({"--password", "--passwd", "--passphrase", "--pass", "--http-password", "--ftp-password"})


def secrets_of(script: Script) -> Iterator[tuple[int, str]]:
    """Yield the lines of a script that spell out a secret in some disguise, with what is said of each."""
    for line, name, text, _, joined in script.assignments:
        yield from ((line, what) for what in _in_value(name, text))
        if joined and code.is_secret(text):
            yield line, code.ASSEMBLED
    for pipeline in script.pipelines:
        for command in pipeline:
            yield from ((command.line, what) for what in _in_command(command))


def _in_value(name: str, text: str) -> Iterator[str]:
    match = _DEFAULT.fullmatch(text)
    value = (match[1] if match else text).strip("\"'")
    yield from _in_word(value)
    if code.names_password(name) and code.is_password(value):
        yield code.PASSWORD


def _in_word(text: str) -> Iterator[str]:
    if code.has_password(text):
        yield code.IN_ADDRESS
    elif code.is_packed(text):
        yield code.PACKED


def _in_command(command: Command) -> Iterator[str]:
    program, arguments = program_of(command)
    known = not any(command.open)
    for text in (*arguments, *(target for sign, target in command.redirects if sign == "<<<")):
        yield from _in_word(text)
    if program in _PRINTING and known and len(arguments) > 1 and code.is_secret(_printed(arguments)):
        yield code.ASSEMBLED
    for name, text in command.settings:
        yield from _in_value(name, text)
    if program in _SETTERS:
        for text in arguments:
            name, equals, value = text.partition("=")
            yield from _in_value(name, value) if equals else ()
    if any(map(code.is_password, _passwords(program, arguments))):
        yield code.PASSWORD


def _printed(arguments: Sequence[str]) -> str:
    form = "%" in arguments[0]
    return "".join(text for text in (arguments[1:] if form else arguments) if not text.startswith("-"))


def _passwords(program: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command that stand where a password does."""
    options = (*_FOLLOWED.get(program, ()), *_ALWAYS)
    for option, text in pairwise(arguments):
        if option in options:
            yield text.rpartition(":")[2] if ":" in text and program in ("curl", "http") else text.rpartition("%")[2]
    for text in arguments:
        option, equals, value = text.partition("=")
        if equals and option.lower().startswith("--") and code.names_password(option.strip("-")):
            yield value
        elif text.startswith(_GLUED.get(program, "\0")):
            yield text[2:]
        elif text.startswith("pass:"):
            yield text.removeprefix("pass:")
