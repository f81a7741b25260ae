"""What calls of libraries give back, as far as it tells where something comes from."""

import ast
import base64
import binascii
import bz2
import codecs
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Final, Protocol
from urllib.parse import unquote

from localnet.analysis import python_tables as tables
from localnet.analysis.python_value import (
    CLIENT,
    COMPUTED,
    CONTENT,
    CREDENTIAL,
    DECODED,
    ENVIRON,
    FETCHED,
    FILE,
    HOLE,
    MADE,
    NOTHING,
    NUMBERS,
    SECRET,
    SOCKET,
    STARTS,
    Arguments,
    Value,
    any_of,
    container,
    joined,
    labelled,
    made,
    symbol,
    texts_of,
)


class Flow(Protocol):
    """What calls ask of whoever follows values."""

    def write(self, path: Value, content: int) -> None:
        """Remember what a file holds."""

    def reads(self, path: Value) -> int:
        """Return what whoever reads the file gets."""

    @staticmethod
    def variable(key: Value, default: Value) -> Value:
        """Return a variable of the environment."""

    def named(self, stems: list[str], key: Value) -> Value:
        """Return what a text names in modules."""


PATH: Final = "open"  # under which an open file keeps its path
_MAX_UNPACKED: Final = 4_096
_WRITES: Final = re.compile(r"[wax+]")
_PATHS: Final = frozenset(
    {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.WindowsPath", "os.path.join"}
)
_SAME_PATH: Final = frozenset(
    {
        *("os.path.expanduser", "os.path.abspath", "os.path.normpath", "os.path.realpath", "os.fspath", "str", "bytes"),
        *("os.path.expandvars", "shlex.quote", "urllib.parse.quote", "os.fsencode", "os.fsdecode", "bytearray"),
        *("iter", "list", "tuple", "set", "sorted", "textwrap.dedent", "io.StringIO", "io.BytesIO", "memoryview"),
    }
)
_VARIABLES: Final = frozenset(
    f"os.{name}" for name in ("getenv", "getenvb", "environ.get", "environ.pop", "environ.__getitem__")
)
_COPIERS: Final = frozenset(
    {
        *("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.move", "shutil.copytree"),
        *("os.rename", "os.replace", "os.link", "os.symlink"),
    }
)
_LISTERS: Final = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"})
_ENVIRONMENT: Final = re.compile(r"(?:^|[;&|(]\s*|/bin/)(?:env|printenv|set|export)(?:$|\s*[|>;&)])")
_CREDENTIAL_COMMAND: Final = re.compile(
    r"security\s+find-(?:generic|internet)-password|gh\s+auth\s+token|gcloud\s+auth\s+print|aws\s+configure\s+(?:get|export)"
    r"|secret-tool\s+(?:lookup|search)|pass\s+show|op\s+read|az\s+account\s+get-access-token|git\s+credential\s+fill"
    r"|kubectl\s+.*secret|vault\s+(?:read|kv)|docker-credential|gpg\s+--export-secret"
)


def called(flow: Flow, name: str, given: Arguments, node: ast.Call) -> Value:
    """Return what a call of a library's function, known by its dotted name, gives back."""
    for known, result in _BY_NAME:
        if name in known:
            return result(flow, name, given)
    if tables.SECRET_STORES.match(name):
        return labelled(FILE)
    rest = _NAMED.get(name)
    return rest(flow, given, node) if rest is not None else _plain(flow, name, given)


def _plain(flow: Flow, name: str, given: Arguments) -> Value:
    content = _content(given)
    if name.startswith("os.environ."):
        return labelled(ENVIRON)
    if name == "shutil.make_archive":
        flow.write(made([given.at(0)], lambda text: f"{text}.zip"), flow.reads(given.at(2, "root_dir")))
        return Value(0, given.at(0).texts)
    if name in tables.DROPPING:
        return NOTHING
    if name in tables.CARRYING or tables.CARRYING_MODULES.match(name):
        return Value(content | any_of(given.all()).labels & SOCKET)
    # What a library's function makes of a secret may be the secret; an object that is given one only uses it.
    return labelled(content & ~(FETCHED | DECODED)) if name.rpartition(".")[2][:1].islower() else NOTHING


def _variable(flow: Flow, _: str, given: Arguments) -> Value:
    return flow.variable(given.at(0), given.at(1, "default"))


def _decoded(_: Flow, name: str, given: Arguments) -> Value:
    return joined(made([given.at(0)], _unpacker(name), MADE), labelled(DECODED | _content(given)))


def _opened(flow: Flow, _: str, given: Arguments) -> Value:
    return opened(flow, given.at(0), _mode(given.at(1, "mode")))


def _read(flow: Flow, _: str, given: Arguments) -> Value:
    return labelled(_content(given) | flow.reads(given.at(0)))


def _same_path(_: Flow, __: str, given: Arguments) -> Value:
    first = given.at(0)
    return Value(_content(given), first.texts, (), first.origin, first.items)


def _listed(_: Flow, name: str, given: Arguments) -> Value:
    return made([given.at(0)], lambda text: text if "glob" in name else f"{text}/{HOLE}")


def _copied(flow: Flow, _: str, given: Arguments) -> Value:
    flow.write(given.at(1, "dst"), flow.reads(given.at(0)))
    return given.at(1, "dst")


def _pathed(_: Flow, __: str, given: Arguments) -> Value:
    return made(given.positional or [NOTHING], _path)


def method_called(flow: Flow, method: str, receiver: Value, given: Arguments) -> Value:
    """Return what a method gives back that is known by its name alone."""
    content = _content(given)
    path = receiver.items.get(PATH)
    if path is not None and method in ("write", "writelines", "writestr", "add", "dump", "addfile"):
        added = flow.reads(given.at(0)) if method in ("write", "add") else 0
        flow.write(path, content | added)
        return NOTHING
    if receiver.labels & (CLIENT | SOCKET):
        return _answered(receiver, method)
    if method in ("rename", "replace", "copy") and receiver.texts and len(given.positional) == 1:
        flow.write(given.at(0), flow.reads(receiver))
    fold = _METHODS.get(method)
    if fold is not None:
        return joined(made([receiver, *given.positional], fold, MADE if method in _MAKING else 0), labelled(content))
    known = _BY_METHOD.get(method)
    if known is not None and (receiver.texts or receiver.labels or receiver.items):
        return known(flow, receiver, given)
    decoded = DECODED if method == "decrypt" else 0
    return labelled(content & ~CREDENTIAL | receiver.content | decoded)


def _got(flow: Flow, receiver: Value, given: Arguments) -> Value:
    if receiver.labels & ENVIRON:
        return flow.variable(given.at(0), given.at(1))
    key = given.at(0).known()
    chosen = receiver.items.get(key) if key is not None else None
    rest = any_of([*receiver.items.values(), *given.positional[1:]])
    return chosen if chosen is not None else joined(rest, labelled(receiver.content))


def _read_whole(flow: Flow, receiver: Value, _: Arguments) -> Value:
    return labelled(flow.reads(receiver))


def _written_whole(flow: Flow, receiver: Value, given: Arguments) -> Value:
    flow.write(receiver, _content(given))
    return NOTHING


def _opened_path(flow: Flow, receiver: Value, given: Arguments) -> Value:
    return opened(flow, receiver, _mode(given.at(0, "mode")))


def _inside(_: Flow, receiver: Value, given: Arguments) -> Value:
    return made([receiver, *given.positional[:1]], lambda text, name=HOLE: f"{text}/{name.replace('*', HOLE)}")


def _pairs(_: Flow, receiver: Value, __: Arguments) -> Value:
    inner = any_of(item for key, item in receiver.items.items() if isinstance(key, str))
    return Value(receiver.content | inner.content, (), inner.symbols)


def _copy(_: Flow, receiver: Value, __: Arguments) -> Value:
    return Value(receiver.content, receiver.texts, receiver.symbols, receiver.origin, receiver.items)


def _answered(receiver: Value, method: str) -> Value:
    """Return what comes back from somebody else: nothing of what was sent."""
    if method in ("close", "shutdown", "quit", "settimeout", "setsockopt", "connect_ex"):
        return NOTHING
    return labelled(FETCHED | receiver.labels & (CLIENT | SOCKET))


def opened(flow: Flow, path: Value, mode: str) -> Value:
    """Return an open file."""
    writes = bool(_WRITES.search(mode))
    labels = 0 if writes and "+" not in mode else flow.reads(path)
    if writes and any(tables.START_PATH.search(text) for text in path.texts):
        labels |= STARTS
    return Value(labels, (), (), id(path), {PATH: Value(0, path.texts)}) if path.texts else labelled(labels)


def _mode(value: Value) -> str:
    return value.texts[0] if value.texts else "r"


def _content(given: Arguments) -> int:
    labels = 0
    for value in given.positional:
        labels |= value.content
    for name, value in given.keywords.items():
        content = value.content
        if name in tables.CREDENTIAL_KEYWORDS and content & SECRET:
            content = content & ~SECRET | CREDENTIAL
        labels |= 0 if name == "env" else content
    return labels


def _fetched(flow: Flow, name: str, given: Arguments) -> Value:
    labels = FETCHED
    if any(tables.METADATA_HOST.search(text) for value in given.positional for text in value.texts):
        labels |= FILE
    if name.rpartition(".")[2] in ("urlretrieve", "download"):
        where = given.at(1, "filename", "out")
        flow.write(where, FETCHED)
        return container(id(given), [(0, Value(FETCHED, where.texts)), (1, NOTHING)])._replace(origin=-1)
    return labelled(labels)


def words_of(given: Arguments) -> list[Value]:
    """Return the words of a command that a call starts, or its whole line alone."""
    first = given.at(0, "args", "cmd", "command", "program")
    items = [value for key, value in first.items.items() if isinstance(key, int)]
    if items:
        return items
    return [first, *(v for v in given.positional[1:] if v.texts or v.labels)]


def line_of(given: Arguments) -> str:
    """Return a command as one line, unknown words as holes."""
    return " ".join((value.texts[0] if value.texts else HOLE) for value in words_of(given))[:_MAX_UNPACKED]


def _started(flow: Flow, given: Arguments) -> Value:
    """Return what a program says."""
    line = line_of(given)
    program = line.partition(" ")[0].rpartition("/")[2]
    labels = 0
    if program in ("curl", "wget", "nc", "ncat", "http") or re.search(r"\b(?:curl|wget)\s", line):
        labels |= FETCHED
        for flag in ("-o", "-O", "--output", "--output-document"):
            words = line.split()
            if flag in words[:-1] and words[words.index(flag) + 1] != "-":
                flow.write(texts_of((words[words.index(flag) + 1],)), FETCHED)
    if _ENVIRONMENT.search(line):
        labels |= ENVIRON
    if _CREDENTIAL_COMMAND.search(line) or tables.SECRET_PATH.search(line):
        labels |= FILE
    if re.search(r"base64\s+(?:-d|--decode|-D)\b|openssl\s+enc\s+-d", line):
        labels |= DECODED
    return labelled(labels)


def _path(*parts: str) -> str:
    result = ""
    for part in parts:
        result = part if not result or part.startswith(("/", "~")) else f"{result.rstrip('/')}/{part}"
    return result


def _joined_text(separator: Value, given: Arguments) -> Value:
    parts = given.at(0)
    labels = parts.labels & CONTENT | separator.content
    if parts.labels & (NUMBERS | MADE) and parts.texts and not parts.items:
        return Value(labels | MADE, parts.texts)
    items = [value for key, value in parts.items.items() if isinstance(key, int)]
    if items:
        return joined(made([separator, *items], lambda by, *texts: by.join(texts), MADE), labelled(labels))
    if parts.texts and separator.texts == ("",):
        return Value(labels | MADE, parts.texts)
    if separator.texts and separator.texts[0] == "":
        return joined(labelled(labels), Value(parts.labels & MADE, parts.texts))
    return labelled(labels)


def _unpacker(name: str) -> Callable[..., str]:
    return lambda text: _unpacked(name, text)


def _unpacked(name: str, text: str) -> str:
    raw = text.encode("latin-1", "replace")
    try:
        if name == "codecs.decode":
            return codecs.decode(text, "rot13") if text.isascii() else HOLE
        return _UNPACKERS[name](raw).decode("latin-1") if name in _UNPACKERS else HOLE
    except (ValueError, binascii.Error, zlib.error, OSError, lzma.LZMAError, EOFError, KeyError):
        return HOLE


_UNPACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "base64.b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.decodebytes": base64.decodebytes,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "bytes.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "bytearray.fromhex": lambda raw: bytes.fromhex(raw.decode()),
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64,
    "zlib.decompress": lambda raw: zlib.decompressobj().decompress(raw, _MAX_UNPACKED),
    "gzip.decompress": lambda raw: zlib.decompressobj(31).decompress(raw, _MAX_UNPACKED),
    "bz2.decompress": lambda raw: bz2.BZ2Decompressor().decompress(raw, _MAX_UNPACKED),
    "lzma.decompress": lambda raw: lzma.LZMADecompressor(memlimit=16 << 20).decompress(raw, _MAX_UNPACKED),
}
Handler = Callable[[Flow, Arguments, ast.Call], Value]


