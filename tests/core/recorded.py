"""A record with something else in it, as a hand with access to the database would leave it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace
from sqlalchemy import delete, insert, update

from sssa.protocol.dispatch_record import Dispatch
from validator.store import Transaction, open_store
from validator.store.record import Group, Head, frames
from validator.store.repositories.repository import Recent
from validator.store.tables import records

Tamper = Callable[[Transaction], Awaitable[object]]


async def rewrite(
    tx: Transaction,
    head: Callable[[Head], Head] = lambda head: head,
    group: Callable[[Group], Group] = lambda group: group,
    round_id: int = 0,
) -> None:
    """Put a changed record in the place of a round's."""
    before = await tx.records.head(round_id)
    assert before is not None
    groups = [group(one) async for one in tx.records.groups(round_id)]
    await tx.connection.execute(delete(records).where(records.c.round_id == round_id))
    rows = [
        {"round_id": round_id, "part": part, "frame": frame} for part, frame in enumerate(frames(head(before), groups))
    ]
    await tx.connection.execute(insert(records), rows)
    tx.recent = Recent()


def headed(round_id: int = 0, **changes: Any) -> Tamper:
    """Change fields of the head; a callable is given the value before."""

    async def tamper(tx: Transaction) -> None:
        await rewrite(tx, head=lambda head: replace(head, **_values(head, changes)), round_id=round_id)

    return tamper


def grouped(change: Callable[[Group], Group]) -> Tamper:
    """Change every group."""

    async def tamper(tx: Transaction) -> None:
        await rewrite(tx, group=change)

    return tamper


def dispatched(which: Callable[[Dispatch], bool] = lambda _: True, round_id: int = 0, **changes: Any) -> Tamper:
    """Change fields of the dispatches that `which` names."""

    async def tamper(tx: Transaction) -> None:
        def changed(head: Head) -> Head:
            facts = [replace(one, **_values(one, changes)) if which(one) else one for one in head.dispatches]
            return replace(head, dispatches=tuple(facts))

        await rewrite(tx, head=changed, round_id=round_id)

    return tamper


async def emptied(tx: Transaction, which: Callable[[Dispatch], bool]) -> None:
    """Take dispatches out of a record."""
    await rewrite(tx, head=lambda head: replace(head, dispatches=tuple(o for o in head.dispatches if not which(o))))


async def flipped(tx: Transaction, round_id: int = 0) -> None:
    """Flip a bit of the first frame."""
    frame = bytearray(await anext(tx.records.frames(round_id)))
    frame[len(frame) // 2] ^= 1
    its = update(records).where(records.c.round_id == round_id, records.c.part == 0)
    await tx.connection.execute(its.values(frame=bytes(frame)))
    tx.recent = Recent()


def _values(before: Any, changes: dict[str, Any]) -> dict[str, Any]:
    return {name: made(getattr(before, name)) if callable(made) else made for name, made in changes.items()}


def proven(document: bytes | None) -> Callable[[Group], Group]:
    """Return what puts another proof, or none, into a group."""
    return lambda group: replace(group, kept_proof=document, is_frame=False)


def harm(database: object, *tampers: Tamper) -> None:
    """Do these to the SQLite store at a path."""

    async def done() -> None:
        async with open_store(f"sqlite:///{database}") as store, store.begin() as tx:
            for tamper in tampers:
                await tamper(tx)

    asyncio.run(done())
