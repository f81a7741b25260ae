"""Replays of stored rounds, after whatever a test does to them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text

from validator.audit.replay.round_replay import RoundReplay, replay_round
from validator.store import Store, Transaction

Tamper = Callable[[Transaction], Awaitable[object]]


class UndoError(Exception):
    """Rolls a tampering back."""


async def replayed(store: Store, round_id: int = 0) -> RoundReplay:
    async with store.read() as tx:
        replay = await replay_round(tx, round_id)
    assert replay is not None
    return replay


async def replayed_after(store: Store, tamper: Tamper, round_id: int = 0) -> RoundReplay:
    """The replay of a round as it would be after the tampering, which is undone."""
    found: list[RoundReplay | None] = []
    with pytest.raises(UndoError):  # noqa: PT012 - the transaction must end by it
        async with store.begin() as tx:
            sqlite = tx.connection.dialect.name == "sqlite"
            off = "PRAGMA defer_foreign_keys = ON" if sqlite else "SET LOCAL session_replication_role = replica"
            await tx.connection.execute(text(off))
            await tamper(tx)
            found.append(await replay_round(tx, round_id))
            raise UndoError
    assert found[0] is not None
    return found[0]


def executed(statement: Any) -> Tamper:
    async def tamper(tx: Transaction) -> None:
        assert (await tx.connection.execute(statement)).rowcount != 0

    return tamper
