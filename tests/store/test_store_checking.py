"""Damage and tampering that a check of the store shows, and that a sound store shows none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import delete, text, update
from task_builders import make_truth
from world import World, on_virtual_time, tasks_of_all_types

from validator.protocol.canonical import sha256_hex
from validator.store import Store
from validator.store.checking import FAULTS_SHOWN, Check, checks
from validator.store.codec import compressed
from validator.store.tables import (
    agreement_windows,
    bundles,
    dispatches,
    histories,
    proofs,
    receipts,
    rounds,
    salts,
    sssas,
)
from validator.tasks.memory import MemorySource


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
            for statement in harm:
                assert (await tx.connection.execute(statement)).rowcount != 0
            found.extend([check async for check in checks(tx.connection)])
            raise UndoError
    return {check.name: check for check in found}


async def test_a_sound_store_shows_no_fault_and_everything_was_looked_at(used: Store) -> None:
    found = await checked(used)
    assert list(found) == ["pages", "tables", "references", "digests", "receipts", "kept", "archives"][-len(found) :]
    assert [check.faults for check in found.values()] == [[]] * len(found)
    assert found["references"].looked > 20
    assert found["digests"].looked > 60
    assert found["receipts"].looked == 3
    assert found["kept"].looked > 20


OTHER = compressed(b"{}")


HARMS: Sequence[tuple[Callable[[], Any], str, str]] = (
    (lambda: update(rounds).values(input=OTHER), "digests", "rounds.input of 0 is not what input_sha256 names"),
    (lambda: update(rounds).values(outcome=b"torn"), "digests", "rounds.outcome of 0 is not what"),
    (lambda: update(rounds).values(input_sha256="00" * 32), "digests", "rounds.input of 0"),
    (lambda: update(sssas).values(document=OTHER), "digests", "sssas.document of "),
    (lambda: update(bundles).values(data=b"other"), "digests", "bundles.data of "),
    (lambda: update(proofs).values(document=OTHER), "receipts", "receipt 1 names another outcome or other proofs"),
    (lambda: delete(proofs), "receipts", "receipt 1 names another outcome or other proofs than round 0 has"),
    (
        lambda: update(rounds).values(outcome=OTHER, outcome_sha256=sha256_hex(b"{}")),
        "receipts",
        "receipt 1 names another outcome",
    ),
    (lambda: update(salts).values(salt=b"s" * 32), "digests", "salts.salt of "),
    (lambda: delete(sssas), "references", " rows whose sssa_sha256 is not in sssas"),
    (lambda: update(dispatches).values(hotkey="nobody" + dispatches.c.hotkey), "references", "not in miners"),
    (lambda: delete(receipts).where(receipts.c.sequence == 1), "receipts", "receipt 2 does not follow the one"),
    (lambda: update(receipts).values(line=OTHER), "receipts", "receipt 0 cannot be read"),
    (lambda: update(receipts).values(sha256="11" * 32), "receipts", "receipt 0 is not what sha256 names"),
    (lambda: update(histories).values(roles="pp" + histories.c.roles), "kept", "histories of 5"),
    (lambda: delete(agreement_windows), "kept", "agreement_windows of 5"),
    (lambda: text("UPDATE agreement_windows SET samples = '[[0]]'"), "kept", "agreement_windows cannot be read"),
    (lambda: text("DROP INDEX ix_answers_stored_at"), "tables", "ix_answers_stored_at"),
    (lambda: text("ALTER TABLE salts ADD COLUMN pepper INTEGER"), "tables", "pepper"),
)


async def test_what_was_changed_is_named(used: Store) -> None:
    for harm, name, words in HARMS:
        found = await checked(used, harm())
        assert any(words in fault for fault in found[name].faults), (words, found)
        assert all(fault.isprintable() for check in found.values() for fault in check.faults)


async def test_a_lot_of_faults_is_cut_short_and_counted(used: Store) -> None:
    found = (await checked(used, update(sssas).values(document=b"torn")))["digests"]
    assert len(found.faults) == FAULTS_SHOWN
    assert found.more > 0