def _import(_: Flow, given: Arguments, node: ast.Call) -> Value:
    plain = bool(node.args) and isinstance(node.args[0], ast.Constant)
    texts = [text for text in given.at(0, "name").texts if HOLE not in text]
    return any_of(symbol(text, 0 if plain else COMPUTED) for text in texts)


def _getattr(flow: Flow, given: Arguments, _: ast.Call) -> Value:
    owner, key = given.at(0), given.at(1)
    stems = [s for s in owner.symbols if not s.startswith("def ")]
    if not stems:
        return labelled(owner.labels & (CONTENT | CLIENT | SOCKET))
    if stems == ["os"] and any("environ" in text for text in key.texts):
        return labelled(ENVIRON)
    return flow.named(["" if s in ("builtins", "__builtins__", "__builtin__") else s for s in stems], key)


def _vars(_: Flow, given: Arguments, __: ast.Call) -> Value:
    owner = given.at(0)
    if not given.positional:
        return symbol("__dict__")
    return any_of(
        symbol("__dict__" if s in ("builtins", "__builtins__") else f"{s}.__dict__", COMPUTED) for s in owner.symbols
    )


def _chr(_: Flow, given: Arguments, node: ast.Call) -> Value:
    first = given.at(0)
    if first.labels & NUMBERS:
        return Value(MADE, first.texts)
    return labelled(first.content | (DECODED if node.args and not isinstance(node.args[0], ast.Name) else 0))


