"""Local classes for the other side's classes: every use of an instance is sent to the other side.

A class that derives from an immutable type, as a named tuple does, has instances that *are* values of that type: what
is compared is the value that was sent, never what its class says of it. A comparison with plain data therefore never
asks the other side for anything but plain data.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from code_runner.plain import IMMUTABLE


def _names(text: str) -> list[str]:
    return [f"__{word}__" for word in text.split()]


_MATH: Final = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
_COMPARED: Final = frozenset(_names("eq ne lt le gt ge"))
SPECIALS: Final = _COMPARED.union(
    *(_names(side + _MATH.replace(" ", f" {side}")) for side in ("", "r", "i")),
    _names("neg pos abs invert bool int float complex index str repr bytes format"),
    _names("call iter next reversed len contains getitem setitem delitem hash enter exit fspath"),
)
_OF_A_VALUE: Final = _COMPARED.union(_names("hash contains len iter getitem"))
_REACHED: Final = frozenset(_names("name qualname module wrapped members all version annotations cause code"))
_HANDLE: Final = "_sssa_handle"
_OWNER: Final = "_sssa_owner"


class Other(Protocol):
    """The side that the objects are on, as `peer.py` reaches it."""

    strict: bool

    def ask(self, operation: str, handle: int, *operands: Any) -> Any:
        """Return the result of the operation on the other side."""


class Description(NamedTuple):
    """Description of a mirrored class: its special methods, and whether its objects are hashable."""

    name: str
    bases: list[type]
    specials: list[str]
    hashes: bool


class MethodName(NamedTuple):
    """Placeholder for a method of the object that was asked for it."""

    name: str


class RemoteType(type):
    """The class of mirrored classes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance on the other side."""
        if _HANDLE not in cls.__dict__:
            raise TypeError("a class of the solution cannot be derived from: it is in another process")
        return owner_of(cls).ask("call", handle_of(cls), args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        return _get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        owner_of(cls).ask("set", handle_of(cls), name, value)

    def __bool__(cls) -> bool:
        return True

    def __iter__(cls) -> Any:
        return owner_of(cls).ask("special", handle_of(cls), "__iter__", ())

    def __len__(cls) -> Any:
        return owner_of(cls).ask("special", handle_of(cls), "__len__", ())

    def __contains__(cls, item: Any) -> Any:
        return owner_of(cls).ask("special", handle_of(cls), "__contains__", (item,))

    def __getitem__(cls, key: Any) -> Any:
        return owner_of(cls).ask("special", handle_of(cls), "__getitem__", (key,))


class Remote:
    """Methods that every mirrored class has, next to its own special ones."""

    def __getattr__(self, name: str) -> Any:
        return _get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        owner_of(self).ask("set", handle_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        owner_of(self).ask("delete", handle_of(self), name)

    def __dir__(self) -> Any:
        return owner_of(self).ask("dir", handle_of(self))

    def __copy__(self) -> Any:
        return owner_of(self).ask("copy", handle_of(self), False)

    def __deepcopy__(self, memo: Any) -> Any:
        return owner_of(self).ask("copy", handle_of(self), True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the solution cannot be pickled: it is in another process")


class Method:
    """A method of an object on the other side."""

    def __init__(self, of: Any, name: str) -> None:
        self.__self__, self.__name__ = of, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return owner_of(self.__self__).ask("invoke", handle_of(self.__self__), self.__name__, args, kwargs)


def mirrored(owner: Other, handle: int, described: Description) -> type:
    """Return a local class for one of the other side's."""
    namespace: dict[str, Any] = {key: value for key, value in vars(Remote).items() if callable(value)}
    value = next((base for base in described.bases if base in IMMUTABLE), None)
    for special in described.specials:
        if special not in SPECIALS or (value is not None and special in _OF_A_VALUE):
            continue
        forward = _compared if owner.strict and special in _COMPARED else _forwarded
        namespace[special] = forward(special)
    if value is None and not described.hashes:
        namespace["__hash__"] = None
    elif "__eq__" in namespace and "__hash__" not in namespace:
        namespace["__hash__"] = object.__hash__
    made: type = type.__new__(
        RemoteType, described.name, tuple(described.bases), {**namespace, _HANDLE: handle, _OWNER: owner}
    )
    return made


def instance(kind: type, handle: int, base: Any) -> Any:
    """Return a local object for one of the other side's.

    Args:
        kind: its mirrored class.
        handle: what the other side knows it by.
        base: its value if the class derives from an immutable type, an exception's arguments.
    """
    made: Any
    if issubclass(kind, BaseException):
        made = kind.__new__(kind, *base)
    elif issubclass(kind, IMMUTABLE):
        make: Any = kind.__new__
        made = make(kind, base)
    else:
        made = object.__new__(kind)
    object.__setattr__(made, _HANDLE, handle)
    return made


def handle_of(mirror: Any) -> int:
    """Return the other side's handle of an object or class; 0 if it is no mirror."""
    of = type if isinstance(mirror, RemoteType) else object
    value: int = of.__getattribute__(mirror, "__dict__").get(_HANDLE, 0)
    return value


def owner_of(mirror: Any) -> Other:
    """Return the side that the mirror's original is on."""
    kind = mirror if isinstance(mirror, RemoteType) else type(mirror)
    owner: Other = type.__getattribute__(kind, _OWNER)
    return owner


def is_mirror(value: Any) -> bool:
    """Return whether the value, an object or a class, is on the other side."""
    return isinstance(value, RemoteType) or isinstance(type(value), RemoteType)


def _get(mirror: Any, name: str) -> Any:
    if name.startswith("__") and name.endswith("__") and name not in _REACHED:
        raise AttributeError(name)
    value = owner_of(mirror).ask("get", handle_of(mirror), name)
    return Method(mirror, value.name) if isinstance(value, MethodName) else value


def _forwarded(special: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if special == "__call__":
            return owner_of(self).ask("call", handle_of(self), args, kwargs)
        return owner_of(self).ask("special", handle_of(self), special, args)

    return method


def _compared(special: str) -> Callable[..., Any]:
    """Ask for the comparison of two objects of the other side; compare with plain data here, by plain data alone."""

    def method(self: Any, other: Any) -> Any:
        if is_mirror(other):
            printed = owner_of(self).ask("special", handle_of(self), special, (other,))
            return printed if isinstance(printed, bool) else NotImplemented
        plain = owner_of(self).ask("plain", handle_of(self))
        return NotImplemented if plain is None else getattr(plain, special)(other)

    return method
