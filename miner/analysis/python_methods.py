"""What methods give back that are known by their names alone."""

import re
from collections.abc import Callable
from typing import Final

from miner.analysis.python_files import PATH, mode_of, opened, path_of
from miner.analysis.python_module import Module
from miner.analysis.python_symbols import environment
from miner.analysis.python_value import (
    CLIENT,
    CONTENT,
    CREDENTIAL,
    DECODED,
    ENVIRON,
    FETCHED,
    HOLE,
    MADE,
    NOTHING,
    NUMBERS,
    SOCKET,
    Arguments,
    Value,
    any_of,
    content_of,
    joined,
    labelled,
    made,
)

_LONGEST: Final = 4_096  # characters that replacing may add


def method_called(module: Module, method: str, receiver: Value, given: Arguments) -> Value:
    """Return what a method gives back that is known by its name alone."""
    content = content_of(given)
    path = receiver.items.get(PATH)
    if path is not None and method in ("write", "writelines", "writestr", "add", "dump", "addfile"):
        added = module.reads(given.at(0)) if method in ("write", "add") else 0
        module.write(path, content | added)
        return NOTHING
    if receiver.labels & (CLIENT | SOCKET):
        return _answered(receiver, method)
    if method in ("rename", "replace", "copy") and receiver.texts and len(given.positional) == 1:
        module.write(given.at(0), module.reads(receiver))
    fold = _METHODS.get(method)
    if fold is not None:
        return joined(made([receiver, *given.positional], fold, MADE if method in _MAKING else 0), labelled(content))
    known = _BY_METHOD.get(method)
    if known is not None and (receiver.texts or receiver.labels or receiver.items):
        return known(module, receiver, given)
    decoded = DECODED if method == "decrypt" else 0
    return labelled(content & ~CREDENTIAL | receiver.content | decoded)


def _answered(receiver: Value, method: str) -> Value:
    """Return what comes back from somebody else: nothing of what was sent."""
    if method in ("close", "shutdown", "quit", "settimeout", "setsockopt", "connect_ex"):
        return NOTHING
    return labelled(FETCHED | receiver.labels & (CLIENT | SOCKET))


def _got(_: Module, receiver: Value, given: Arguments) -> Value:
    if receiver.labels & ENVIRON:
        return environment(given.at(0), given.at(1))
    key = given.at(0).known()
    chosen = receiver.items.get(key) if key is not None else None
    rest = any_of([*receiver.items.values(), *given.positional[1:]])
    return chosen if chosen is not None else joined(rest, labelled(receiver.content))


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


def _read_whole(module: Module, receiver: Value, _: Arguments) -> Value:
    return labelled(module.reads(receiver))


def _written_whole(module: Module, receiver: Value, given: Arguments) -> Value:
    module.write(receiver, content_of(given))
    return NOTHING


def _opened_path(module: Module, receiver: Value, given: Arguments) -> Value:
    return opened(module, receiver, mode_of(given.at(0, "mode")))


def _inside(_: Module, receiver: Value, given: Arguments) -> Value:
    return made([receiver, *given.positional[:1]], lambda text, name=HOLE: f"{text}/{name.replace('*', HOLE)}")


def _pairs(_: Module, receiver: Value, __: Arguments) -> Value:
    inner = any_of(item for key, item in receiver.items.items() if isinstance(key, str))
    return Value(receiver.content | inner.content, (), inner.symbols)


def _copy(_: Module, receiver: Value, __: Arguments) -> Value:
    return Value(receiver.content, receiver.texts, receiver.symbols, receiver.origin, receiver.items)


def _replaced(text: str, old: str, new: str) -> str:
    if not old or HOLE in old or text.count(old) * len(new) > _LONGEST:
        return HOLE
    return text.replace(old, new)


def _formatted(text: str, parts: tuple[str, ...]) -> str:
    left = list(parts)

    def slot(match: re.Match[str]) -> str:
        if match[1]:
            return parts[int(match[1])] if int(match[1]) < len(parts) else HOLE
        return left.pop(0) if left and not match[2] else HOLE

    return re.sub(r"\{(\d{0,2})([^{}]{0,32})\}", slot, text)


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
    "joinpath": path_of,
    "with_suffix": lambda text, suffix="", *_: text + suffix,
    "with_name": lambda text, name="", *_: path_of(text.rpartition("/")[0], name),
    "replace": lambda text, old="", new="", *_: _replaced(text, old, new),
    "format": lambda text, *parts: _formatted(text, parts),
    "hex": lambda text, *_: text.encode("latin-1", "replace").hex(),
    "removeprefix": lambda text, part="", *_: text.removeprefix(part),
    "removesuffix": lambda text, part="", *_: text.removesuffix(part),
}
_MethodResult = Callable[[Module, Value, Arguments], Value]
_BY_METHOD: Final[dict[str, _MethodResult]] = {
    "get": _got,
    "pop": _got,
    "join": lambda _module, receiver, given: _joined_text(receiver, given),
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
