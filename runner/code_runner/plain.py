"""Plain data as JSON and back: exactly the listed types, never a subclass, which could lie about itself. No I/O.

What is not plain goes through the `refer` and `resolve` of the caller. Lists, dicts, sets and the like are *shared*:
both sides number those of a message in the order of its writing, so that a callee can say which of them it changed.
"""

import builtins
import datetime as dt
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath
from typing import Any, Final

_SMALL: Final = 2**63  # larger integers are written in base 16, which takes linear time
_SELF: Final = frozenset({type(None), bool, str, float})
_KEYED: Final[dict[type, str]] = {dict: "dict", OrderedDict: "ordered", Counter: "counter", defaultdict: "default"}
_LISTED: Final[dict[type, str]] = {list: "list", set: "set"}
_FIXED: Final[dict[type, str]] = {tuple: "tuple", frozenset: "frozenset"}
_SINGLE: Final = {"Ellipsis": ..., "NotImplemented": NotImplemented}
_PARTS: Final[dict[type, tuple[str, Callable[[Any], list[Any]], Callable[..., Any]]]] = {
    bytes: ("bytes", lambda v: [v.decode("latin-1")], lambda text: text.encode("latin-1")),
    complex: ("complex", lambda v: [v.real, v.imag], complex),
    range: ("range", lambda v: [_int(v.start), _int(v.stop), _int(v.step)], lambda *v: range(*map(_read_int, v))),
    Decimal: ("decimal", lambda v: [str(v)], Decimal),
    Fraction: (
        "fraction",
        lambda v: [_int(v.numerator), _int(v.denominator)],
        lambda *v: Fraction(*map(_read_int, v)),
    ),
    dt.date: ("date", lambda v: [v.isoformat()], dt.date.fromisoformat),
    dt.time: ("time", lambda v: [v.isoformat()], dt.time.fromisoformat),
    dt.datetime: ("datetime", lambda v: [v.isoformat()], dt.datetime.fromisoformat),
    dt.timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds], dt.timedelta),
    uuid.UUID: ("uuid", lambda v: [str(v)], uuid.UUID),
    PosixPath: ("path", lambda v: [str(v)], Path),
}
_READ_PARTS: Final = {tag: read for tag, _, read in _PARTS.values()}
_EMPTY: Final[dict[str, Callable[[], Any]]] = {
    "dict": dict,
    "ordered": OrderedDict,
    "counter": Counter,
    "default": defaultdict,
    "list": list,
    "set": set,
    "bytearray": bytearray,
}
MUTABLE: Final[tuple[type[Any], ...]] = (list, dict, set, bytearray, deque)
IMMUTABLE: Final[tuple[type[Any], ...]] = (str, int, float, complex, tuple, bytes, frozenset)
"""What a stranger's class may derive from and still count as a value of the base's type."""


class NotPlainError(Exception):
    """A message is invalid."""


class Writer:
    """Writes one message's values; `shared` fills with its containers."""

    def __init__(self, refer: Callable[[Any], list[Any]]) -> None:
        self._refer = refer
        self.shared: list[Any] = []

    def write(self, value: Any) -> Any:
        """Return the value as JSON has it."""
        kind = type(value)
        if kind in _SELF:
            return value
        if kind is int:
            return _int(value)
        if kind in _FIXED:
            return [_FIXED[kind], [self.write(one) for one in value]]
        if kind in _LISTED or kind in _KEYED or kind in {bytearray, deque}:
            self.shared.append(value)
            return self.contents(value)
        if kind in _PARTS:
            tag, parts, _ = _PARTS[kind]
            return [tag, *parts(value)]
        if kind in {type(...), type(NotImplemented)}:
            return ["single", repr(value)]
        if isinstance(value, type) and vars(builtins).get(value.__name__, ...) is value:
            return ["builtin", value.__name__]
        if isinstance(value, BaseException) and vars(builtins).get(kind.__name__) is kind:
            return ["exception", kind.__name__, [self.write(one) for one in value.args]]
        return self._refer(value)

    def contents(self, value: Any) -> list[Any]:
        """Return a container of plain type as JSON has it, without sharing it."""
        kind = type(value)
        if kind in _KEYED:
            return [_KEYED[kind], [[self.write(key), self.write(one)] for key, one in value.items()]]
        if kind is bytearray:
            return ["bytearray", value.decode("latin-1")]
        if kind is deque:
            return ["deque", value.maxlen, [self.write(one) for one in value]]
        return [_LISTED[kind], [self.write(one) for one in value]]


class Reader:
    """Reads one message's values; `shared` fills with its containers."""

    def __init__(self, resolve: Callable[[list[Any], "Reader"], Any]) -> None:
        self._resolve = resolve
        self.shared: list[Any] = []

    def read(self, raw: Any) -> Any:
        """Return the value that the other side wrote.

        Raises:
            NotPlainError: it wrote none.
        """
        if type(raw) is not list:
            if type(raw) is dict:
                raise NotPlainError("an object")
            return raw
        if not raw or type(raw[0]) is not str:
            raise NotPlainError("a list without a tag")
        tag, *rest = raw
        if tag in _EMPTY:
            return self._fill(_EMPTY[tag](), rest)
        if tag == "deque":
            return self._fill(deque(maxlen=rest[0]), rest)
        if tag in _READ_PARTS:
            return _READ_PARTS[tag](*rest)
        return self._read_more(tag, rest, raw)

    def _read_more(self, tag: str, rest: list[Any], raw: list[Any]) -> Any:
        match tag:
            case "tuple":
                return tuple(map(self.read, rest[0]))
            case "frozenset":
                return frozenset(map(self.read, rest[0]))
            case "int":
                return _read_int(raw)
            case "single":
                return _SINGLE[rest[0]]
            case "builtin":
                return _builtin(rest[0])
            case "exception":
                return _builtin(rest[0], BaseException)(*map(self.read, rest[1]))
            case _:
                return self._resolve(raw, self)

    def _fill(self, empty: Any, rest: list[Any]) -> Any:
        self.shared.append(empty)
        if isinstance(empty, dict):
            for key, value in rest[0]:
                empty[self.read(key)] = self.read(value)
        elif isinstance(empty, bytearray):
            empty += rest[0].encode("latin-1")
        else:
            add = empty.add if isinstance(empty, set) else empty.append
            for one in rest[-1]:
                add(self.read(one))
        return empty


def _builtin(name: Any, base: type = object) -> type:
    kind = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise NotPlainError("no such built-in class")
    return kind


def snapshot(value: Any) -> Any:
    """Return a snapshot of a container's content, for `changed`."""
    if isinstance(value, dict):
        return [(id(key), id(one)) for key, one in value.items()], list(value.items())
    if isinstance(value, bytearray):
        return bytes(value), None
    return [id(one) for one in value], list(value)


def changed(value: Any, before: Any) -> bool:
    """Return whether the container's content differs from `before`."""
    return bool(snapshot(value)[0] != before[0])


def replace(value: Any, by: Any) -> None:
    """Replace a container's contents."""
    if isinstance(value, dict | set):
        value.clear()
        value.update(by)
    elif isinstance(value, deque):
        value.clear()
        value.extend(by)
    else:
        value[:] = by


def _int(value: int) -> Any:
    return value if -_SMALL < value < _SMALL else ["int", hex(value)]


def _read_int(raw: Any) -> int:
    return int(raw[1], 16) if type(raw) is list else raw