def _bytes(_: Flow, given: Arguments, node: ast.Call) -> Value:
    first = given.at(0)
    if first.labels & NUMBERS and len(first.texts[0]) > 1:
        return Value(MADE, first.texts)
    changed = bool(node.args) and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp)
    return joined(Value(first.content, first.texts), labelled(DECODED if changed else 0))


def _map(_: Flow, given: Arguments, __: ast.Call) -> Value:
    source = given.at(1)
    if source.labels & NUMBERS and given.at(0).symbols == ("chr",):
        return Value(MADE, source.texts)
    return labelled(source.content)


def _reversed(_: Flow, given: Arguments, __: ast.Call) -> Value:
    return made([given.at(0)], lambda text: text[::-1], MADE)


def _environ(_: Flow, __: Arguments, ___: ast.Call) -> Value:
    return labelled(ENVIRON)


def _home(_: Flow, __: Arguments, ___: ast.Call) -> Value:
    return texts_of(("~",))


def _partial(_: Flow, given: Arguments, __: ast.Call) -> Value:
    return given.at(0)


def _unquoted(_: Flow, given: Arguments, __: ast.Call) -> Value:
    return made([given.at(0)], unquote, MADE)


_NAMED: Final[dict[str, Handler]] = {
    "__import__": _import,
    "importlib.import_module": _import,
    "importlib.__import__": _import,
    "getattr": _getattr,
    "vars": _vars,
    "globals": lambda _flow, _given, _node: symbol("__dict__"),
    "locals": lambda _flow, _given, _node: symbol("__dict__"),
    "chr": _chr,
    "bytes": _bytes,
    "bytearray": _bytes,
    "map": _map,
    "reversed": _reversed,
    "pathlib.Path.home": _home,
    "pathlib.PosixPath.home": _home,
    "functools.partial": _partial,
    "urllib.parse.unquote": _unquoted,
    "os.environ.copy": _environ,
}
_MAKING: Final = frozenset({"replace", "format", "translate", "decode", "hex"})
_METHODS: Final[dict[str, Callable[..., str]]] = {
    "lower": lambda text, *_: text.lower(),
    "upper": lambda text, *_: text.upper(),
    "strip": lambda text, *_: text.strip(),
    "rstrip": lambda text, *_: text.rstrip(),
    "lstrip": lambda text, *_: text.lstrip(),
    "title": lambda text, *_: text.title(),
    "decode": lambda text, *_: text,
    "encode": lambda text, *_: text,
    "expanduser": lambda text, *_: text,
    "resolve": lambda text, *_: text,
    "absolute": lambda text, *_: text,
    "as_posix": lambda text, *_: text,
    "joinpath": _path,
    "with_suffix": lambda text, suffix="", *_: text + suffix,
    "with_name": lambda text, name="", *_: _path(text.rpartition("/")[0], name),
    "replace": lambda text, old="", new="", *_: _replaced(text, old, new),
    "format": lambda text, *parts: _formatted(text, parts),
    "hex": lambda text, *_: text.encode("latin-1", "replace").hex(),
    "removeprefix": lambda text, part="", *_: text.removeprefix(part),
    "removesuffix": lambda text, part="", *_: text.removesuffix(part),
}


