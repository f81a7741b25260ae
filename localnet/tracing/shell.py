"""From bash's execution tracing to records.

Two kinds of lines arrive, both written by the running bash: `+|folder|command after expansion` for every command, and
before it `+|folder|: sssa-before 'command as written'`, which alone shows redirections.
"""

import itertools
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from localnet.tracing.inside.audit import SECRET_FILES
from localnet.tracing.places import DECOYS, HOME, SKILL
from localnet.tracing.records import Record

SETUP: Final = b"""\
PS4='+|$PWD|'
BASH_XTRACEFD=$SSSA_TRACE_FD
set -T
trap ': sssa-before "$BASH_COMMAND"' DEBUG
set -x
"""
SETUP_NAME: Final = "trace.sh"

_TRACED: Final = re.compile(r"\++\|([^|]*)\|(.*)", re.DOTALL)
_BEFORE: Final = ": sssa-before "
_COMPOUND: Final = ("for ", "case ", "select ", "[[ ", "(( ", "((")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_DECLARING: Final = frozenset(("export", "local", "declare", "readonly", "typeset"))
_FUNCTION: Final = re.compile(rb"^[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))", re.MULTILINE)
_URL: Final = re.compile(r"(https?|ftp|ssh|git|wss?)://(?:[^/@\s'\"]*@)?([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
_DEV_NET: Final = re.compile(r"/dev/(tcp|udp)/([A-Za-z0-9.-]+)/([0-9]{1,5})")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ssh": 22, "git": 9418, "ws": 80, "wss": 443}
_HOST_COMMANDS: Final = {"nc": None, "ncat": None, "telnet": 23, "ping": None, "dig": 53, "nslookup": 53, "host": 53}
_REDIRECTS: Final = {
    ">": "write",
    ">>": "write",
    ">|": "write",
    "&>": "write",
    "&>>": "write",
    "<": "read",
    "<>": "write",
}
_FILE_COMMANDS: Final = {
    **dict.fromkeys(("cat", "head", "tail", "base64", "source", ".", "sha256sum", "md5sum", "wc", "xxd"), "read"),
    **dict.fromkeys(("touch", "mkdir", "tee"), "write"),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred"), "delete"),
    "chmod": "chmod",
    "ls": "list",
}
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
        self._variables = {"HOME": HOME, **DECOYS}
        self._cwd = SKILL

    def read(self, line: str, ts: float) -> list[tuple[str, Record]]:
        """Return the (trace name, record) pairs of one line; none for what is no line of bash's tracing."""
        match = _TRACED.fullmatch(line)
        if match is None:
            return []
        self._cwd = self._variables["PWD"] = match[1]
        text = match[2].strip()[:_MAX_COMMAND]
        found = self._before(text) if text.startswith(_BEFORE) else self._command(text)
        return [(name, {**record, "ts": ts}) for name, record in found]

    def _command(self, text: str) -> Iterator[tuple[str, Record]]:
        if text.startswith(_COMPOUND) or not text:
            self._forget_loop_variable(text)
            return
        yield "shell_commands", {"cmd": text}
        yield from _secrets(text)
        name, *arguments = _words(text) or [""]
        if _ASSIGNMENT.fullmatch(name):
            self._remember([name])
            return
        if name in _DECLARING:
            self._remember(arguments)
        elif name not in _BUILTINS and name not in self._functions:
            yield "process", {"cmd": text}
            yield from _hosts(name, arguments)
            yield from _environment(name, arguments)
        yield from self._named_files(name, arguments)

    def _remember(self, words: Iterable[str]) -> None:
        for word in words:
            if match := _ASSIGNMENT.fullmatch(word):
                self._variables[match[1]] = match[2]

    def _forget_loop_variable(self, text: str) -> None:
        words = text.split(maxsplit=2)
        if len(words) > 1 and words[0] in ("for", "select"):
            self._variables.pop(words[1], None)

    def _before(self, text: str) -> Iterator[tuple[str, Record]]:
        words = _words(_unquote(text.removeprefix(_BEFORE)), operators=True)
        for operator, target in itertools.pairwise(words):
            op = _REDIRECTS.get(operator)
            if op is None or target.startswith(("&", "(", "<", ">")):
                continue
            path = self._expanded(target)
            device = _DEV_NET.fullmatch(path or "")
            if device:
                yield "network", {"domain": device[2], "dst_port": int(device[3]), "proto": device[1]}
            elif path:
                yield from self._file(op, path)

    def _expanded(self, word: str) -> str | None:
        """Return the word with the variables that are known; None when it says more than that."""
        text = _VARIABLE.sub(lambda m: self._variables.get(m[1] or m[2], "$"), word)
        return None if any(c in text for c in "$`*?[") or not text else text

    def _file(self, op: str, path: str) -> Iterator[tuple[str, Record]]:
        full = f"{HOME}{path[1:]}" if path.startswith("~/") else posixpath.join(self._cwd, path)
        clean = posixpath.normpath(full)
        if clean.startswith(("/dev/", "/proc/")):
            return
        yield "fs", {"op": op, "path": clean}
        if op == "read" and clean.endswith(SECRET_FILES):
            yield "secrets", {"type": "file", "pattern": clean}

    def _named_files(self, name: str, arguments: list[str]) -> Iterator[tuple[str, Record]]:
        op = _FILE_COMMANDS.get(name.rpartition("/")[2])
        paths = [word for word in arguments if not word.startswith("-")]
        for path in paths[1:] if name == "chmod" else paths:
            if op and path and not path.isdigit() and not any(c in path for c in "$`*?="):
                yield from self._file(op, path)


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


def _words(text: str, *, operators: bool = False) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="<>&|;()" if operators else False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _unquote(word: str) -> str:
    """Return the text of the one word that bash wrote, in whichever of its quotings."""
    if word.startswith("$'") and word.endswith("'"):
        return word[2:-1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'").replace("\\\\", "\\")
    words = _words(word)
    return words[0] if words else ""
