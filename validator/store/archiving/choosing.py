"""Which rounds may leave the store: the oldest ones, up to the first that something still needs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.scoring import VERSIONS
from validator.store.tables import rounds, salts, waiting_work
from validator.store.transaction import Transaction
from validator.store.waiting import CODE, EXECUTIONS

# The failures that selection counts are of so many rounds, and the newest frozen one tells the store's version.
KEPT_ROUNDS: Final = max(version.rules.groups.history_rounds for version in VERSIONS.values()) + 1

_NAMES: Final = {EXECUTIONS: "an execution", CODE: "a code check"}


class Choice(NamedTuple):
    """What may be archived next.

    Attributes:
        first: the oldest round that no file has.
        last: the newest that may go, below `first` where none may.
        held: why the one after it may not; None where there is none.
    """

    first: int
    last: int
    held: str | None


async def choose(tx: Transaction, before: datetime, keep: int = KEPT_ROUNDS) -> Choice:
    """Return which rounds may leave the store.

    A round goes when it ended before `before`, its epoch's salt is public, it is not among the newest `keep`, and no
    execution or code check of it waits, runs, or has a result that no round has counted yet. Flags, agreements,
    windows, reputations, unpaid windows and submissions rest on tables that stay.

    Args:
        tx: for reading.
        before: see above.
        keep: see above.
    """
    r = rounds.c
    spans = await tx.archives.spans()
    first = spans[-1].last_round + 1 if spans else 0
    following = await tx.rounds.next_id()
    secret = select(func.min(salts.c.epoch)).where(salts.c.revealed_in.is_(None)).scalar_subquery()
    holds: Mapping[str, int | None] = {
        "is among the newest, which the next rounds need": max(first, following - keep) if following else None,
        "is open": await _first(tx.connection, r.round_id, r.state == "open"),
        f"ended after {before:%Y-%m-%d %H:%M}": await _first(
            tx.connection, r.round_id, and_(r.round_id >= first, r.settled_at >= before)
        ),
        "is of an epoch whose salt is secret": await _first(tx.connection, r.round_id, r.epoch >= secret),
        **await waiting(tx.connection, first),
    }
    held = [(round_id, why) for why, round_id in holds.items() if round_id is not None]
    if not held:
        return Choice(first, first - 1, None)
    round_id, why = min(held)
    return Choice(first, round_id - 1, f"round {round_id} {why}")


async def waiting(connection: AsyncConnection, first: int, last: int | None = None) -> dict[str, int]:
    """Return the oldest of these rounds with an execution, and with a code check, that is not over."""
    c = waiting_work.c
    its = c.round_id >= first if last is None else c.round_id.between(first, last)
    uncounted = and_(c.state == "done", c.entered_in.is_(None))
    oldest = select(c.kind, func.min(c.round_id)).where(its, or_(c.state.in_(("pending", "running")), uncounted))
    found = await connection.execute(oldest.group_by(c.kind))
    return {f"has {_NAMES[kind]} that is not over, or not counted yet": int(round_id) for kind, round_id in found}


async def _first(connection: AsyncConnection, column: ColumnElement[int], where: ColumnElement[bool]) -> int | None:
    found = await connection.scalar(select(func.min(column)).where(where))
    return None if found is None else int(found)
