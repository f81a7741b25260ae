"""Export of tables and records as Parquet files, `validator db export`: every number, and no bytes of anybody's.

Needs the extra `analysis`; reads the store, writes a folder.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, select

from validator.files import new_file, new_folder, why
from validator.protocol.canonical import canonical_bytes
from validator.protocol.errors import ValidatorError
from validator.protocol.round import Components, Emission, GroupOutcome, MemberOutcome, ReputationEvent
from validator.protocol.sssa import Document
from validator.protocol.text import printable
from validator.store import Transaction
from validator.store.columns import Moment, Real
from validator.store.copying import plain
from validator.store.tables import metadata

_ROWS: Final = 20_000  # at a time, and in a row group
_TYPES: Final = (
    (Boolean, pa.bool_()),
    (BigInteger, pa.int64()),
    (Integer, pa.int64()),
    (Real, pa.float64()),
    (Moment, pa.timestamp("us", tz="UTC")),
)
_EMISSION: Final = {"role": "role_factor", "consensus": "consensus_factor"}  # names that the member has as well
_SCORES: Final = {
    **dict.fromkeys(("task_id", "hotkey", "role", "reason", "axes", "workflow"), pa.string()),
    **dict.fromkeys((*Components.__struct_fields__, "consensus", "agreement_with_primaries"), pa.float64()),
    **dict.fromkeys(("agreement_with_auditors", "window_entry"), pa.float64()),
    **{_EMISSION.get(name, name): pa.float64() for name in Emission.__struct_fields__ if name != "axes"},
}
_NUMBERS: Final = {"n_valid": pa.int64(), "threshold": pa.int64(), "mean_risk": pa.float64()}
_RECORDED: Final[dict[str, dict[str, Any]]] = {
    "scores": {"round_id": pa.int64(), **_SCORES},
    "groups": {
        "round_id": pa.int64(),
        **dict.fromkeys(("task_id", "mode", "primaries", "auditors", "promoted", "demoted", "excluded"), pa.string()),
        **{name: _NUMBERS.get(name, pa.string()) for name in GroupOutcome.__struct_fields__},
        "auditor_agreement": pa.float64(),
    },
    "agreements": {
        "round_id": pa.int64(),
        **dict.fromkeys(("hotkey", "skill_type", "reason"), pa.string()),
        **dict.fromkeys(("with_primaries", "with_auditors"), pa.float64()),
        "counted": pa.bool_(),
    },
    "reputation_events": {
        "round_id": pa.int64(),
        **dict.fromkeys(ReputationEvent.__struct_fields__, pa.string()),
        "before": pa.float64(),
        "after": pa.float64(),
    },
}
"""Columns of the files that come from the records of ended rounds, not from a table."""


class ExportError(ValidatorError):
    """Nothing was exported."""


class ExportedTable(NamedTuple):
    """A file that was written: of which table, and how many rows."""

    name: str
    file: Path
    rows: int


def table_names() -> tuple[str, ...]:
    """Return what can be exported, by name: tables, and what only records have."""
    return tuple(sorted({*metadata.tables, *_RECORDED}))


async def export_tables(
    tx: Transaction,
    folder: Path,
    *,
    names: Sequence[str] = (),
    since: int = 0,
    progress: Callable[[int], None] = lambda _rows: None,
) -> tuple[ExportedTable, ...]:
    """Write one file per table into a new folder, all from one consistent view; return what was written.

    Columns of bytes are left out: answers, bundles, documents, salts, seeds. JSON is text, moments are UTC, a reason is
    its code. Only the owner may read the files: they tell the truth of tasks, and who is in the open round. The folder
    exists once all of them are.

    Raises:
        ExportError: something has the folder's name, or a file cannot be written.
        DamagedError: a record cannot be read.
    """
    written = []
    try:
        with new_folder(folder) as made:
            for name in names or table_names():
                file = f"{name}.parquet"
                recorded = name in _RECORDED or name == "dispatches"
                schema = pa.schema(_RECORDED[name]) if name in _RECORDED else _schema(metadata.tables[name])
                batches = _of_records(tx, name, since) if recorded else _of_table(tx, metadata.tables[name], since)
                rows = await _written(made / file, schema, batches, progress)
                written.append(ExportedTable(name, folder / file, rows))
    except FileExistsError:
        raise ExportError(f"{printable(str(folder))} exists; name a new folder") from None
    except OSError as error:
        raise ExportError(f"{printable(str(folder))}: {why(error)}") from None
    return tuple(written)


async def _written(
    file: Path, schema: Any, batches: AsyncIterator[Sequence[dict[str, Any]]], progress: Callable[[int], None]
) -> int:
    rows = 0
    with new_file(file) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        async for batch in batches:
            arrays = [pa.array([_value(row.get(one.name)) for row in batch], type=one.type) for one in schema]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(batch)
            progress(len(batch))
    return rows


def _schema(table: Table) -> Any:
    return pa.schema([pa.field(column.name, _type(column)) for column in _columns(table)])


def _columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if not isinstance(column.type, LargeBinary)]


async def _of_table(tx: Transaction, table: Table, since: int) -> AsyncIterator[Sequence[dict[str, Any]]]:
    raw = plain(table)
    statement = select(*(raw.c[column.name] for column in _columns(table)))
    if since and "round_id" in table.columns:
        statement = statement.where(raw.c.round_id >= since)
    async for rows in (await tx.connection.stream(statement)).partitions(_ROWS):
        yield [row._asdict() for row in rows]


async def _of_records(tx: Transaction, name: str, since: int) -> AsyncIterator[Sequence[dict[str, Any]]]:
    """Yield rows of rounds from `since` on, several rounds together."""
    rows: list[dict[str, Any]] = []
    for round_id in await tx.rounds.ids(since):
        rows += await _ROWS_OF[name](tx, round_id)
        if len(rows) >= _ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


async def _dispatches(tx: Transaction, round_id: int) -> list[dict[str, Any]]:
    """Return the rows of the table, with what the record has of them where the round has ended."""
    raw = plain(metadata.tables["dispatches"])
    stored = await tx.connection.execute(select(raw).where(raw.c.round_id == round_id))
    rows = {(row.task_id, row.hotkey): row._asdict() for row in stored}
    head = await tx.records.head(round_id)
    for one in () if head is None else head.dispatches:
        told = {name: getattr(one, name) for name in one.__struct_fields__}
        rows[one.task_id, one.hotkey] |= {**told, "sssa_sha256": one.signed_sha256}
    return [*rows.values()]


async def _scores(tx: Transaction, round_id: int) -> list[dict[str, Any]]:
    return [{"round_id": round_id, **_flat(member)} for member in await tx.scores.of_round(round_id)]


def _flat(member: MemberOutcome) -> dict[str, Any]:
    """Return the columns of a member; those of other kinds are absent."""
    components, emission = getattr(member, "components", None), getattr(member, "emission", None)
    return {
        **asdict(member),
        **({} if components is None else asdict(components)),
        **({} if emission is None else {_EMISSION.get(name, name): v for name, v in asdict(emission).items()}),
        "emission": None if emission is None else emission.emission,
    }


async def _groups(tx: Transaction, round_id: int) -> list[dict[str, Any]]:
    return [
        {"round_id": round_id, **asdict(group.plan), **({} if group.outcome is None else asdict(group.outcome))}
        for group in await tx.groups.of_round(round_id)
    ]


async def _reputation_events(tx: Transaction, round_id: int) -> list[dict[str, Any]]:
    outcome = await tx.records.outcome(round_id)
    return [{"round_id": round_id, **asdict(event)} for event in (outcome.reputation if outcome else ())]


async def _agreements(tx: Transaction, round_id: int) -> list[dict[str, Any]]:
    outcome = await tx.records.outcome(round_id)
    return [{"round_id": round_id, **asdict(sample)} for sample in (outcome.samples if outcome else ())]


_ROWS_OF: Final = {
    "dispatches": _dispatches,
    "scores": _scores,
    "groups": _groups,
    "agreements": _agreements,
    "reputation_events": _reputation_events,
}


def _type(column: Column[Any]) -> Any:
    return next((given for kind, given in _TYPES if isinstance(column.type, kind)), pa.string())


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)  # a reason is a string of its own class
    return canonical_bytes(value).decode() if isinstance(value, tuple | dict | list | Document) else value
