"""Replays of stored rounds, after whatever a test does to them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text

from validator.audit.replay import RoundReplay, replay_round
from validator.store import Store, Transaction
from validator.store.checking import checks

Tamper = Callable[[Transaction], Awaitable[object]]


LINES = "receipts: receipt 1 names other lines than round 0 has"
DOCUMENTS = "its documents are not those that its answers name"


def unlike(kind: str) -> str:
    """Return what replay says of a document of round 0 that was changed."""
    return f"round 0: the stored {kind} is not what its receipt was written for"


class UndoError(Exception):
    """Rolls a tampering back."""


async def replayed(store: Store, round_id: int = 0) -> RoundReplay:
    async with store.read() as tx:
        replay = await replay_round(tx, round_id)
    assert replay is not None
    return replay


async def faults_after(store: Store, tamper: Tamper, round_id: int = 0) -> tuple[str, str]:
    """Return what replay and `db check` name after the tampering, each in one text; it is undone."""
    found: list[tuple[RoundReplay | None, list[str]]] = []
    with pytest.raises(UndoError):  # noqa: PT012 - the transaction must end by it
        async with store.begin() as tx:
            sqlite = tx.connection.dialect.name == "sqlite"
            off = "PRAGMA defer_foreign_keys = ON" if sqlite else "SET LOCAL session_replication_role = replica"
            await tx.connection.execute(text(off))
            await tamper(tx)
            named = [f"{one.name}: {fault}" async for one in checks(tx) for fault in one.faults]
            found.append((await replay_round(tx, round_id), named))
            raise UndoError
    ((replay, named),) = found
    assert replay is not None
    assert (replay.verdict == "different") is (replay.difference is not None)
    return replay.difference or "", "\n".join(named)


def executed(statement: Any) -> Tamper:
    async def tamper(tx: Transaction) -> None:
        assert (await tx.connection.execute(statement)).rowcount != 0

    return tamper
