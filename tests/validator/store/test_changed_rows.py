"""Seeded changes of single rows and bytes: `db check` or replay finds all that records and receipts decide."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, delete, select, text, update
from sqlalchemy.exc import DBAPIError
from waiting_world import three_rounds

from validator.audit.replay import Past, replay_round
from validator.store import Store, Transaction
from validator.store.checking import checks
from validator.store.columns import Json, Message, Moment, Real, Sealed
from validator.store.copying import plain
from validator.store.tables import metadata

CHANGES = 40
# What follows from no record and no receipt: times, what was last seen of a miner, how often a task was given, tries.
UNDECIDED = {
    "rounds": {"started_at", "settled_at"},
    "answers": {"stored_at"},
    "bundles": {"stored_at"},
    "dispatches": {"kept_bytes"},
    "waiting_work": {"state", "attempts", "queued_at", "due_at", "started_at", "ended_at", "reason", "detail"},
    "salts": {"id"},
    "state_shared": {"id"},
    "state_rounds": {"place"},
    "records": {"part"},
}
TABLES_UNDECIDED = {"capabilities", "given_tasks", "miners", "write_tokens"}
DELETABLE = {"answers", "bundles"}  # by retention


class UndoError(Exception):
    """Rolls a change back."""


def other(column: Column[Any], value: Any, chance: random.Random) -> Any:  # noqa: PLR0911 - a kind of value each
    """Return another value of the column's kind."""
    match column.type:
        case Json() | Sealed() | LargeBinary():
            raw = bytearray(value.encode() if isinstance(value, str) else value)
            raw[chance.randrange(len(raw))] ^= 1
            return raw.decode() if isinstance(value, str) else bytes(raw)
        case Boolean():
            return not value
        case Integer() | BigInteger():
            return value + 1_000
        case Real():
            return value + 0.125
        case Moment():
            return value + timedelta(hours=1)
        case Message():
            return f"{value}x"
        case _:
            return f"{value[:-1]}{'1' if value[-1] == '0' else '0'}"


async def finders_of(tx: Transaction) -> list[str]:
    """Return which of `db check` and replay find something."""
    faults = [fault async for one in checks(tx) for fault in one.faults]
    past = Past()
    replays = [await replay_round(tx, round_id, past) for round_id in await tx.rounds.ids()]
    differs = any(one is not None and one.difference is not None for one in replays)
    return ["db check"] * bool(faults) + ["replay"] * differs


async def change_of(tx: Transaction, chance: random.Random) -> tuple[str, Any]:
    """Return a change that must be found, by its name."""
    while True:
        table = chance.choice([one for one in metadata.sorted_tables if one.name not in TABLES_UNDECIDED])
        rows: list[Mapping[str, Any]] = [row._asdict() for row in await tx.connection.execute(select(plain(table)))]
        if not rows:
            continue
        row, stored = chance.choice(rows), plain(table)
        where = [stored.c[key.name] == row[key.name] for key in table.primary_key]
        if table.name not in DELETABLE and chance.random() < 1 / len(table.c):
            return f"{table.name} deleted", delete(stored).where(*where)
        column = chance.choice(list(table.c))
        if row[column.name] is None or column.name in UNDECIDED.get(table.name, ()):
            continue
        value = other(column, row[column.name], chance)
        return str(column), update(stored).where(*where).values({column.name: value})


async def test_a_change_of_what_records_decide_is_found(store: Store) -> None:
    await three_rounds(store)
    chance, refused = random.Random(45), 0
    async with store.read() as tx:
        assert await finders_of(tx) == []
    for _ in range(CHANGES):
        with pytest.raises((UndoError, DBAPIError)) as ending:  # noqa: PT012 - the transaction must end by it
            async with store.begin() as tx:
                sqlite = tx.connection.dialect.name == "sqlite"
                off = "PRAGMA defer_foreign_keys = ON" if sqlite else "SET LOCAL session_replication_role = replica"
                await tx.connection.execute(text(off))
                name, change = await change_of(tx, chance)
                await tx.connection.execute(change)
                found = await finders_of(tx)
                assert found, name
                raise UndoError
        refused += ending.type is not UndoError
    assert refused < CHANGES // 4
