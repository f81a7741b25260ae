"""Do secrets leave the machine? Calls that send what a secret is in."""

import ast
import re
from typing import Final, NamedTuple

from miner.analysis import python_tables as tables
from miner.analysis.links import urls_in
from miner.analysis.python_commands import line_of, words_of
from miner.analysis.python_flow import Flow, PassedCall
from miner.analysis.python_value import CLIENT, CREDENTIAL, ENVIRON, FILE, SECRET, SOCKET, Value

_PRIVATE: Final = SECRET | ENVIRON | FILE
_COURIER: Final = re.compile(r"(?:^|[\s;&|(/])(?:" + "|".join(sorted(map(re.escape, tables.COURIERS))) + r")(?=\s)")
_WHOLE: Final = re.compile(r"(?:^|[;&|({`]\s*)(?:env|printenv|export\s+-p|set)\s*(?:[|)`;}]|>)")
_OWN_KEY: Final = frozenset({"-i", "--key", "--cert", "--cacert", "--netrc-file", "-K", "--config", "--identity-file"})
_HEADERS_AT: Final = 3  # of http.client's request: method, path, body, headers


class Leak(NamedTuple):
    """A call that sends a secret away.

    Attributes:
        url: where to, as far as the source spells it out.
        as_credential: whether the secret travels as a credential (headers, auth), as secrets are meant to.
    """

    url: str
    as_credential: bool


def leak_of(flow: Flow, node: ast.Call) -> Leak | None:
    """Return what a call leaks."""
    for one in flow.calls(node):
        leak = _leak(flow, one)
        if leak is not None:
            return leak
    return None


def _leak(flow: Flow, one: PassedCall) -> Leak | None:
    names = one.function.symbols
    if any(name in tables.SPAWNERS for name in names):
        return _by_program(flow, one)
    if not _sends(flow, one, names):
        return None
    openly = 0
    credential = 0
    values = list(one.arguments.positional)
    for position, value in enumerate(values):
        if (
            one.method in ("request", "putheader")
            and one.receiver.labels & CLIENT
            and (position == _HEADERS_AT or one.method == "putheader")
        ):
            credential |= value.labels & (_PRIVATE | CREDENTIAL)
        else:
            openly |= value.labels & _PRIVATE
            credential |= value.labels & CREDENTIAL
    for name, value in one.arguments.keywords.items():
        labels = value.labels & (_PRIVATE | CREDENTIAL)
        if name in tables.CREDENTIAL_KEYWORDS:
            credential |= labels
        else:
            openly |= labels & _PRIVATE
            credential |= labels & CREDENTIAL
    url = next((u for value in one.arguments.all() for text in value.texts if (u := next(urls_in(text), ""))), "")
    files = [
        v for n, v in one.arguments.keywords.items() if n in ("Filename", "filename", "files", "localpath", "file")
    ]
    if one.method in ("upload_file", "put", "sendfile", "upload_from_filename", "fput_object"):
        files.extend(one.arguments.positional[:2])
    for value in files:
        openly |= flow.reads(value) & _PRIVATE
    if openly | credential & (ENVIRON | FILE):
        return Leak(url, as_credential=False)
    return Leak(url, as_credential=True) if credential else None


def _sends(flow: Flow, one: PassedCall, names: tuple[str, ...]) -> bool:
    if any(name in tables.FETCHERS or name in tables.LOOKUPS for name in names):
        return True
    if any(name in ("socket.create_connection", "xmlrpc.client.ServerProxy", "websockets.connect") for name in names):
        return True
    if one.receiver.labels & (CLIENT | SOCKET) and not any(n.startswith("def ") for n in names):
        return one.method in tables.SENDING_METHODS
    known = any(not name.startswith("def ") for name in names)
    return not known and one.method in tables.SENDING_ANYWHERE and bool(_networked(flow))


def _networked(flow: Flow) -> bool:
    return any(tables.NETWORK_MODULES.match(module) for module in flow.names.modules)


def _by_program(flow: Flow, one: PassedCall) -> Leak | None:
    """What a program such as curl takes away: its words, its input, the files that its words name."""
    line = line_of(one.arguments)
    if not _COURIER.search(line):
        return None
    url = next(urls_in(line), "")
    openly = 0
    credential = 0
    words = words_of(one.arguments)
    for position, word in enumerate(words):
        before = words[position - 1].texts if position else ()
        as_header = before and before[0] in ("-H", "--header", "-u", "--user")
        private = word.labels & _PRIVATE
        if as_header and not private & (ENVIRON | FILE):
            credential |= private
        else:
            openly |= private
        openly |= _files_in(flow, word, before[0] if before else "") & _PRIVATE
    openly |= ENVIRON if _WHOLE.search(line) else 0
    text = one.arguments.keywords.get("input") or one.arguments.keywords.get("stdin")
    openly |= text.labels & _PRIVATE if text is not None else 0
    if openly:
        return Leak(url, as_credential=False)
    return Leak(url, as_credential=True) if credential else None


def _files_in(flow: Flow, word: Value, before: str) -> int:
    """Return what the files hold that a word of a command names, as `@/tmp/x` or `-F file=@x` do."""
    labels = 0
    for text in word.texts:
        previous = before
        for part in text.split()[:64]:
            path = part.rpartition("@")[2].rpartition("=")[2].strip("\"'<>;")
            if previous not in _OWN_KEY:
                labels |= flow.files.get(path, 0)
                labels |= FILE if tables.SECRET_PATH.search(path) else 0
            previous = part
    return labels
