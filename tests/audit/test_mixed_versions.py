"""Rounds of three scoring versions are in one store: each is replayed, explained, proven and verified by its own."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from audit_file import export
from builders import V1
from explained import HOTKEYS
from mixed_versions import VERSIONS, mixed
from replays import replayed
from toy_version import TOY, ToyVersion, known
from world import VALIDATOR

from validator.audit.explain.round_explanation import NothingToExplainError, explain_round
from validator.audit.log.lines import FaultError
from validator.audit.log.verify import verify_file
from validator.cli.explain import print_round_explanation
from validator.kinds.assessment.explain.page import AssessmentExplanation
from validator.proofs.document import verify_document
from validator.rounds.receipts import close_epoch
from validator.scoring import version
from validator.store import Store, open_store
from validator.store.copying import copy_store

V11 = version("1.1.0")
ROUNDS = range(len(VERSIONS))
# The same name with other numbers: what a released version must never become.
IMPOSTOR = ToyVersion(TOY.name, replace(TOY.rules, consensus=V1.rules.consensus))
UNKNOWN = r"No code here scores this version: `9\.0\.0`; this program scores 1\.0\.0, 1\.1\.0"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store's file, its log closed."""
    path = tmp_path_factory.mktemp("mixed") / "store.sqlite"
    asyncio.run(_play(path))
    return path


async def _play(path: Path) -> None:
    async with open_store(f"sqlite:///{path}", create=True) as store:
        world = await mixed(store)
        assert await close_epoch(store, VALIDATOR, world.clock)


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, played: Path) -> AsyncIterator[Store]:
    url = f"sqlite:///{played}"
    if request.param == "postgres":
        source, url = url, request.getfixturevalue("empty_postgres_url")
        await copy_store(source, url, lambda _name, _rows: None)
    async with open_store(url) as opened:
        yield opened


async def test_every_round_is_computed_again_by_its_own_version(store: Store) -> None:
    with known(TOY):
        replays = [await replayed(store, round_id) for round_id in ROUNDS]
    assert [(replay.scoring_version, replay.verdict) for replay in replays] == [(name, "equal") for name in VERSIONS]
    with known(IMPOSTOR):
        others = [await replayed(store, round_id) for round_id in ROUNDS]
    assert [replay.verdict for replay in others] == ["equal", "different", "equal", "different"]
    assert (others[1].difference or "").startswith("outcome, ")


async def test_a_log_of_three_versions_verifies_from_the_file_alone(store: Store, tmp_path: Path) -> None:
    file = await export(store, tmp_path / "log.jsonl")
    with known(TOY):
        found = verify_file(file)
    assert dict(found.rounds) == {"settled": len(VERSIONS)}
    assert (found.pending, found.answers > 0, found.proofs > 0) == (0, True, True)
    with pytest.raises(FaultError, match=UNKNOWN):
        verify_file(file)
    with known(IMPOSTOR), pytest.raises(FaultError, match="does not follow"):
        verify_file(file)


async def test_everybody_of_every_round_is_explained_with_its_own_numbers(store: Store) -> None:
    weights: dict[str, set[float]] = {}
    tiers: dict[str, set[float]] = {}
    with known(TOY):
        async with store.read() as tx:
            for round_id in ROUNDS:
                for hotkey in HOTKEYS[:7]:
                    found = await explain_round(tx, round_id, hotkey)
                    name = found.round.scoring_version
                    assert all(task.as_stored for task in found.tasks)
                    for task in found.tasks:
                        if not isinstance(task, AssessmentExplanation):
                            continue
                        if task.consensus is not None:
                            weights.setdefault(name, set()).add(task.consensus.components[0].weight)
                        if task.emission is not None:
                            tiers.setdefault(name, set()).update(
                                factor.value for factor in task.emission.factors if factor.name == "tier"
                            )
    assert weights == {V1.name: {0.30}, V11.name: {0.30}, TOY.name: {0.25}}
    assert tiers[V11.name] <= {0.5, 1.0, 1.4, 2.0}
    assert tiers[V1.name] <= {0.5, 1.0, 1.4, 2.0}
    assert tiers[TOY.name] <= {0.25, 1.0, 1.4, 3.0}
    assert tiers[TOY.name] & {0.25, 3.0}


async def test_every_task_has_its_proof_with_the_numbers_of_its_version(store: Store) -> None:
    start = {V1.name: 0.5, V11.name: 0.5, TOY.name: 0.6}
    async with store.read() as tx:
        for round_id, name in zip(ROUNDS, VERSIONS, strict=True):
            async for group in tx.records.groups(round_id):
                proof = verify_document(group.proof or b"", VALIDATOR.hotkey).proof
                assert proof.metadata["scoring_version"] == name
                if proof.metadata["kind"] == "workflow":
                    assert {vote.weight for vote in proof.votes} - {0.0} == {start[name]}


async def test_a_page_tells_the_limits_of_the_rounds_own_version(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for round_id, name in zip(ROUNDS, VERSIONS, strict=True):
        with known(TOY):
            async with store.read() as tx:
                print_round_explanation(await explain_round(tx, round_id, HOTKEYS[0]))
        said = capsys.readouterr().out
        most = {V1.name: 100, V11.name: 100, TOY.name: 90}
        assert {int(number) for number in re.findall(r"at most the newest (\d+)", said)} == {most[name]}


async def test_a_round_of_an_unknown_version_is_refused_in_one_line(store: Store) -> None:
    replay = await replayed(store, 1)
    assert (replay.difference or "").startswith(
        "input, scoring_version: No code here scores this version: `9.0.0`; this program scores 1."
    )
    async with store.read() as tx:
        with pytest.raises(NothingToExplainError, match=UNKNOWN) as caught:
            await explain_round(tx, 1, HOTKEYS[0])
    assert "\n" not in str(caught.value)
