"""Values of a verification as bytes, and back: plain data and the program's own classes, nothing that runs."""

import dataclasses
import sys
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import UNSET

from validator.protocol.errors import ValidatorError
from validator.scoring import Version, version

_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})
_FACTORIES: Final[tuple[type, ...]] = (tuple, list, dict, set, int, float)
_OURS: Final = "validator."
_SMALL: Final = range(-(2**63), 2**63)  # what the packed form has room for as a number
_SHARED_TEXT: Final = 128  # characters: hotkeys, ids and digests are held once

# What a list in the packed form begins with: one of these, or _CLASSES and more: the number of a class.
_AGAIN, _UNSET, _TUPLE, _LIST, _SET, _FROZENSET, _DICT, _COUNTER, _DEFAULTDICT, _DEQUE, _ARRAY, _VERSION, _LARGE = (
    range(13)
)
_CLASSES: Final = 32


class UnfitError(ValidatorError):
    """These bytes were not made of values that this program has."""


def pack(value: object) -> bytes:
    """Return a value as bytes. What stands in it twice as one object does so afterwards; cycles have no bytes.

    Raises:
        TypeError: something in it is neither data nor of a class of this program.
    """
    packer = _Packer()
    packed = packer.pack(value)
    return msgspec.msgpack.encode([[[_name(kind), *_fields(kind)] for kind in packer.classes], packed])


def unpack(data: bytes) -> Any:
    """Return what was packed. The bytes must be of this program: they are authenticated before they come here.

    Raises:
        UnfitError: they name a class or a field that it does not have.
    """
    try:
        classes, packed = msgspec.msgpack.decode(data)
        unpacker = _Unpacker([_class(name, tuple(fields)) for name, *fields in classes])
        return unpacker.unpack(packed)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnfitError(f"not of this program: {error}") from None


class _Packer:
    """Turns values into lists. `classes` are those that were met, in the order of their numbers."""

    def __init__(self) -> None:
        self.classes: dict[type, int] = {}
        self._seen: dict[int, int] = {}

    def pack(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return [_LARGE, hex(value)] if kind is int and value not in _SMALL else value
        alone = self._alone(kind, value)
        if alone is not None:
            return alone
        if id(value) in self._seen:
            return [_AGAIN, self._seen[id(value)]]
        packed = self._inside(kind, value)
        self._seen[id(value)] = len(self._seen)
        return packed

    def _alone(self, kind: type, value: Any) -> list[Any] | None:
        """Return what never changes in place, so that nobody can tell one object from two that are equal."""
        if value is UNSET:
            return [_UNSET]
        if isinstance(value, Version):
            return [_VERSION, value.name]
        if isinstance(value, Enum):
            return [self._number(kind), value.value]
        if isinstance(value, tuple):
            return [_TUPLE if kind is tuple else self._number(kind), *map(self.pack, value)]
        return None

    def _inside(self, kind: type, value: Any) -> list[Any]:
        if kind in _ITERATED:
            return [_ITERATED[kind], *map(self.pack, value)]
        if kind is dict or kind is Counter:
            return [_DICT if kind is dict else _COUNTER, *self._pairs(value)]
        if kind is defaultdict:
            return [_DEFAULTDICT, _FACTORIES.index(value.default_factory), *self._pairs(value)]
        if kind is deque:
            return [_DEQUE, value.maxlen, *map(self.pack, value)]
        if kind is array:
            return [_ARRAY, value.typecode, value.tobytes()]
        return [self._number(kind), *(self.pack(getattr(value, name)) for name in _fields(kind))]

    def _pairs(self, value: Mapping[Any, Any]) -> Iterator[Any]:
        for key, item in value.items():
            yield self.pack(key)
            yield self.pack(item)

    def _number(self, kind: type) -> int:
        if kind not in self.classes:
            _class(_name(kind), _fields(kind))
        return _CLASSES + self.classes.setdefault(kind, len(self.classes))


_ITERATED: Final[Mapping[type, int]] = {list: _LIST, set: _SET, frozenset: _FROZENSET}


class _Unpacker:
    """Turns the lists back into values; `classes` by their numbers."""

    def __init__(self, classes: list[type]) -> None:
        self._classes = classes
        self._seen: list[Any] = []
        self._texts: dict[str, str] = {}

    def unpack(self, packed: Any) -> Any:
        if type(packed) is not list:
            shared = type(packed) is str and len(packed) <= _SHARED_TEXT
            return self._texts.setdefault(packed, packed) if shared else packed
        code, *inside = packed
        if code == _AGAIN:
            return self._seen[inside[0]]
        kind = None if code < _CLASSES else self._classes[code - _CLASSES]
        if code in {_UNSET, _VERSION, _TUPLE, _LARGE} or (kind is not None and issubclass(kind, Enum | tuple)):
            return self._alone(code, kind, inside)
        value = self._builtin(code, inside) if kind is None else _made(kind, [self.unpack(each) for each in inside])
        self._seen.append(value)
        return value

    def _alone(self, code: int, kind: type | None, inside: list[Any]) -> Any:
        if code == _UNSET:
            return UNSET
        if code == _VERSION:
            return version(inside[0])
        if code == _LARGE:
            return int(inside[0], 16)
        if kind is not None and issubclass(kind, Enum):
            return kind(inside[0])
        values = tuple(map(self.unpack, inside))
        return values if kind is None else kind(*values)

    def _builtin(self, code: int, inside: list[Any]) -> Any:
        if code == _ARRAY:
            return array(inside[0], inside[1])
        if code == _DEQUE:
            return deque(map(self.unpack, inside[1:]), maxlen=inside[0])
        if code == _DEFAULTDICT:
            return defaultdict(_FACTORIES[inside[0]], self._paired(inside[1:]))
        return _BUILT[code](self._paired(inside) if code in {_DICT, _COUNTER} else map(self.unpack, inside))

    def _paired(self, inside: list[Any]) -> dict[Any, Any]:
        each = map(self.unpack, inside)
        return dict(zip(each, each, strict=True))


_BUILT: Final[Mapping[int, Callable[[Any], Any]]] = {
    _LIST: list,
    _SET: set,
    _FROZENSET: frozenset,
    _DICT: dict,
    _COUNTER: Counter,
}


def _made(kind: type, values: list[Any]) -> Any:
    """Return an instance with these fields; what its class does when it is called was done when it was made first."""
    if issubclass(kind, msgspec.Struct):
        return kind(**dict(zip(_fields(kind), values, strict=True)))
    made = object.__new__(kind)
    for name, value in zip(_fields(kind), values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _fields(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    return tuple(getattr(kind, "_fields", ()))


def _class(name: str, fields: tuple[str, ...]) -> type:
    """Return a class of this program, one that is nothing but data.

    Raises:
        TypeError: it is none.
    """
    module, _, qualname = name.partition(":")
    found = getattr(sys.modules.get(module), qualname, None) if module.startswith(_OURS) else None
    if not isinstance(found, type) or not _is_data(found) or _fields(found) != fields:
        raise TypeError(f"{name} is no class of data of this program, or has other fields")
    return found


def _is_data(kind: type) -> bool:
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct | Enum) or named
