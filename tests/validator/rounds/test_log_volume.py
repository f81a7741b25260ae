"""Log volume of whole rounds; the canonical line contains every fact."""

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import structlog
from world import Script, World, garbage, honest, on_virtual_time, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.miners.scripted import ScriptedReply
from validator.store import Store, open_store
from validator.tasks.source import MemorySource
from validator.telemetry import Event, configure_logging
from validator.telemetry.metrics import Metrics

Lines = list[dict[str, Any]]
MINERS = 6


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], level = before
    root.setLevel(level)


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    """Yield a SQLite store; the log volume does not depend on the database."""
    async with open_store(sqlite_url) as opened:
        yield opened


class Written:
    """Rounds of one world, and what each writes."""

    def __init__(self, store: Store, level: Any = "info", **world: Any) -> None:
        self.world = World(store, miners=MINERS, **{"source": MemorySource(tasks_of_all_types()), **world})
        self.metrics = Metrics(self.world.clock, "0")
        self.out = io.StringIO()
        configure_logging(level, "json", self.out, self.metrics.observe)

    async def round(self, script: Script = honest) -> Lines:
        self.world.script = script
        before = len(self.out.getvalue())
        await on_virtual_time(self.world, self.world.service.one_round())
        return [json.loads(line) for line in self.out.getvalue()[before:].splitlines()]

    def counted(self, reason: Reason) -> float | None:
        return self.metrics.registry.get_sample_value("validator_dispatches_total", {"reason": str(reason)})


def named(lines: Lines, event: Event) -> Lines:
    return [line for line in lines if line["event"] == event]


def offline(_signer: Signer, _dispatch: Dispatch) -> ScriptedReply:
    return ScriptedReply(connects=False)


async def test_a_good_round_is_two_lines_and_all_of_it_is_counted(store: Store) -> None:
    written = Written(store)
    first, second = await written.round(), await written.round()
    assert [line["event"] for line in first] == ["capabilities_refreshed", "round_started", "round_settled"]
    assert [line["event"] for line in second] == ["round_started", "round_settled"]
    assert written.counted(Reason.ACCEPTED) == written.world.posts > 100


async def test_what_fails_is_a_line_for_each_miner_and_what_it_failed_on_once(store: Store) -> None:
    written = Written(store)
    bad = min(written.world.signers)

    def one_is_bad(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return garbage(signer, dispatch) if signer.hotkey == bad else honest(signer, dispatch)

    first, second = named(await written.round(one_is_bad), Event.DISPATCH), await written.round(one_is_bad)
    assert [(line["hotkey"], line["reason"]) for line in first] == [(bad, "parse_schema")]
    assert not named(second, Event.DISPATCH)
    failed = sum(line["dispatches"].get("parse_schema", 0) for line in named(second, Event.ROUND_SETTLED))
    assert (written.counted(Reason.PARSE_SCHEMA) or 0) > failed > 1  # the line is folded, the count is not


async def test_a_subnet_that_is_gone_is_a_line_for_each_miner_and_then_none(store: Store) -> None:
    written = Written(store)
    first, second = await written.round(offline), await written.round(offline)
    assert len(named(first, Event.DISPATCH)) == MINERS
    assert [line["event"] for line in second] == ["round_started", "round_settled"]


async def test_who_looks_closely_sees_each_dispatch(store: Store) -> None:
    written = Written(store, "debug")
    for _ in range(2):
        before = written.world.posts
        lines = named(await written.round(), Event.DISPATCH)
        assert len(lines) == written.world.posts - before
        assert {line["level"] for line in lines} == {"debug"}


async def test_the_line_of_a_round_says_it_all(store: Store) -> None:
    written = Written(store)
    written.metrics.pays(0, ["low_reputation", "low_reputation"])
    written.world.service.unpaid = written.metrics.unpaid_windows
    (line,) = named(await written.round(), Event.ROUND_SETTLED)
    assert (
        set(line) - {"event", "level", "timestamp"} == set(Event.ROUND_SETTLED.fields) == set(Event.ROUND_ENDED.fields)
    )
    assert line["tasks"] == 12
    assert line["dispatches"] == {"accepted": written.world.posts}
    assert 0 < line["mean_quality"] <= 1
    assert 0 < line["mean_consensus"] <= 1
    assert line["beyond_s"] == line["seconds"] - 1
    assert line["unpaid"] == 2
    assert line["advice"] == []


async def test_a_round_that_is_early_as_a_whole_names_its_t_min(store: Store) -> None:
    source = MemorySource(tasks_of_all_types(Windows((30, 90), (30, 90))))
    (line,) = named(await Written(store, source=source).round(), Event.ROUND_SETTLED)
    assert set(line["dispatches"]) == {"accepted_early"}
    (advice,) = line["advice"]
    assert advice.startswith("rounds_all_early: all ")
    assert "came before t_min" in advice
    assert "mcp_server 30 s" in advice
    assert "Correct the windows in the tasks' `task.json`" in advice


async def test_a_round_without_tasks_says_what_to_do(store: Store) -> None:
    (line,) = named(await Written(store, source=MemorySource([])).round(), Event.ROUND_ENDED)
    assert (line["reason"], line["tasks"], line["dispatches"], line["mean_quality"]) == (
        "skipped_no_tasks",
        0,
        {},
        None,
    )
    assert [advice.split(":")[0] for advice in line["advice"]] == ["rounds_no_tasks"]
