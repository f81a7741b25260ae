"""Names that documents of a round repeat, as short places: what each one costs is what it takes to tell which it is.

A place is a number between two characters that no canonical JSON has, nor any other text of a round.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, overload

from validator.protocol.canonical import sha256_hex

_MARK: Final = "\x01"
_MARK_IN_BYTES: Final = _MARK.encode()
_ADDRESS: Final = re.compile(rb"5[1-9A-HJ-NP-Za-km-z]{47}")  # SS58 with Substrate's prefix
_NAME_IN_BYTES: Final = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{32}|" + _ADDRESS.pattern)
_NAME: Final = re.compile(_NAME_IN_BYTES.pattern.decode())
_SIGNATURE: Final = re.compile(rb'("signature":{"crypto":"[^"]*","hotkey":"[^"]*"),"value":"[^"]*"}')


def addresses(document: bytes) -> Sequence[str]:
    """Return every address that a document has, sorted: the same in every round of the same miners."""
    return sorted({found.decode() for found in _ADDRESS.findall(document)})


def digests(document: bytes) -> tuple[str, str]:
    """Return by what others name a signed document: its digest, and that of what is signed of it."""
    return sha256_hex(document), sha256_hex(_SIGNATURE.sub(rb"\1}", document, count=1))


class Names:
    """Names with their places.

    Args:
        names: task ids, addresses and digests; others are never looked for.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: Mapping[str, str] = {str(place): name for place, name in enumerate(names)}
        self._alone: Mapping[str, str] = {f"{_MARK}{place}{_MARK}": name for place, name in self._names.items()}

    @cached_property
    def _names_in_bytes(self) -> Mapping[bytes, bytes]:
        return {place.encode(): name.encode() for place, name in self._names.items()}

    @cached_property
    def _places(self) -> Mapping[str, str]:
        return {name: place for place, name in self._alone.items()}

    @cached_property
    def _places_in_bytes(self) -> Mapping[bytes, bytes]:
        return {name.encode(): place.encode() for name, place in self._places.items()}

    def without(self, value: Any) -> Any:
        """Return text or bytes with places in place of names; another value as it is."""
        if isinstance(value, bytes):
            return _NAME_IN_BYTES.sub(lambda found: self._places_in_bytes.get(found[0], found[0]), value)
        if isinstance(value, str):
            return _NAME.sub(lambda found: self._places.get(found[0], found[0]), value)
        return value

    def within(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return what `without` was given for each of a column's values.

        Raises:
            LookupError: there is no such name.
            ValueError: a place has no end.
        """
        kinds = {*map(type, values)}
        if kinds == {str}:  # nearly all of them are a name and nothing else: no call for each
            values = [*map(self._alone.get, values, values)]
            if _MARK not in "".join(values):
                return values
        return [*map(self._within, values)] if kinds & {str, bytes} else values

    def _within(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return _put_back(value, _MARK_IN_BYTES, self._names_in_bytes) if _MARK_IN_BYTES in value else value
        return _put_back(value, _MARK, self._names) if isinstance(value, str) and _MARK in value else value


@overload
def _put_back(value: str, mark: str, names: Mapping[str, str]) -> str: ...


@overload
def _put_back(value: bytes, mark: bytes, names: Mapping[bytes, bytes]) -> bytes: ...


def _put_back(value: Any, mark: Any, names: Mapping[Any, Any]) -> Any:
    parts = value.split(mark)
    if len(parts) % 2 == 0:
        raise ValueError("a place without an end")
    parts[1::2] = [names[part] for part in parts[1::2]]
    return mark[:0].join(parts)
