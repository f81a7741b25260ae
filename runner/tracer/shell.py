"""A parser of bash's execution tracing into records, one line `+|command after expansion` per command. Pure."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from tracer.places import DECOYS
from tracer.records import Record

SETUP: Final = b"""\
PS4='+|'
BASH_XTRACEFD=$SSSA_TRACE_FD
set -x
"""
SETUP_NAME: Final = "trace.sh"

_TRACED: Final = re.compile(r"\++\|(.*)", re.DOTALL)
_COMPOUND: Final = ("for ", "case ", "select ", "[[ ", "(( ", "((")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_FUNCTION: Final = re.compile(rb"^[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))", re.MULTILINE)
_URL: Final = re.compile(r"(https?|ftp|ssh|git|wss?)://(?:[^/@\s'\"]*@)?([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ssh": 22, "git": 9418, "ws": 80, "wss": 443}
_HOST_COMMANDS: Final = {"nc": None, "ncat": None, "telnet": 23, "ping": None, "dig": 53, "nslookup": 53, "host": 53}
_BUILTINS: Final = frozenset(
    """
    . : [ alias bg bind break builtin caller cd command compgen complete continue declare dirs disown echo
    enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile
    popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true
    type typeset ulimit umask unalias unset wait
    """.split()  # noqa: SIM905 - a list of sixty strings reads worse
)
_MAX_COMMAND: Final = 1_000


class ShellTrace:
    """Reads the lines of one script's trace, in order.

    Args:
        files: the script's bundle: its functions are no processes.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._functions = frozenset(_functions(files))

    def read(self, line: str, ts: float) -> list[tuple[str, Record]]:
        """Return the (trace name, record) pairs of one line; none for what is no line of bash's tracing."""
        match = _TRACED.fullmatch(line)
        text = match[1].strip()[:_MAX_COMMAND] if match else ""
        return [(name, {**record, "ts": ts}) for name, record in self._command(text)]

    def _command(self, text: str) -> Iterator[tuple[str, Record]]:
        if text.startswith(_COMPOUND) or not text:
            return
        yield "shell_commands", {"cmd": text}
        yield from _secrets(text)
        name, *arguments = _split_words(text) or [""]
        if not _ASSIGNMENT.fullmatch(name) and name not in _BUILTINS and name not in self._functions:
            yield from _hosts(name, arguments)
            yield from _environment(name, arguments)


def _functions(files: Mapping[str, bytes]) -> Iterator[str]:
    for name, content in files.items():
        if name.endswith((".sh", ".bash")):
            for match in _FUNCTION.finditer(content):
                yield (match[1] or match[2]).decode("utf-8", "replace")


def _secrets(text: str) -> Iterator[tuple[str, Record]]:
    for name, value in DECOYS.items():
        if value in text:
            yield "secrets", {"type": "env", "pattern": name}


def _environment(name: str, arguments: list[str]) -> Iterator[tuple[str, Record]]:
    """Yield the decoys that `printenv` or a bare `env` shows."""
    tool = name.rpartition("/")[2]
    if tool == "printenv" or (tool == "env" and not arguments):
        for decoy in DECOYS:
            if not arguments or decoy in arguments:
                yield "secrets", {"type": "env", "pattern": decoy}


def _hosts(name: str, arguments: list[str]) -> Iterator[tuple[str, Record]]:
    for word in arguments:
        for scheme, host, port in _URL.findall(word):
            yield "network", {"domain": host, "dst_port": int(port) if port else _PORTS[scheme], "proto": "tcp"}
    tool = name.rpartition("/")[2]
    plain = [word for word in arguments if not word.startswith("-")]
    if tool in _HOST_COMMANDS and plain:
        port = plain[1] if len(plain) > 1 and plain[1].isdigit() else _HOST_COMMANDS[tool]
        yield "network", {"domain": plain[0], "dst_port": None if port is None else int(port), "proto": "tcp"}


def _split_words(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []
