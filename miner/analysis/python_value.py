"""What is known of a Python value without running anything: labels, the texts it can be, the names it can stand for."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from miner.analysis import python_tables as tables

SECRET: Final = 1  # a variable of the environment that is called like a secret
ENVIRON: Final = 2  # the environment as a whole
FILE: Final = 4  # what a file of keys or credentials holds
FETCHED: Final = 8  # came over a network
DECODED: Final = 16  # was unpacked or deciphered
SOCKET: Final = 32  # an open connection
CLIENT: Final = 64  # an object that speaks to somebody else when its methods are called
COMPUTED: Final = 128  # a name that is looked up by a text
MADE: Final = 256  # a text that was put together
STARTS: Final = 512  # an open file that makes programs start by themselves
CREDENTIAL: Final = 1024  # carries a secret where credentials belong
NUMBERS: Final = 2048  # its text are the codes of characters
CONTENT: Final = SECRET | ENVIRON | FILE | FETCHED | DECODED | CREDENTIAL  # goes where the content goes
KEPT: Final = CONTENT | SOCKET | CLIENT  # goes where the object goes

HOLE: Final = "\0"  # stands in a text for what is not known
_ALTERNATIVES: Final = 4
_MAX_TEXT: Final = 2_048
MAX_ITEMS: Final = 64


class Value(NamedTuple):
    """What an expression may be.

    Attributes:
        labels: bits.
        texts: at most four; `HOLE` stands for unknown parts. Paths are texts, `~` is the home folder.
        symbols: dotted names of modules and what is in them, at most four.
        origin: the literal that the items are of; -1 where several differ.
        items: of a literal container by key or position; a file's path under `open`.
    """

    labels: int = 0
    texts: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    origin: int = 0
    items: "Mapping[object, Value]" = MappingProxyType({})

    @property
    def content(self) -> int:
        """The labels that whatever is made of this value has as well."""
        return self.labels & CONTENT

    def known(self) -> str | None:
        """Return the text if it is known whole, and is one."""
        return self.texts[0] if len(self.texts) == 1 and HOLE not in self.texts[0] else None


NOTHING: Final = Value()


def labelled(labels: int) -> Value:
    """Return a value of which the labels alone are known."""
    return Value(labels) if labels else NOTHING


def texts_of(texts: Iterable[str], labels: int = 0) -> Value:
    """Return a value that is one of the texts."""
    kept = [text[:_MAX_TEXT] for text in texts if text.strip(HOLE) or not text]
    return Value(labels, tuple(dict.fromkeys(kept))[:_ALTERNATIVES])


def symbol(name: str, labels: int = 0) -> Value:
    """Return what a dotted name stands for."""
    return Value(labels, (), (name,))


def joined(one: Value, other: Value) -> Value:
    """Return what is either of two values."""
    if one is other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    items, origin = one.items or other.items, one.origin or other.origin
    if one.origin and other.origin:
        items, origin = (other.items, origin) if one.origin == other.origin else ({}, -1)
    return Value(
        one.labels | other.labels,
        one.texts if one.texts == other.texts else tuple(dict.fromkeys(one.texts + other.texts))[:_ALTERNATIVES],
        one.symbols
        if one.symbols == other.symbols
        else tuple(dict.fromkeys(one.symbols + other.symbols))[:_ALTERNATIVES],
        origin,
        items,
    )


def any_of(values: Iterable[Value]) -> Value:
    """Return what is any of the values."""
    return reduce(joined, values, NOTHING)


def same(one: Value, other: Value) -> bool:
    """Whether nothing new is known of the other."""
    return one[:4] == other[:4]


def container(origin: int, pairs: Iterable[tuple[object, Value]]) -> Value:
    """Return a literal list, tuple, set or dict."""
    items: dict[object, Value] = {}
    labels = 0
    symbols: tuple[str, ...] = ()
    for key, value in pairs:
        labels |= value.labels & (CONTENT | SOCKET)
        if len(symbols) < _ALTERNATIVES and value.symbols:
            symbols = tuple(dict.fromkeys(symbols + value.symbols))[:_ALTERNATIVES]
        if len(items) < MAX_ITEMS:
            items[key] = value._replace(items={}, origin=0) if any(v.items for v in value.items.values()) else value
    return Value(labels, (), symbols, origin, items)


def made(parts: Iterable[Value], put_together: Callable[..., str], labels: int = 0) -> Value:
    """Return a text that a function makes of parts, with their content's labels."""
    all_parts = list(parts)
    for part in all_parts:
        labels |= part.content
    if not any(part.texts for part in all_parts):
        return labelled(labels)
    choices = [spelled(part) or (HOLE,) for part in all_parts]
    results: list[str] = []
    for choice in product(*choices):
        results.append(_safely(put_together, choice))
        if len(results) == _ALTERNATIVES:
            break
    return texts_of(results, labels)


def spelled(value: Value) -> tuple[str, ...]:
    """Return the texts, numbers as they are written."""
    if value.labels & NUMBERS:
        return tuple(str(ord(text)) if len(text) == 1 else HOLE for text in value.texts)
    return value.texts


def _safely(put_together: Callable[..., str], parts: tuple[str, ...]) -> str:
    try:
        return put_together(*parts)[:_MAX_TEXT]
    except (ValueError, LookupError, TypeError, OverflowError, MemoryError):
        return HOLE


class Arguments(NamedTuple):
    """What a call is given."""

    positional: list[Value]
    keywords: dict[str, Value]

    def at(self, position: int, *names: str) -> Value:
        """Return an argument by position or by one of its names."""
        if position < len(self.positional):
            return self.positional[position]
        return next((self.keywords[name] for name in names if name in self.keywords), NOTHING)

    def all(self) -> list[Value]:
        """Return all of them."""
        return [*self.positional, *self.keywords.values()]


def content_of(given: Arguments) -> int:
    """Return the labels of what a call is given; a secret that is given as a credential is one."""
    labels = 0
    for value in given.positional:
        labels |= value.content
    for name, value in given.keywords.items():
        content = value.content
        if name in tables.CREDENTIAL_KEYWORDS and content & SECRET:
            content = content & ~SECRET | CREDENTIAL
        labels |= 0 if name == "env" else content
    return labels


def element_of(value: Value) -> Value:
    """Return what an element of the value is."""
    if value.items and value.origin:
        return joined(any_of(value.items.values()), labelled(value.labels & KEPT))
    return value._replace(labels=value.labels & ~NUMBERS, texts=() if value.labels & NUMBERS else value.texts)
