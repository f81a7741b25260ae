"""One side of the conversation between judge and host: objects that it gave away, mirrors of what it got."""

import asyncio
import copy
import inspect
import operator
import threading
import types
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from code_runner import mirror
from code_runner.plain import IMMUTABLE, MUTABLE, Reader, Writer, changed, replace, snapshot
from code_runner.wire import Wire, WireError

_FUNCTIONS: Final = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, partial)
_OF_CLASSES: Final[dict[str, Callable[..., Any]]] = {
    "__iter__": iter,
    "__len__": len,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
}
_EXACT: Final[dict[type, Callable[[Any], Any]]] = {
    str: lambda v: str.__getitem__(v, slice(None)),
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    tuple: lambda v: tuple.__getitem__(v, slice(None)),
    bytes: lambda v: bytes.__getitem__(v, slice(None)),
    frozenset: lambda v: frozenset.__or__(v, frozenset()),
}
_NAME: Final = 100  # characters of a name


class Peer:
    """A side that asks the other for operations on its objects, and does what the other asks meanwhile.

    Args:
        wire: to the other side.
        strict: whether the other side is a stranger's: comparisons with plain data are made here.
    """

    def __init__(self, wire: Wire, *, strict: bool) -> None:
        self.strict = strict
        self._wire = wire
        self._given: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._got: dict[int, Any] = {}
        self._functions: dict[int, int] = {}  # id of a function that stands for one of the other side: its handle
        self._function_class = mirror.mirrored(self, 0, mirror.Description("function", [], ["__call__"], hashes=True))
        self._turn = threading.RLock()

    def ask(self, operation: str, handle: int, *operands: Any) -> Any:
        """Return the result of an operation on one of the other side's objects, or raise what it raised there.

        Raises:
            WireError: the other side is gone, or answers nonsense.
        """
        with self._turn:
            writer = Writer(self._refer)
            self._wire.send(["ask", operation, handle, [writer.write(one) for one in operands]])
            while True:
                message = self._wire.receive()
                match message:
                    case ["ask", str(their_operation), int(their_handle), list(their_operands)]:
                        self.answer(their_operation, their_handle, their_operands)
                    case ["printed", str(text)]:
                        self.printed(text)
                    case ["return" | "raise" as how, value, list(changes)]:
                        return self._end(how, value, changes, writer.shared)
                    case _:
                        raise WireError("no message of ours")

    def serve(self) -> None:
        """Do what the other side asks until it is gone."""
        while True:
            try:
                message = self._wire.receive()
            except WireError:
                return
            self.answer(*message[1:])

    def answer(self, operation: str, handle: int, operands: list[Any]) -> None:
        """Do what the other side asks, and send the result."""
        reader = Reader(self._resolve)
        before: list[Any] = []
        try:
            operands = [reader.read(one) for one in operands]
            before = [snapshot(one) for one in reader.shared]
            how, value = "return", self._do(operation, self._given[handle], *operands)
        except WireError:
            raise
        except BaseException as error:
            how, value = "raise", error.with_traceback(None)  # or its frames would keep what they hold
        method = operation == "get" and how == "return" and getattr(value, "__self__", None) is self._given[handle]
        # what could not be read whole has more containers than snapshots
        pairs = [(i, one, was) for i, (one, was) in enumerate(zip(reader.shared, before, strict=False))]
        try:
            writer = Writer(self._refer)
            raw = ["method", operands[0]] if method else writer.write(value)
            changes = [[i, writer.contents(one)] for i, one, was in pairs if changed(one, was)]
        except Exception as error:
            how, raw, changes = "raise", ["exception", "TypeError", [f"cannot be sent: {type(error).__name__}"]], []
        self._wire.send([how, raw, changes])

    def give(self, value: Any) -> int:
        """Return the handle that the other side may use the object by."""
        handle = self._handles.get(id(value))
        if handle is None:
            handle = len(self._given) + 1
            self._given[handle], self._handles[id(value)] = value, handle
        return handle

    def printed(self, text: str) -> None:
        """Take what the other side printed."""

    def permit(self, value: Any, operation: str, name: str) -> None:
        """Raise unless the other side may do this to the object."""

    def _end(self, how: str, value: Any, changes: list[Any], shared: list[Any]) -> Any:
        reader = Reader(self._resolve)
        try:
            read = reader.read(value)
            for index, contents in changes:
                replace(shared[index], Reader(self._resolve).read(contents))
            if how == "raise" and not isinstance(read, BaseException):
                raise WireError("what is raised is no exception")
        except WireError:
            raise
        except Exception as error:
            raise WireError(f"nonsense: {type(error).__name__}") from None
        if how == "raise":
            raise read
        return read

    def _do(self, operation: str, value: Any, *rest: Any) -> Any:
        self.permit(value, operation, rest[0] if rest and isinstance(rest[0], str) else "")
        return _OPERATIONS[operation](value, *rest)

    def _refer(self, value: Any) -> list[Any]:
        if mirror.is_mirror(value):
            return ["back", mirror.handle_of(value)]
        if isinstance(value, mirror.Method):
            return ["back method", mirror.handle_of(value.__self__), value.__name__]
        if id(value) in self._functions:
            return ["back", self._functions[id(value)]]
        if isinstance(value, type):
            return self._class(value)
        if inspect.iscoroutine(value):
            return ["coroutine", self.give(value)]
        if isinstance(value, _FUNCTIONS):
            return ["function", self.give(value), str(getattr(value, "__name__", "function"))]
        base = None
        if isinstance(value, BaseException):
            base = list(value.args)
        else:
            for kind, exact in _EXACT.items():
                if isinstance(value, kind):
                    base = exact(value)
        inner = Writer(self._refer)  # its containers are copies, and not shared
        return ["object", self.give(value), self._class(type(value)), inner.write(base)]

    def _class(self, kind: type) -> list[Any]:
        handle = self.give(kind)
        bases = []
        for base in kind.__bases__:
            if base in IMMUTABLE or (issubclass(base, BaseException) and base.__module__ == "builtins"):
                bases.append(["builtin", base.__name__])
            elif base.__module__ != "builtins":
                bases.append(self._class(base))
        specials = [name for name in sorted(mirror.SPECIALS) if _own(kind, name)]
        return ["class", handle, kind.__name__, bases, specials, kind.__hash__ is not None]

    def _resolve(self, raw: list[Any], reader: Reader) -> Any:
        match raw:
            case ["back", int(handle)]:
                return self._given[handle]
            case ["back method", int(handle), str(name)]:
                self.permit(self._given[handle], "get", name)
                return getattr(self._given[handle], name)
            case ["coroutine", int(handle)]:
                return self._coroutine(handle)
            case ["method", str(name)]:
                return mirror.MethodName(name)
            case [str(), int(handle), *_]:
                if handle not in self._got:
                    self._got[handle] = self._mirrored(raw, reader)
                return self._got[handle]
        raise WireError("no value of ours")

    def _mirrored(self, raw: list[Any], reader: Reader) -> Any:
        match raw:
            case ["class", int(handle), str(name), list(bases), list(specials), bool(hashes)]:
                described = mirror.Description(name[:_NAME], _kinds(map(reader.read, bases)), specials, hashes)
                return mirror.mirrored(self, handle, described)
            case ["object", int(handle), list(kind), base]:
                return mirror.instance(reader.read(kind), handle, Reader(self._resolve).read(base))
            case ["function", int(handle), str(name)]:
                return self._function(handle, name[:_NAME])
        raise WireError("no value of ours")

    def _function(self, handle: int, name: str) -> Any:
        if self.strict:
            return mirror.instance(self._function_class, handle, None)

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return self.ask("call", handle, args, kwargs)

        stand_in.__name__ = stand_in.__qualname__ = name
        self._functions[id(stand_in)] = handle
        return stand_in

    async def _coroutine(self, handle: int) -> Any:
        return self.ask("await", handle)


