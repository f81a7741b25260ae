"""The form of a folded round: rows by table, a column after the other, as MessagePack.

Documents are in it as they are, beside each other, so that what one repeats of another costs next to nothing. A digest
that follows from a document beside it is not stored: attestations and runs have none, and an answer names them by their
place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
_MARK: Final = "\x01"  # begins what stands for a digest; no canonical JSON has that character
_PLACE: Final = re.compile(f"{_MARK}([0-9]+)")
_PLACE_IN_BYTES: Final = re.compile(_PLACE.pattern.encode())

Text = str | bytes | None
Rows = Sequence[Mapping[str, Any]]
Columns = dict[str, Sequence[Any]]
"""Of one table: the values of each column by its name, all as many as there are rows."""


class Folded(NamedTuple):
    """What a record has of a round, by table name; documents unpacked."""

    tables: Mapping[str, Columns]

    def of(self, table: Table) -> Columns:
        """Return a table's columns, none where it has no rows."""
        return self.tables.get(table.name, {})

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of each table."""
        return {
            name: [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
            for name, columns in self.tables.items()
        }


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
        rows: of every table above, by its name, as `Folded.rows` has them; in the order in which they are found again.
    """
    places = {sha256: f"{_MARK}{place}" for place, sha256 in enumerate(_digests(rows))}
    tables = tuple(_columns(name, found, places) for name, found in rows.items() if found)
    return _ENCODER.encode(_Record(1, tables))


def unfolded(record: bytes) -> Folded:
    """Return what was folded.

    Raises:
        DamagedError: it was something else.
    """
    try:
        found = _DECODER.decode(record)
        tables = {one.table: _whole(one) for one in found.tables}
        digests: list[str] = []
        for table in NAMED:
            if columns := tables.get(table.name):
                columns["sha256"] = [sha256_hex(document) for document in columns["document"]]
                for named in zip(columns["sha256"], map(_signed, columns["document"]), strict=True):
                    digests += named
        for table_name, names in _NAMING.items():
            if columns := tables.get(table_name, {}):
                columns |= {name: [_with_digests(value, digests) for value in columns[name]] for name in names}
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"a folded round cannot be read: {printable(str(error))}") from None
    return Folded(tables)


def _whole(found: "_Columns") -> Columns:
    if len({len(values) for values in found.values}) != 1:
        raise ValueError(f"columns of {found.table} are of different lengths")
    return dict(zip(found.names, found.values, strict=True))


def _digests(rows: Mapping[str, Rows]) -> Iterator[str]:
    """Yield what others name documents by: their digests, and those of what is signed of them."""
    for table in NAMED:
        for row in rows.get(table.name, ()):
            yield row["sha256"]
            yield _signed(row["document"])


def _signed(document: bytes) -> str:
    return sha256_hex(_SIGNATURE.sub(rb"\1}", document, count=1))


def _columns(name: str, rows: Rows, places: Mapping[str, str]) -> _Columns:
    names = tuple(str(column) for column in rows[0] if column != "sha256")
    values = tuple(tuple(row[column] for row in rows) for column in names)
    values = tuple(
        tuple(_without_digests(value, places) for value in found) if column in _NAMING.get(name, ()) else found
        for column, found in zip(names, values, strict=True)
    )
    return _Columns(str(name), names, values)


def _without_digests(value: Text, places: Mapping[str, str]) -> Text:
    if isinstance(value, bytes):
        return _DIGEST.sub(lambda found: places.get(found[0], found[0]), value.decode()).encode()
    return None if value is None else _DIGEST.sub(lambda found: places.get(found[0], found[0]), value)


def _with_digests(value: Text, digests: Sequence[str]) -> Text:
    if isinstance(value, bytes):
        return _PLACE_IN_BYTES.sub(lambda found: digests[int(found[1])].encode(), value)
    return None if value is None else _PLACE.sub(lambda found: digests[int(found[1])], value)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Record)
