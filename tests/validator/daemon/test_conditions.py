"""A daemon whose rounds have no result reports it, on virtual time; its health is asked over HTTP."""

import pytest
from daemon_kit import Running, running

from validator.health.board import ROUNDS


def rounds(daemon: Running) -> int:
    return len(daemon.events("round_ended") + daemon.events("round_settled"))


async def test_without_a_miner_that_declares_it_is_degraded_after_three_rounds_and_says_so_once(
    sqlite_url: str,
) -> None:
    async with running(sqlite_url, judges_rounds=True) as daemon:
        await daemon.until(lambda: rounds(daemon) == ROUNDS - 1)
        first = await daemon.health()
        await daemon.until(lambda: rounds(daemon) == ROUNDS)
        report = await daemon.health()
        raised = daemon.events("condition_raised")
    assert first["status"] == "ok"
    (advice,) = first["checks"]["rounds"]["last_advice"].values()
    assert advice.startswith(
        "rounds_no_miners: no registered miner has a declaration that counts. Check `validator.net"
    )
    assert report["status"] == "degraded"
    assert [each["name"] for each in report["conditions"]] == ["rounds_no_miners", "executions_off"]
    assert b'validator_condition{condition="rounds_no_miners"} 1.0' in daemon.metrics.render()
    assert [line["condition"] for line in raised] == ["executions_off", "rounds_no_miners"]


async def test_a_round_that_fails_again_and_again_is_one_traceback_and_unhealthy_until_one_ends(
    sqlite_url: str,
) -> None:
    async with running(sqlite_url) as daemon:
        real = daemon.daemon.rounds.preparer
        daemon.daemon.rounds.preparer = None  # type: ignore[assignment]
        await daemon.until(lambda: bool(daemon.events("round_failed")))
        failed = daemon.clock.monotonic()
        await daemon.until(lambda: daemon.clock.monotonic() > failed + 120)
        report = await daemon.health()
        assert report["status"] == "unhealthy"
        assert [each["name"] for each in report["conditions"]] == ["rounds_failing", "executions_off"]
        assert report["conditions"][0]["detail"].startswith("AttributeError")
        assert len(daemon.events("round_failed")) == 1
        daemon.daemon.rounds.preparer = real
        await daemon.until(lambda: bool(daemon.events("condition_cleared")))
        assert (await daemon.health())["status"] == "ok"


async def test_weights_that_fail_again_and_again_are_one_traceback_and_unhealthy_until_some_go(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no weights\n")

    async with running(sqlite_url) as daemon:
        with monkeypatch.context() as patch:
            patch.setattr("validator.weights.service.plan_vector", broken)
            await daemon.until(lambda: daemon.daemon.board.is_active("weights_failing"))
            failed, rounds = daemon.clock.monotonic(), len(daemon.events("round_started"))
            await daemon.until(lambda: daemon.clock.monotonic() > failed + 100)  # the next epoch has begun
            report = await daemon.health()
            assert report["status"] == "unhealthy"
            (condition, _) = report["conditions"]
            assert (condition["name"], condition["detail"]) == (
                "weights_failing",
                "ZeroDivisionError: no weights\\u000a",
            )
            assert len(daemon.events("weights_failed")) == 1
            assert len(daemon.events("round_started")) > rounds  # rounds continue
            assert b'validator_errors_total{event="weights_failed"} 1.0' in daemon.metrics.render()
            assert await daemon.weights() == []
        await daemon.until(lambda: not daemon.daemon.board.is_active("weights_failing"))
        assert (await daemon.health())["status"] == "ok"
        assert [record.state for record in await daemon.weights()] == ["confirmed"]
