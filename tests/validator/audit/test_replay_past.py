"""The end of a round is the start of the next: verifier and replay compute it by the same step."""

from pathlib import Path

import pytest
from audit_file import export
from world import World, on_virtual_time, tasks_of_all_types

from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from validator.audit.replay import Past, RoundReplay, replay_round
from validator.store import Store
from validator.tasks.source import MemorySource

ROUNDS = 3


@pytest.fixture
async def played(store: Store) -> Store:
    """A store with rounds that settled."""
    world = World(store, miners=5, source=MemorySource(tasks_of_all_types()[2:4]))
    for _ in range(ROUNDS):
        await on_virtual_time(world, world.service.one_round())
    return store


async def replays(store: Store, *ids: int) -> list[RoundReplay]:
    past = Past()
    async with store.read() as tx:
        found = [await replay_round(tx, round_id, past) for round_id in ids]
    return [one for one in found if one is not None]


async def test_rounds_that_were_not_touched_follow_from_each_other_whichever_are_replayed(played: Store) -> None:
    for ids in ((0, 1, 2), (1, 2), (0, 2), (2, 1, 0)):
        assert [one.verdict for one in await replays(played, *ids)] == ["equal"] * len(ids)


@pytest.mark.parametrize(("name", "value", "place"), [("ROLES", 1, ".recent_roles"), ("ROUNDS", 1, "].history.")])
async def test_a_constant_of_the_step_changes_what_replay_and_the_verifier_expect(  # noqa: PLR0913, PLR0917 - a case
    played: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, place: str
) -> None:
    log = await export(played, tmp_path / "log")
    assert verify_file(log).rounds == {"settled": ROUNDS}
    monkeypatch.setattr(f"sssa.scoring.v1.step.{name}", value)
    found = await replays(played, 0, 1, 2)
    wrong = next(one for one in found if one.verdict == "different")
    assert (wrong.difference or "").startswith("input, miners[")
    assert place in (wrong.difference or "")
    with pytest.raises(FaultError) as caught:
        verify_file(log)
    assert caught.value.round_id == str(wrong.round_id)
    assert (wrong.difference or "").startswith(f"input, {caught.value.path}: ")


async def test_a_round_behind_one_that_differs_is_taken_at_its_word(
    played: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("sssa.scoring.v1.step.ROLES", 0)
        found = await replays(played, 0, 1, 2)
    assert [one.verdict for one in found] == ["equal", "different", "equal"]
