"""The form of a folded round: rows by table, a column after the other, as MessagePack.

Documents are in it as they are, beside each other, so that what one repeats of another costs next to nothing; task ids
and hotkeys are named by their place in a list (`names.py`). A digest that follows from a document beside it is not
stored: attestations and runs have none, and an answer names them by their place. A number stands as text, as the
documents have it.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

import msgspec
from sqlalchemy import Table

from validator.protocol.text import printable
from validator.store.columns import Real
from validator.store.errors import DamagedError
from validator.store.folding.names import Names, digests
from validator.store.tables import dispatches, groups, proofs, reputation_events, rounds, scores, sssas, workflow_runs

# Of these tables a folded round has no rows any more.
LEAVING: Final[Sequence[Table]] = (scores, groups, reputation_events, proofs)
# By content, in the order in which answers name them.
NAMED: Final[Sequence[Table]] = (sssas, workflow_runs)
_NAMED: Final = frozenset(table.name for table in NAMED)
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
}
# In a record: what repeats comes behind what it repeats.
ORDER: Final = (*NAMED, dispatches, rounds, *LEAVING)
DOCUMENTS: Final = ("input", "outcome", "document")  # columns that hold packed documents
MOST: Final = 32 * 1024 * 1024  # bytes of a record before it is compressed; none so large is made
LEVEL: Final = 19  # away from the event loop, once a round
_REALS: Final[Mapping[str, frozenset[str]]] = {
    table.name: frozenset(one.name for one in table.columns if isinstance(one.type, Real)) for table in ORDER
}

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
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


class _Record(msgspec.Struct, frozen=True, array_like=True):
    version: Literal[2]
    tables: tuple[_Columns, ...]
    names: tuple[str, ...] = ()


def folded(rows: Mapping[str, Rows], names: Iterable[str] = ()) -> bytes:
    """Return the record of a round.

    Args:
        rows: of every table above, by its name, as `Folded.rows` has them; in the order in which they are found again.
        names: task ids and hotkeys that may be in them.
    """
    given = tuple(dict.fromkeys(names))
    documents = [row["document"] for table in NAMED for row in rows.get(table.name, ())]
    first, all_names = Names(given), Names((*given, *chain.from_iterable(map(digests, documents))))
    tables = tuple(
        _columns(name, found, first if name in _NAMED else all_names) for name, found in rows.items() if found
    )
    return _ENCODER.encode(_Record(2, tables, given))


def unfolded(record: bytes) -> Folded:
    """Return what was folded.

    Raises:
        DamagedError: it was something else.
    """
    try:
        found = _DECODER.decode(record)
        tables = {one.table: _whole(one) for one in found.tables}
        _name(tables, found.names)
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"a folded round cannot be read: {printable(str(error))}") from None
    return Folded(tables)


def _whole(found: "_Columns") -> Columns:
    if len({len(values) for values in found.values}) != 1:
        raise ValueError(f"columns of {found.table} are of different lengths")
    return dict(zip(found.columns, found.values, strict=True))


def _columns(table: str, rows: Rows, names: Names) -> _Columns:
    columns = tuple(str(column) for column in rows[0] if column != "sha256")
    reals = _REALS[table]
    return _Columns(
        str(table),
        columns,
        tuple(
            tuple(_as_text(row[column]) if column in reals else names.without(row[column]) for row in rows)
            for column in columns
        ),
    )


def _as_text(value: float | None) -> str | None:
    return None if value is None else repr(value)


def _name(tables: Mapping[str, Columns], given: Sequence[str]) -> None:
    """Put names in place of their places, and numbers in place of texts."""
    names = Names(given)
    for table in NAMED:
        if columns := tables.get(table.name):
            columns["document"] = names.within(columns["document"])
    names = Names((*given, *_identified(tables)))
    for table_name in tables.keys() - _NAMED:
        columns, reals = tables[table_name], _REALS[table_name]
        for column, values in columns.items():
            columns[column] = [*map(_as_number, values)] if column in reals else names.within(values)


def _identified(tables: Mapping[str, Columns]) -> list[str]:
    """Give attestations and runs their digests; return by what others name them, in their order."""
    found: list[str] = []
    for table in NAMED:
        if columns := tables.get(table.name):
            both = [digests(document) for document in columns["document"]]
            columns["sha256"] = [sha256 for sha256, _ in both]
            found += chain.from_iterable(both)
    return found


def _as_number(text: str | None) -> float | None:
    return None if text is None else float(text)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Record)
