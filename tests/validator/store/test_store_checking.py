"""Damage and tampering that a check of the store shows, and that a sound store shows none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace as replace_group
from recorded import dispatched, grouped, headed, proven
from sqlalchemy import Column, LargeBinary, delete, insert, select, text, type_coerce, update
from state_kit import plant
from task_builders import make_truth
from waiting_world import code_world
from world import World, on_virtual_time, one_round, tasks_of_all_types

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.results import RawAnswer
from sssa.protocol.waiting_work import Judged
from sssa.protocol.workflow_run import CodeReport
from sssa.state.mechanism_state import PairKey
from sssa.state.round_end import Change
from validator.store import Store, Transaction
from validator.store.checking import FAULTS_SHOWN, Check, checks
from validator.store.codec import compressed
from validator.store.columns import Json, Sealed
from validator.store.copying import plain
from validator.store.repositories import state as state_tables
from validator.store.tables import (
    bundles,
    dispatches,
    judged_documents,
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


STORED = [
    one for table in metadata.sorted_tables for one in table.c if isinstance(one.type, LargeBinary | Json | Sealed)
]
# Of what these rounds leave no row: a row, whose digest fits.
EXTRA: dict[str, dict[str, Any]] = {
    "capabilities": {"hotkey": "h", "document": b"{}"} | dict.fromkeys(("issued_at", "expires_at", "fetched_at"), NOW),
    "weight_submissions": {"state": "prepared", "sent": {"1": 7}, "vector": {"h": 1.0}, "scores": {"h": 0.5}}
    | dict.fromkeys(("netuid", "mechid", "epoch", "attempts", "unallocated"), 0)
    | dict.fromkeys(("created_at", "updated_at"), NOW),
    "weight_vectors": {"scoring_version": "1", "positive": True, "unpaid": (), "computed_at": NOW}
    | dict.fromkeys(("netuid", "mechid", "epoch", "block"), 0),
    "submitted_skills": {
        "data": b"skill",
        "sha256": sha256_hex(b"skill"),
        "skill_type": "mcp_server",
        "submitted_at": NOW,
    },
    "bundles": {"data": b"bundle", "sha256": sha256_hex(b"bundle"), "stored_at": NOW},
    "weight_links": {"line": compressed(b"{}"), "sha256": sha256_hex(b"{}")}
    | dict.fromkeys(("sequence", "netuid", "mechid", "epoch"), 0),
}
# Of open rounds, in rows of one that has ended.
OPEN: dict[str, dict[str, Any]] = {
    "rounds": {"input": compressed(b"{}"), "input_sha256": sha256_hex(b"{}"), "plan": b"{}"},
    "dispatches": {"raw": RawAnswer("00" * 32, 1, True), "submission": {"task_id": "t"}},
    "waiting_work": {"result": Judged(CodeReport(3, 4, 2), 0.5)},
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
            await tx.connection.execute(insert(metadata.tables[name]).values(row))
        async for group in tx.records.groups(0):
            documents = {sha256: compressed(document) for sha256, document in group.named().items()}
            for one in await tx.dispatches.of_round(0):
                if one.signed_sha256 in documents:
                    row = {"signed": documents[one.signed_sha256], "run": documents[one.run_sha256 or ""]}
                    await tx.connection.execute(insert(judged_documents).values({**one.key._asdict(), **row}))
    return store


def faults_of(checks: dict[str, Check], column: Column[Any]) -> list[str]:
    """Return the faults that name a value, which records and receipts have in their own words."""
    words = {records: "record of", receipts: "receipt "}.get(column.table, f"{column} of ")
    return [one for check in checks.values() for one in check.faults if words in one]


def flipped(column: Column[Any], at: int) -> Callable[[Transaction], Any]:
    """Flip a bit of the last row's value."""
    key, stored = list(column.table.primary_key), plain(column.table)

    async def flip(tx: Transaction) -> None:
        rows = (await tx.connection.execute(select(*key, type_coerce(column, stored.c[column.name].type)))).all()
        *named, data = next(row for row in reversed(rows) if row[-1] is not None)
        raw = bytearray(data.encode() if isinstance(data, str) else data)
        raw[max(at, -len(raw))] ^= 1
        where = [stored.c[one.name] == value for one, value in zip(key, named, strict=True)]
        value = raw.decode() if isinstance(data, str) else bytes(raw)
        await tx.connection.execute(update(stored).where(*where).values({column.name: value}))

    return flip


async def test_a_flipped_bit_of_any_stored_value_is_named(filled: Store) -> None:
    """One of the digest behind a value, and one of the value itself, which can often be read all the same."""
    assert [fault for check in (await checked(filled)).values() for fault in check.faults] == []
    for column in STORED:
        table, row = column.table, OPEN.get(column.table.name)
        harms = [] if row is None else [update(table).where(table.c.round_id == 0).values(row)]
        assert not harms or faults_of(await checked(filled, *harms), column) == []
        for at in (-1, -19):
            assert faults_of(await checked(filled, *harms, flipped(column, at)), column) != [], (column, at)
