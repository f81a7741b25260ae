"""Which rows of a round an archive takes, and how they are read from tables of this version."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Select, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol.skill_types import SkillType
from validator.store.archive.form import Row, as_archived
from validator.store.copying import plain
from validator.store.tables import (
    answers,
    dispatches,
    folded_rounds,
    groups,
    proofs,
    reputation_events,
    rounds,
    scores,
    sssas,
    tasks,
    workflow_runs,
)

# Copied, for what is read beside the others; they stay in the store but for the documents of a round.
STAYING: Final[Sequence[Table]] = (rounds, tasks)
LEAVING: Final[Sequence[Table]] = (groups, dispatches, answers, scores, proofs, reputation_events)
# By content: a row goes with the last dispatch that names it.
NAMED: Final[Sequence[Table]] = (sssas, workflow_runs)
TABLES: Final = (*STAYING, *LEAVING, *NAMED)
ARCHIVED: Final = frozenset(
    str(table.name) for table in (*LEAVING, *NAMED, folded_rounds, rounds)
)  # a line of `rounds` stays
PRUNED: Final = answers.name  # may have lost rows since a file was written


def columns_of(table: Table) -> tuple[str, ...]:
    """Return the names of a table's columns as the database has them."""
    return tuple(str(column.name) for column in table.columns)


def key_of(table: Table) -> tuple[int, ...]:
    """Return where a table's primary key stands among its columns."""
    names = columns_of(table)
    return tuple(names.index(column.name) for column in table.primary_key)


async def rows_of(connection: AsyncConnection, table: Table, first: int, last: int) -> list[Row]:
    """Return the rows that a table has of these rounds, as a file holds them, in the order of their keys.

    Args:
        connection: a transaction that reads.
        table: one of `TABLES`.
        first: the first of the rounds.
        last: the last of them.
    """
    raw = plain(table)
    if table is sssas:
        named = select(dispatches.c.signed_sha256).where(dispatches.c.round_id.between(first, last))
        statement: Select[Any] = select(raw).where(raw.c.sha256.in_(named))
    elif table is workflow_runs:
        statement = select(raw).where(raw.c.sha256.in_(sorted(await runs_of(connection, first, last))))
    else:
        statement = select(raw).where(raw.c.round_id.between(first, last))
    found = [tuple(map(as_archived, row)) for row in await connection.execute(statement)]
    key = key_of(table)
    return sorted(found, key=lambda row: [row[place] for place in key])


async def runs_of(connection: AsyncConnection, first: int, last: int | None) -> set[str]:
    """Return the digests of the runs that answers of these rounds name; without `last`, of all from `first` on."""
    return set(await runs_by_round(connection, first, last))


async def runs_by_round(connection: AsyncConnection, first: int, last: int | None) -> dict[str, int]:
    """Return the same, with the newest round that names each."""
    d = dispatches.c
    its = select(d.round_id, d.submission).where(d.round_id >= first, d.skill_type == str(SkillType.WORKFLOW))
    its = its if last is None else its.where(d.round_id <= last)
    found: dict[str, int] = {}
    result = await connection.stream(its.where(d.submission.is_not(None)).order_by(d.round_id))
    async for round_id, submission in result:
        if "run_sha256" in submission:
            found[str(submission["run_sha256"])] = round_id
    return found
