"""With a wrong clock no round starts and no weights are computed; once it is right, everything continues (D-26).

The clock of the whole daemon is wrong here, that of the simulated chain is not: a fake clock under the process would
move both, because the simulated chain makes its blocks by the machine's clock.
"""

import pytest
from daemon_kit import TEMPO, Running, with_wrong_clock

OFF = 300.0


def begun(daemon: Running) -> int:
    """Return the number of rounds of any kind: a daemon without miners ends each at once."""
    return len(daemon.events("round_started"))


@pytest.mark.parametrize("off", [-OFF, OFF], ids=["behind", "ahead"])
async def test_five_minutes_off_either_way(sqlite_url: str, off: float) -> None:
    async with with_wrong_clock(sqlite_url, off) as (daemon, clock):
        await daemon.until(lambda: daemon.daemon.board.is_active("local_clock"))
        await daemon.until_block(4)
        (standing,) = [one for one in daemon.daemon.board.active() if one.condition.name == "local_clock"]
        side = "ahead of" if off > 0 else "behind"
        assert standing.detail.startswith("the clock is ")
        assert side in standing.detail
        report = await daemon.health()
        assert report["status"] == "unhealthy"
        assert "local_clock" in [one["name"] for one in report["conditions"]]
        await daemon.until_block(2 * (TEMPO + 1))
        assert begun(daemon) == 0
        assert not daemon.events("weights_submitted")
        blocked = [line["reason"] for line in daemon.events("weights_blocked")]
        assert blocked == ["local_clock"]
        assert len(daemon.events("condition_raised")) <= 2
        clock.off = 0.0
        await daemon.until(lambda: begun(daemon) > 0)
        assert not daemon.daemon.board.is_active("local_clock")
        await daemon.until(lambda: bool(daemon.events("weights_submitted")))


async def test_a_clock_that_goes_wrong_while_it_runs_stops_the_rounds(sqlite_url: str) -> None:
    async with with_wrong_clock(sqlite_url, 0.0) as (daemon, clock):
        await daemon.until(lambda: begun(daemon) > 0)
        clock.off = OFF
        await daemon.until(lambda: daemon.daemon.board.is_active("local_clock"))
        before = begun(daemon)
        await daemon.until_block(daemon.subnet.blocks.number() + 5)
        assert begun(daemon) == before
        clock.off = 10.0  # right enough
        await daemon.until(lambda: begun(daemon) > before)