def _replaced(text: str, old: str, new: str) -> str:
    if not old or HOLE in old or text.count(old) * len(new) > _MAX_UNPACKED:
        return HOLE
    return text.replace(old, new)


def _formatted(text: str, parts: tuple[str, ...]) -> str:
    left = list(parts)

    def slot(match: re.Match[str]) -> str:
        if match[1]:
            return parts[int(match[1])] if int(match[1]) < len(parts) else HOLE
        return left.pop(0) if left and not match[2] else HOLE

    return re.sub(r"\{(\d{0,2})([^{}]{0,32})\}", slot, text)


_MethodResult = Callable[[Flow, Value, Arguments], Value]
_BY_METHOD: Final[dict[str, _MethodResult]] = {
    "get": _got,
    "pop": _got,
    "join": lambda _flow, receiver, given: _joined_text(receiver, given),
    "read_text": _read_whole,
    "read_bytes": _read_whole,
    "write_text": _written_whole,
    "write_bytes": _written_whole,
    "open": _opened_path,
    "iterdir": _inside,
    "glob": _inside,
    "rglob": _inside,
    "walk": _inside,
    "items": _pairs,
    "values": _copy,
    "keys": _copy,
    "copy": _copy,
}
_Result = Callable[[Flow, str, Arguments], Value]
_BY_NAME: Final[tuple[tuple[frozenset[str], _Result], ...]] = (
    (_VARIABLES, _variable),
    (tables.SOCKETS, lambda _flow, _name, _given: labelled(SOCKET | CLIENT | FETCHED)),
    (tables.CLIENTS, lambda _flow, _name, _given: labelled(CLIENT)),
    (tables.FETCHERS, _fetched),
    (tables.SPAWNERS, lambda flow, _name, given: _started(flow, given)),
    (tables.DECODERS, _decoded),
    (tables.OPENERS, _opened),
    (tables.READERS, _read),
    (_PATHS, _pathed),
    (_SAME_PATH, _same_path),
    (_LISTERS, _listed),
    (_COPIERS, _copied),
)
