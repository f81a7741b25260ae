"""Damage and tampering that a check of the store shows, and that a sound store shows none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from code_world import code_world
from msgspec import structs
from msgspec.structs import replace as replace_group
from recorded import dispatched, grouped, headed, proven
from sqlalchemy import Column, LargeBinary, delete, insert, select, text, update
from state_kit import plant
from task_builders import make_truth
from world import World, on_virtual_time, one_round, tasks_of_all_types

from validator.protocol.canonical import sha256_hex
from validator.state.round_end import Change
from validator.state.values import PairKey
from validator.store import Store, Transaction
from validator.store.checking import FAULTS_SHOWN, Check, checks
from validator.store.codec import compressed
from validator.store.repositories import state as state_tables
from validator.store.tables import (
    bundles,
    dispatches,
    metadata,
    receipts,
    records,
    rounds,
    salts,
    state_miners,
    state_rounds,
    state_shared,
)
from validator.tasks.source import MemorySource

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class UndoError(Exception):
    """Rolls the damage back."""


@pytest.fixture
async def used(store: Store) -> Store:
    unknown, *others = tasks_of_all_types(each=1)
    known = [replace(one, task=structs.replace(one.task, provenance="curated", truth=make_truth())) for one in others]
    world = World(store, source=MemorySource([unknown, *known]))
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    return store


async def checked(store: Store, *harm: Any) -> dict[str, Check]:
    found: list[Check] = []
    with pytest.raises(UndoError):  # noqa: PT012 - the transaction must end by it
        async with store.begin() as tx:
            sqlite = tx.connection.dialect.name == "sqlite"
            off = "PRAGMA defer_foreign_keys = ON" if sqlite else "SET LOCAL session_replication_role = replica"
            await tx.connection.execute(text(off))
            for one in harm:
                if callable(one):
                    await one(tx)
                else:
                    assert (await tx.connection.execute(one)).rowcount != 0
            found.extend([check async for check in checks(tx)])
            raise UndoError
    return {check.name: check for check in found}


async def test_a_sound_store_shows_no_fault_and_everything_was_looked_at(used: Store) -> None:
    found = await checked(used)
    assert list(found) == ["pages", "tables", "references", "digests", "rows", "receipts", "state"][-len(found) :]
    assert [check.faults for check in found.values()] == [[]] * len(found)
    assert found["references"].looked > 10
    assert found["digests"].looked > 40
    assert found["receipts"].looked == 3
    assert found["state"].looked == 2


OTHER = compressed(b"{}")


def planted(change: Callable[[Change], None]) -> Callable[[Transaction], Any]:
    return lambda tx: plant(tx, change)


def someone(change: Change) -> PairKey:
    return next((hotkey, name) for hotkey, one in change._state.miners.items() for name in one.pairs)


HARMS: Sequence[tuple[Callable[[], Any], str, str]] = (
    (lambda: update(rounds).values(input=OTHER), "digests", "rounds.input of 0 is not what input_sha256 names"),
    (lambda: update(rounds).values(input_sha256="00" * 32), "digests", "round 0: its input is not what"),
    (lambda: update(rounds).values(outcome_sha256="00" * 32), "digests", "round 0: its outcome is not what"),
    (lambda: update(records).values(frame=OTHER), "digests", "the record of round 0: "),
    (lambda: delete(records), "digests", "round 0 has ended and has no record"),
    (lambda: delete(records), "receipts", "receipt 1 names other lines than round 0 has"),
    (
        lambda: update(dispatches).values(reason="deadline_late"),
        "digests",
        "round 0: its dispatches are not those of the",
    ),
    (lambda: delete(dispatches), "digests", "round 0: its dispatches are not those of the table"),
    (lambda: headed(outcome=b"{}"), "receipts", "receipt 1 names other lines than round 0 has"),
    (lambda: headed(plan=b"{}"), "receipts", "receipt 1 names other lines than round 0 has"),
    (lambda: dispatched(raw=None), "receipts", "receipt 1 names other lines than round 0 has"),
    (
        lambda: grouped(lambda group: replace_group(group, signed=())),
        "digests",
        "round 0: its documents are not those that its answers name",
    ),
    (
        lambda: grouped(proven(b"{}")),
        "receipts",
        "receipt 1 names other lines than round 0 has",
    ),
    (lambda: update(bundles).values(data=b"other"), "digests", "bundles.data of "),
    (lambda: update(salts).values(salt=b"s" * 32), "digests", "salts.salt of "),
    (lambda: update(dispatches).values(hotkey="nobody" + dispatches.c.hotkey), "references", "not in miners"),
    (lambda: delete(receipts).where(receipts.c.sequence == 1), "receipts", "receipt 2 does not follow the one"),
    (lambda: update(receipts).values(line=OTHER), "receipts", "receipt 0 cannot be read"),
    (lambda: update(receipts).values(sha256="11" * 32), "receipts", "receipt 0 is not what sha256 names"),
    (lambda: planted(lambda change: change.update(someone(change), roles="aaa")), "state", "the state of 5"),
    (lambda: delete(state_miners), "state", "the state of 5"),
    (lambda: delete(state_rounds).where(state_rounds.c.place == 0), "state", "rounds of the state do not follow"),
    (lambda: update(state_shared).values(shared=b"x"), "state", "the state cannot be read"),
    (lambda: headed(plan=None), "state", "the state of 5"),
    (lambda: text("DROP INDEX ix_answers_stored_at"), "tables", "ix_answers_stored_at"),
    (lambda: text("ALTER TABLE salts ADD COLUMN pepper INTEGER"), "tables", "pepper"),
)


async def test_what_was_changed_is_named(used: Store) -> None:
    for harm, name, words in HARMS:
        found = await checked(used, harm())
        assert any(words in fault for fault in found[name].faults), (words, found)
        assert all(fault.isprintable() for check in found.values() for fault in check.faults)


def test_a_lot_of_faults_is_cut_short_and_counted() -> None:
    many = Check("many")
    for number in range(FAULTS_SHOWN + 3):
        many.fault(str(number))
    assert (len(many.faults), many.more) == (FAULTS_SHOWN, 3)


BLOBS = [column for table in metadata.sorted_tables for column in table.c if isinstance(column.type, LargeBinary)]
# Of what these rounds leave no row: a row, whose digest fits.
EXTRA: dict[str, dict[str, Any]] = {
    "capabilities": {"hotkey": "h", "document": b"{}", "sha256": sha256_hex(b"{}")}
    | dict.fromkeys(("issued_at", "expires_at", "fetched_at"), NOW),
    "submitted_skills": {
        "data": b"skill",
        "sha256": sha256_hex(b"skill"),
        "skill_type": "mcp_server",
        "submitted_at": NOW,
    },
    "bundles": {"data": b"bundle", "sha256": sha256_hex(b"bundle"), "stored_at": NOW},
    "weight_links": {"line": compressed(b"{}"), "sha256": sha256_hex(b"{}")}
    | dict.fromkeys(("sequence", "netuid", "mechid", "epoch"), 0),
    "sssas": {"document": compressed(b"{}"), "sha256": sha256_hex(b"{}")},
    "workflow_runs": {"document": compressed(b"{}"), "sha256": sha256_hex(b"{}")},
    "rounds": {"input": compressed(b"{}"), "input_sha256": sha256_hex(b"{}")},
}


@pytest.fixture
async def filled(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two rounds whose results are still to come."""
    monkeypatch.setattr(state_tables, "COPY_ROUNDS", 1)
    world = code_world(store)
    for _ in range(2):
        await one_round(world)
    async with store.begin() as tx:
        for name, row in EXTRA.items():
            if name != "rounds":
                await tx.connection.execute(insert(metadata.tables[name]).values(row))
    return store


@pytest.mark.parametrize("column", BLOBS, ids=str)
async def test_a_flipped_bit_of_any_stored_bytes_is_named(filled: Store, column: Column[Any]) -> None:
    assert [fault for check in (await checked(filled)).values() for fault in check.faults] == []
    key = list(column.table.primary_key)

    async def flip(tx: Transaction) -> None:
        if column is rounds.c.input:
            await tx.connection.execute(update(rounds).where(rounds.c.round_id == 0).values(EXTRA["rounds"]))
        rows = (await tx.connection.execute(select(*key, column).where(column.is_not(None)))).all()
        assert rows
        *named, data = rows[-1]
        where = [one == value for one, value in zip(key, named, strict=True)]
        flipped = data[:-1] + bytes([data[-1] ^ 1])
        await tx.connection.execute(update(column.table).where(*where).values({column.name: flipped}))

    found = await checked(filled, flip)
    assert [fault for check in found.values() for fault in check.faults] != []
