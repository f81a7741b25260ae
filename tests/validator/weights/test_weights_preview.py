"""`validator weights plan`, `run --dry-run`, and several mechanisms: what is sent, and what only would be."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from daemon_process import Miners, Site
from fork_start import ran
from weights_world import ME, MINERS, OWNER, World, build, give_scores, restarted, run_until, running, scored

from sssa.protocol.task import Windows
from validator.settings.model import Settings
from validator.store import Store, open_store
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.rows import WeightMark
from validator.telemetry import Event
from validator.weights.preview import PlanView, planned_weights

SCORES = {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)}
SHARES = pytest.approx({hotkey: score / sum(SCORES.values()) for hotkey, score in SCORES.items()})


async def plan_in(world: World, **weights: Any) -> tuple[PlanView, ...]:
    given = {**world.settings.model_dump(), "stop_file": str(world.stop_file), **weights}
    settings = Settings.model_validate({"validator": {"netuid": 1}, "weights": given})
    async with world.store.read() as tx:
        return await planned_weights(tx, settings, world.chain, world.clock, ME)


async def test_the_plan_is_what_is_sent_and_then_equals_the_chain(store: Store) -> None:
    world = await scored(store, SCORES)
    await world.clock.advance(12.0)
    before = world.subnet.state
    (view,) = await plan_in(world)
    assert world.subnet.state == before
    assert (view.block, view.epoch, view.epoch_end, view.due_block, view.blocks_until) == (12, 0, 19, 14, 2)
    assert (view.state, view.blockers, view.owner) == (None, (), None)
    assert {line.hotkey: line.score for line in view.lines} == SHARES
    assert [line.planned for line in view.lines] == sorted((line.planned for line in view.lines), reverse=True)
    assert all(line.difference == line.planned > 0 for line in view.lines)
    assert view.lines[0].planned_u16 == 65535
    await run_until(world, 15)
    (after,) = await plan_in(world)
    assert world.subnet.weights(0, 0) == {line.uid: line.planned_u16 for line in view.lines}
    assert (after.state, after.blocks_until) == ("as_sent", 0)
    assert all(line.difference == 0 for line in after.lines)
    assert [standing.reason for standing in after.blockers] == ["weights_rate_limited"]


async def test_the_plan_says_everything_that_stands_in_the_way(store: Store, tmp_path: Path) -> None:
    world = build(store, stop_file=tmp_path / "stop-file", min_stake_tao=500.0)
    world.subnet.set_permit(ME, validator_permit=False)
    await world.clock.advance(12.0)
    world.stop_file.write_text("somebody")
    (view,) = await plan_in(world, enabled=False, dry_run=True)
    assert [standing.reason for standing in view.blockers] == [
        "weights_locked",
        "weights_disabled",
        "weights_dry_run",
        "weights_no_permit",
        "weights_none_positive",
    ]
    assert view.lines == ()
    world.subnet.deregister(ME)
    (view,) = await plan_in(world)
    assert "weights_not_registered" in [standing.reason for standing in view.blockers]


async def test_the_plan_says_that_the_subnet_asks_for_more_weights(store: Store) -> None:
    world = await scored(store, SCORES, min_allowed_weights=9, weights_rate_limit=0)
    (view,) = await plan_in(world)
    assert [(found.reason, found.detail) for found in view.blockers] == [
        ("weights_too_few", f"{len(view.lines)} uids with a weight, at least 9 asked for")
    ]


@pytest.mark.parametrize(
    ("mark", "lifetime", "standing"),
    [
        (None, 40, [("weights_unknown", "epoch 0 may arrive until block 41")]),
        (None, 4, []),  # it can no longer arrive: the next look of a running validator sends again
        (WeightMark(0, 50, 60), 4, [("weights_chain_behind", "last update in block 0, but it was in 50 before")]),
    ],
)
async def test_the_plan_rules_as_a_running_validator_does(
    store: Store, mark: WeightMark | None, lifetime: int, standing: list[tuple[str, str]]
) -> None:
    world = await scored(store, SCORES, weights_rate_limit=0)
    await world.clock.advance(12.0)
    planned, now = PlannedWeights({}, {}, 0.0, {5: 65535}), world.clock.now()
    async with store.begin() as tx:
        prepared = await tx.weights.prepare(1, 0, 0, planned, now)
        await tx.weights.submit(prepared, planned, signed_block=1, lifetime=lifetime, at=now)
        await tx.weights.lose(prepared.id, now, "gone")
        if mark is not None:
            await tx.weight_guard.set_mark(1, 0, ME, mark, now)
    (view,) = await plan_in(world)
    assert [(found.reason, found.detail) for found in view.blockers] == standing


async def test_the_plan_shows_the_owners_part_and_who_left(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0}, weights_rate_limit=0)
    world.subnet.set_weights(ME, 0, {2: 1.0, 5: 1.0})
    world.subnet.deregister("miner3")
    (view,) = await plan_in(world)
    assert view.owner == OWNER
    assert view.unallocated == pytest.approx(0.85)
    lines = {line.uid: line for line in view.lines}
    assert lines[1].hotkey == OWNER
    assert lines[1].weight == 0.0
    assert lines[1].planned == pytest.approx(0.85, abs=1e-4)
    assert (lines[5].hotkey, lines[5].planned_u16, lines[5].on_chain) == (None, 0, 0.5)


async def test_a_dry_run_says_what_it_would_have_sent_and_sends_nothing(store: Store, tmp_path: Path) -> None:
    world = build(store, settings={"dry_run": True}, stop_file=tmp_path / "stop-file", weights_rate_limit=0)
    world.stop_file.write_text("no matter")
    await give_scores(store, world.subnet, SCORES)
    async with running(world):
        await world.until_block(20)
        world.subnet.set_weights(ME, 0, {3: 1.0})  # by the validator that does send
        await world.until_block(40)
    lines = world.events(Event.WEIGHTS_PLANNED)
    assert [(line["epoch"], line["block"], line["reason"]) for line in lines] == [
        (0, 14, "weights_dry_run"),
        (1, 34, "weights_dry_run"),
    ]
    assert set(lines[0]) - {"event", "log_level"} == Event.WEIGHTS_PLANNED.fields
    assert lines[0]["scores"] == SHARES
    assert await world.records() == []
    assert world.subnet.weights(0, 0) == {3: 65535}


async def test_each_mechanism_gets_its_own_kind_and_its_own_submission(store: Store) -> None:
    apart = {"workflow_mechid": 1}
    world = await scored(store, {"miner0": 1.0, "miner1": 0.0}, settings=apart, mechanisms=2)
    await give_scores(store, world.subnet, {"miner0": 0.0, "miner1": 1.0}, round_id=1, skill_type="workflow")
    world.signing, world.sleepers = asyncio.Lock(), 4
    first = restarted(world).service
    world.mechid = 1
    async with running(restarted(world)):
        both = asyncio.create_task(first.run())
        await world.until_block(39)
        both.cancel()
    assert world.subnet.weights(0, 0) == {1: 65535, 2: 11565}
    assert world.subnet.weights(1, 0) == {1: 65535, 3: 11565}
    records = await world.records()
    assert sorted((record.mechid, record.epoch, record.state) for record in records) == [
        (0, 0, "confirmed"),
        (0, 1, "confirmed"),
        (1, 0, "confirmed"),
        (1, 1, "confirmed"),
    ]
    views = await plan_in(world, **apart)
    assert [view.mechid for view in views] == [0, 1]


def until_started(log: Path) -> None:
    while b"daemon_started" not in log.read_bytes():
        time.sleep(0.05)


async def test_the_command_works_beside_a_running_daemon(store_url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, store_url, Miners(0), Windows((0, 6), (0, 3)))
    async with site.forked():
        await asyncio.to_thread(until_started, site.log)
        for arguments in (["--json"], []):
            done = await asyncio.to_thread(ran, "weights", "plan", *arguments, "--config", str(site.config))
            assert done.returncode == 0, done.stderr
            if arguments:
                (view,) = json.loads(done.stdout)["mechanisms"]
                assert (view["netuid"], view["mechid"], view["lines"]) == (1, 0, [])
                assert "weights_none_positive" in [standing["reason"] for standing in view["blockers"]]
            else:
                assert "not now: weights_none_positive: No miner has a positive score" in done.stdout
    async with open_store(store_url) as store, store.read() as tx:
        assert await tx.weights.listing(10) == ()
