"""The form of a folded round: rows by table, a column after the other, as MessagePack.

Documents are in it as they are, beside each other, so that what one repeats of another costs next to nothing. A digest
that follows from a document beside it is not stored: attestations and runs have none, and an answer names them by their
place.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from sqlalchemy import Table

from validator.protocol.canonical import sha256_hex
from validator.protocol.text import printable
from validator.store.errors import DamagedError
from validator.store.tables import dispatches, groups, proofs, reputation_events, rounds, scores, sssas, workflow_runs

# Of these tables a folded round has no rows any more.
LEAVING: Final[Sequence[Table]] = (scores, groups, reputation_events)
# By content, in the order in which answers name them.
NAMED: Final[Sequence[Table]] = (sssas, workflow_runs)
# Of these the rows stay, and these columns are emptied.
EMPTIED: Final[Mapping[Table, Sequence[str]]] = {
    dispatches: (
        "sent_at",
        "received_at",
        "seconds",
        "http_status",
        "detail",
        "body_bytes",
        "raw",
        "stalled",
        "sssa_sha256",
        "submission",
    ),
    rounds: ("outcome",),
    proofs: ("document", "checksum", "digest"),
}
# In a record: what repeats comes behind what it repeats.
ORDER: Final = (*NAMED, dispatches, rounds, *LEAVING, proofs)
DOCUMENTS: Final = ("input", "outcome", "document")  # columns that hold packed documents
MOST: Final = 32 * 1024 * 1024  # bytes of a record before it is compressed: a larger round stays as it is
LEVEL: Final = 17  # away from the event loop, once a round
# Columns that name attestations and runs by their digests.
_NAMING: Final[Mapping[str, Sequence[str]]] = {
    dispatches.name: ("sssa_sha256", "submission"),
    proofs.name: ("document",),
}
_SIGNATURE: Final = re.compile(rb'("signature":{"crypto":"[^"]*","hotkey":"[^"]*"),"value":"[^"]*"}')
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_PLACE: Final = re.compile("\x01([0-9]+)")  # what stands for a digest; no canonical JSON has that character

Text = str | bytes | None
Rows = Sequence[Mapping[str, Any]]


class FoldedRows(NamedTuple):
    """What a record has of a round; rows by table name, their columns by name, documents unpacked."""

    rows: Mapping[str, list[dict[str, Any]]]

    def of(self, table: Table) -> list[dict[str, Any]]:
        """Return a table's rows, none where it has none."""
        return self.rows.get(table.name, [])


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    table: str
    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


class _Record(msgspec.Struct, frozen=True, array_like=True):
    version: Literal[1]
    tables: tuple[_Columns, ...]


def folded(rows: Mapping[str, Rows]) -> bytes:
    """Return the record of a round.

    Args:
        rows: of every table above, by its name, as `FoldedRows` has them; in the order in which they are found again.
    """
    places = {sha256: f"\x01{place}" for place, sha256 in enumerate(_digests(rows))}
    tables = tuple(_columns(name, found, places) for name, found in rows.items() if found)
    return _ENCODER.encode(_Record(1, tables))


def unfolded(record: bytes) -> FoldedRows:
    """Return what was folded.

    Raises:
        DamagedError: it was something else.
    """
    try:
        found = _DECODER.decode(record)
        rows = {
            one.table: [dict(zip(one.names, values, strict=True)) for values in zip(*one.values, strict=True)]
            for one in found.tables
        }
        for table in NAMED:
            for row in rows.get(table.name, ()):
                row["sha256"] = sha256_hex(row["document"])
        digests = [*_digests(rows)]
        for table_name, names in _NAMING.items():
            for row in rows.get(table_name, ()):
                row |= {name: _with_digests(row[name], digests) for name in names}
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"a folded round cannot be read: {printable(str(error))}") from None
    return FoldedRows(rows)


def _digests(rows: Mapping[str, Rows]) -> Iterator[str]:
    """Yield what others name documents by: their digests, and those of what is signed of them."""
    for table in NAMED:
        for row in rows.get(table.name, ()):
            yield row["sha256"]
            yield sha256_hex(_SIGNATURE.sub(rb"\1}", row["document"], count=1))


def _columns(name: str, rows: Rows, places: Mapping[str, str]) -> _Columns:
    names = tuple(str(column) for column in rows[0] if column != "sha256")
    values = tuple(tuple(row[column] for row in rows) for column in names)
    values = tuple(
        tuple(_without_digests(value, places) for value in found) if column in _NAMING.get(name, ()) else found
        for column, found in zip(names, values, strict=True)
    )
    return _Columns(str(name), names, values)


def _without_digests(value: Text, places: Mapping[str, str]) -> Text:
    return _each(value, _DIGEST, lambda found: places.get(found[0], found[0]))


def _with_digests(value: Text, digests: Sequence[str]) -> Text:
    return _each(value, _PLACE, lambda found: digests[int(found[1])])


def _each(value: Text, pattern: re.Pattern[str], other: Callable[[re.Match[str]], str]) -> Text:
    match value:
        case None:
            return None
        case bytes():
            return pattern.sub(other, value.decode()).encode()
        case _:
            return pattern.sub(other, value)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Record)
