"""A store of an earlier version, enlarged in place: the rounds that it holds stand again and again behind them.

What refers to what stays whole, every document has the digest that names it, and the log goes on: each copy has a
receipt of its own, linked and signed with the local network's key. Copies repeat the numbers of the rounds that they
are of, so that they cannot be computed again; those that were there before can.
"""

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, cast, func, insert, literal, select
from sqlalchemy.sql import ColumnElement

from validator.protocol.receipt import ProofNote, Receipt, RoundEnd, line
from validator.protocol.signatures import Signer

# A row of each belongs to one round; parents come before their children.
_COPIED: Final = (
    "rounds",
    "tasks",
    "groups",
    "dispatches",
    "answers",
    "scores",
    "agreements",
    "reputation_events",
    "window_entries",
    "proofs",
)
_KEPT_OF_TEN: Final = 1  # answers: of so many tenths of the rounds, the newest; retention takes the others
_AT_A_TIME: Final = 2_000


def enlarge(connection: Connection, rounds: int, signer: Signer) -> None:
    """Bring a store to about so many rounds.

    Args:
        connection: in a transaction, of a store with tables of any version.
        rounds: how many.
        signer: whose log it is.
    """
    tables = _reflected(connection)
    there: int = connection.scalar(select(func.count()).select_from(tables["rounds"])) or 0
    copies = max(1, rounds // there - 1)
    numbers, renamed = _helpers(connection, copies)
    for batch in _batches(_attestations(connection, tables["sssas"], copies)):
        connection.execute(insert(tables["sssas"]), [{"sha256": new, "document": data} for _, _, new, data in batch])
        connection.execute(insert(renamed), [{"old": old, "i": i, "new": new} for old, i, new, _ in batch])
    for name in _COPIED:
        _copy(connection, tables[name], numbers, renamed, there=there, copies=copies)
    for batch in _batches(_receipts(connection, tables["receipts"], copies, there, signer)):
        connection.execute(insert(tables["receipts"]), batch)


def _reflected(connection: Connection) -> dict[str, Table]:
    metadata = MetaData()
    metadata.reflect(connection)
    return dict(metadata.tables)


def _helpers(connection: Connection, copies: int) -> tuple[Table, Table]:
    """Return temporary tables: the copies' numbers, and what an attestation is called in each of them."""
    metadata = MetaData()
    numbers = Table("rehearsal_numbers", metadata, Column("i", Integer, primary_key=True), prefixes=["TEMPORARY"])
    renamed = Table(
        "rehearsal_renamed",
        metadata,
        Column("old", String, primary_key=True),
        Column("i", Integer, primary_key=True),
        Column("new", String, nullable=False),
        prefixes=["TEMPORARY"],
    )
    metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(numbers), [{"i": i} for i in range(1, copies + 1)])
    return numbers, renamed


def _attestations(connection: Connection, table: Table, copies: int) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield (digest, copy, digest in it, packed bytes in it): as many different documents as so many rounds bring."""
    for row in connection.execute(select(table)).all():
        document = zlib.decompress(row.document)
        for i in range(1, copies + 1):
            other = document + b" " * i
            yield row.sha256, i, hashlib.sha256(other).hexdigest(), zlib.compress(other, 1)


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(rows, _AT_A_TIME)):
        yield batch


def _copy(  # noqa: PLR0913 - what one statement needs
    connection: Connection, table: Table, numbers: Table, renamed: Table, *, there: int, copies: int
) -> None:
    i = numbers.c.i
    source = table.join(numbers, i > (copies * (10 - _KEPT_OF_TEN) // 10 if table.name == "answers" else 0))
    if "sssa_sha256" in table.c:
        source = source.outerjoin(renamed, (renamed.c.old == table.c.sssa_sha256) & (renamed.c.i == i))
    last: int = 0
    if "sequence" in table.c:
        last = (connection.scalar(select(func.max(table.c.sequence))) or 0) + 1

    def value(column: Column[Any]) -> ColumnElement[Any]:
        match column.name:
            case "round_id":
                return column + i * there
            case "task_id":
                return column.concat(literal("-").concat(cast(i, String)))
            case "sequence":
                return column + i * last
            case "sssa_sha256":
                return renamed.c.new
            case _:
                return column

    values = [value(column) for column in table.columns]
    connection.execute(insert(table).from_select(list(table.columns.keys()), select(*values).select_from(source)))


def _receipts(
    connection: Connection, table: Table, copies: int, there: int, signer: Signer
) -> Iterator[dict[str, Any]]:
    rows = connection.execute(select(table).order_by(table.c.sequence)).all()
    models = [(row.round_id, _receipt(row.line)) for row in rows if row.round_id is not None]
    sequence, previous = rows[-1].sequence, rows[-1].sha256
    for i in range(1, copies + 1):
        for round_id, model in models:
            assert model.round is not None
            sequence += 1
            copied = msgspec.structs.replace(
                model,
                sequence=sequence,
                previous=previous,
                round=_ended(model.round, round_id + i * there, i),
                salts=(),
            )
            data = line("receipt", signer.sign_document(copied))
            previous = hashlib.sha256(data).hexdigest()
            yield {
                "sequence": sequence,
                "kind": "round",
                "round_id": round_id + i * there,
                "sha256": previous,
                "line": zlib.compress(data),
            }


def _receipt(packed: bytes) -> Receipt:
    return msgspec.json.decode(zlib.decompress(packed), type=dict[str, Receipt])["receipt"]


def _ended(end: RoundEnd, round_id: int, i: int) -> RoundEnd:
    notes: Sequence[ProofNote] = [
        msgspec.structs.replace(note, task_id=f"{note.task_id}-{i}") for note in end.lines.proofs
    ]
    return msgspec.structs.replace(
        end, round_id=str(round_id), lines=msgspec.structs.replace(end.lines, proofs=tuple(notes))
    )
