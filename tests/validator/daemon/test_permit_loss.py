"""Losing registration or permit while running: logged once, rounds as the settings say, nothing sent."""

import pytest
from daemon_kit import Running, running
from world import VALIDATOR


async def rounds_from_now(daemon: Running, blocks: int) -> int:
    before = len(daemon.events("round_settled"))
    await daemon.until_block(daemon.subnet.blocks.number() + blocks)
    return len(daemon.events("round_settled")) - before


@pytest.mark.parametrize("without_permit", ["run", "pause"])
async def test_losing_the_permit_is_said_once_and_nothing_is_sent(sqlite_url: str, without_permit: str) -> None:
    async with running(sqlite_url, without_permit=without_permit) as daemon:
        await daemon.until_block(9)
        assert len(await daemon.weights()) == 1
        daemon.subnet.set_permit(VALIDATOR.hotkey, validator_permit=False)
        await daemon.until(lambda: bool(daemon.events("standing_lost")))
        assert (await rounds_from_now(daemon, 20) > 0) == (without_permit == "run")
        assert len(await daemon.weights()) == 1
        report = await daemon.health()
        assert [each["name"] for each in report["conditions"]] == ["no_standing", "executions_off"]
        standing = report["checks"]["standing"]
        assert (standing["ok"], standing["missing"]) == (False, "weights_no_permit")
        assert standing["paused"] == (without_permit == "pause")
        assert b"validator_permit 0.0" in daemon.metrics.render()
        daemon.subnet.set_permit(VALIDATOR.hotkey, validator_permit=True)
        await daemon.until(lambda: bool(daemon.events("standing_back")))
        assert await rounds_from_now(daemon, 20) > 0
        assert len(await daemon.weights()) >= 2
        assert b"validator_permit 1.0" in daemon.metrics.render()
        lost = daemon.events("standing_lost")
    assert [(line["reason"], line["rounds"]) for line in lost] == [
        ("weights_no_permit", "run" if without_permit == "run" else "paused")
    ]
    assert len(daemon.events("standing_back")) == 1
    assert [line["reason"] for line in daemon.events("weights_blocked")] == ["weights_no_permit"]


async def test_losing_the_slot_is_said_once(sqlite_url: str) -> None:
    async with running(sqlite_url, without_permit="pause") as daemon:
        await daemon.until_block(2)
        daemon.subnet.deregister(VALIDATOR.hotkey)
        await daemon.until(lambda: bool(daemon.events("standing_lost")))
        assert await rounds_from_now(daemon, 20) == 0
        assert await daemon.weights() == []
        assert [line["reason"] for line in daemon.events("standing_lost")] == ["weights_not_registered"]
        daemon.subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        await daemon.until(lambda: bool(daemon.events("standing_back")))
        assert await rounds_from_now(daemon, 10) > 0
