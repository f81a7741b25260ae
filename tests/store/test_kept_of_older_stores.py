"""An upgrade takes over from an older store what is kept of histories and windows, as if it had been all along."""

from pathlib import Path

import pytest
from old_store import VERSIONS, unpacked
from store_examples import HOTKEYS, PYTHON, RAG, answer_all, at, open_round, play_round
from store_migrating import as_older

from validator.protocol.reasons import Reason
from validator.protocol.round import AgreementSample, FlagRaised
from validator.store import DispatchKey, Store, open_store, upgrade
from validator.store.records import MAX_ROLES
from validator.store.repositories.agreements import MAX_SAMPLES

A, B, C, D, E = HOTKEYS
BEFORE = "r0017"


@pytest.fixture
async def kept(sqlite_url: str) -> Store:
    """A store in which pairs have more than is kept, less, none, or had their window closed; one round is open."""
    async with open_store(sqlite_url) as store:
        for round_id in range(MAX_ROLES + 2):
            await play_round(store, round_id, {PYTHON: (A, B, C, D, E) if round_id % 7 else (D, A)})
        await play_round(store, MAX_ROLES + 2, {RAG: (E,)})
        _, plan = await open_round(store, MAX_ROLES + 3, {RAG: HOTKEYS})
        async with store.begin() as tx:
            key = DispatchKey(MAX_ROLES + 3, plan.groups[0].task_id, A)
            await tx.dispatches.void(key, Reason.LOCAL_STALL)
            await tx.rounds.settle(MAX_ROLES + 3, "void", Reason.VOID_OFFLINE, None, at(9))
        _, still_open = await open_round(store, MAX_ROLES + 4, {RAG: HOTKEYS})
        await answer_all(store, still_open)
        async with store.begin() as tx:
            for number in range(MAX_SAMPLES + 3):
                both = [AgreementSample(one, PYTHON, number / 7, 1.0, True, Reason.SAMPLE_COUNTED) for one in (A, B)]
                none = AgreementSample(C, PYTHON, None, None, False, Reason.SAMPLE_NO_AUDITORS)
                await tx.agreements.put_all(number, [*both, none])
            flag = await tx.flags.raise_(FlagRaised(B, PYTHON, 0.95, 0.5, 30), number, at(1))
            await tx.agreements.consume(B, PYTHON, flag)
            await tx.agreements.put_all(50, both[1:])
        return store


@pytest.mark.parametrize("older", ["sqlite", "postgres"])
async def test_an_upgrade_finds_what_would_have_been_kept(
    kept: Store, sqlite_url: str, older: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    old = f"sqlite:///{tmp_path}/old.sqlite"
    if older == "postgres":
        old = request.getfixturevalue("empty_postgres_url")
    await as_older(sqlite_url, old, BEFORE)
    assert await upgrade(old) == "behind"
    async with open_store(sqlite_url) as store, store.read() as tx:
        roles, samples = await tx.histories.kept(), await tx.agreements.kept()
    assert {pair: len(found) for pair, found in roles.items() if pair[0] in {A, E}} == {
        (A, PYTHON): MAX_ROLES,
        (A, RAG): 1,
        (E, PYTHON): 87,
        (E, RAG): 1,
    }
    assert {pair: len(found) for pair, found in samples.items()} == {(A, PYTHON): MAX_SAMPLES, (B, PYTHON): 1}
    async with open_store(old) as upgraded, upgraded.read() as tx:
        assert await tx.histories.kept() == roles == await tx.histories.computed()
        assert await tx.agreements.kept() == samples == await tx.agreements.computed()


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_store_of_a_released_version_has_them(tmp_path: Path, version: str) -> None:
    url = f"sqlite:///{unpacked('store.sqlite', tmp_path, version)}"
    assert await upgrade(url) == "behind"
    async with open_store(url) as store, store.read() as tx:
        assert await tx.histories.kept() == await tx.histories.computed() != {}
        assert await tx.agreements.kept() == await tx.agreements.computed() != {}
