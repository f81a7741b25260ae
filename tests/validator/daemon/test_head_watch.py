"""The watch over the head: an endpoint that is left is a condition, in the report, for as long as it is."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sssa.sources import VirtualClock
from validator.chain.clockwatch import ClockWatch
from validator.chain.interface import EndpointUse, Head
from validator.daemon.watches import HeadWatch
from validator.health.board import Board
from validator.health.report import HealthState
from validator.telemetry.metrics import Metrics


async def test_an_endpoint_that_is_left_is_a_condition_until_it_is_used_again() -> None:
    async def head() -> Head:
        return Head(1, "00" * 32, int(clock.now().timestamp()), 0)

    clock = VirtualClock()
    health = HealthState(clock, 60.0, "0.1.0", Board(clock))
    chain: Any = SimpleNamespace(head=head, latency_s=2.5, endpoint_use=EndpointUse("wss://b", {"wss://a": "silent"}))
    watch = HeadWatch(chain, clock, health, ClockWatch(clock), Metrics(clock, "0.1.0"))
    watching = asyncio.create_task(watch.run())
    await clock.advance(11.0)
    health.beat()
    report = health.report()
    shown = {each.condition.name: each.detail for each in report.conditions}
    assert shown == {"chain_endpoint_unhealthy": "wss://a: silent", "chain_slow": "slow: 2.5 s a call at wss://b"}
    row = report.checks["endpoints"]
    assert (row["ok"], row["used"], row["unhealthy"]) == (False, "wss://b", {"wss://a": "silent"})
    assert (report.status, report.ready) == ("degraded", True)
    chain.endpoint_use, chain.latency_s = EndpointUse("wss://a"), 0.1
    await clock.advance(21.0)
    health.beat()
    report = health.report()
    assert not report.conditions
    assert report.checks["endpoints"]["ok"]
    watching.cancel()
    await asyncio.wait({watching})