def _kinds(bases: Iterable[Any]) -> list[type]:
    """Return those that a mirrored class may derive from."""
    kinds = [one for one in bases if isinstance(one, type)]
    return [one for one in kinds if mirror.is_mirror(one) or one in IMMUTABLE or issubclass(one, BaseException)]


def _get(value: Any, name: str) -> Any:
    if name == "__all__" and isinstance(value, types.ModuleType) and not hasattr(value, name):
        return [public for public in vars(value) if not public.startswith("_")]
    return getattr(value, name)


def _plain(value: Any) -> Any:
    """Return a list, dict or the like of what an object of a derived class holds; None of every other object."""
    return next((kind(value) for kind in MUTABLE if isinstance(value, kind)), None)


def _special(value: Any, name: str, args: tuple[Any, ...]) -> Any:
    if isinstance(value, type):
        return _OF_CLASSES[name](value, *args)
    if name not in mirror.SPECIALS:
        raise AttributeError(name)
    return getattr(type(value), name)(value, *args)


def _own(kind: type, name: str) -> bool:
    """Return whether the class defines the special method itself rather than `object`; text and name always count."""
    if name in {"__str__", "__repr__", "__format__"}:
        return True
    attribute = getattr(kind, name, None)
    return attribute is not None and attribute is not getattr(object, name, None)


def _awaited(coroutine: Any) -> Any:
    """Return the result of a coroutine, run in its own loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, coroutine).result()


_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "get": _get,
    "set": setattr,
    "delete": delattr,
    "call": lambda value, args, kwargs: value(*args, **kwargs),
    "invoke": lambda value, name, args, kwargs: getattr(value, name)(*args, **kwargs),
    "special": _special,
    "plain": _plain,
    "await": _awaited,
    "dir": dir,
    "copy": lambda value, deep: copy.deepcopy(value) if deep else copy.copy(value),
}
