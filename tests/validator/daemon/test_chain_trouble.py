"""A node that is slow, hangs, is behind, is another chain or comes back: where it is reported, and how soon.

It checks the table of docs/operators/three-in-the-morning.md.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pytest
from daemon_kit import Running, over_the_sdk, settings_for
from subtensor_node import Node

from localnet.chain.subnet import SimulatedSubnet
from validator.health.status import Observer, Overview

PAGE: Final = Path(__file__).parents[3] / "docs" / "operators" / "three-in-the-morning.md"
BACK: Final = 30  # blocks


def slow(node: Node) -> None:
    node.latency_s = 2.0


def hangs(node: Node) -> None:
    node.silent = True


def behind(node: Node) -> None:
    node.behind, node.gone = BACK, True  # the subnet was not there yet


def other(node: Node) -> None:
    rules = msgspec.structs.replace(node.subnet.rules, seed="other")
    node.subnet = SimulatedSubnet.create(rules, node.clock)


class Row(NamedTuple):
    """A line of the table, as the page has it: the condition, its detail, readyz, status, and the most seconds."""

    condition: str
    detail: str
    code: int
    status: str
    seconds: int


CASES: Final[Mapping[str, Callable[[Node], None]]] = {
    "is slow (2 s a call)": slow,
    "hangs": hangs,
    "is behind": behind,
    "is another chain": other,
}


def table() -> dict[str, Row]:
    """The rows of the page, by what the node does."""
    rows = re.findall(
        r"^\| it (.+?) \| `(\w+)`: `(.+?)` \| (\d+), `(\w+)` \|.* \| (\d+) s \|$", PAGE.read_text(), re.MULTILINE
    )
    return {
        does: Row(name, detail, int(code), status, int(seconds)) for does, name, detail, code, status, seconds in rows
    }


def numberless(text: str) -> str:
    return re.sub(r"\d[\d.,]*", "#", text)


async def seconds_until_reported(daemon: Running, row: Row, since: float, store_url: str) -> float:
    """Let time pass until log, readyz, status and metrics have it; return after how many seconds."""
    await daemon.until(lambda: any(row.condition == line["condition"] for line in daemon.events("condition_raised")))
    seconds = daemon.clock.monotonic() - since
    line = daemon.events("condition_raised")[-1]
    pieces = (re.escape(numberless(piece)) for piece in row.detail.split("…"))
    assert re.search(".*".join(pieces), numberless(line["detail"])), line["detail"]
    code, report = await daemon.readyz()
    assert (code, report["status"]) == (row.code, row.status)
    assert row.condition in [each["name"] for each in report["conditions"]]
    shown = (await status_of(daemon, store_url)).running
    assert shown.report is not None
    assert row.status in shown.status
    assert any(row.condition in one for one in shown.conditions)
    assert f'validator_condition{{condition="{row.condition}"}} 1.0'.encode() in daemon.metrics.render()
    return seconds


async def status_of(daemon: Running, store_url: str) -> Overview:
    settings = settings_for(store_url)
    health = settings.health.model_copy(update={"port": daemon.address[1]})
    observer = Observer(settings.model_copy(update={"health": health}), with_chain=False)
    try:
        return await observer.look()
    finally:
        await observer.close()


@pytest.mark.parametrize("does", CASES)
async def test_the_page_says_what_is_said_of_a_node_and_how_soon(sqlite_url: str, does: str) -> None:
    row = table()[does]
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until_block(12 + BACK * (CASES[does] is behind))
        own, before, began = node.subnet, len(daemon.log), daemon.clock.monotonic()
        CASES[does](node)
        seconds = await seconds_until_reported(daemon, row, began, sqlite_url)
        assert seconds <= row.seconds <= 60
        await daemon.until(lambda: daemon.clock.monotonic() >= began + 100)
        trouble = daemon.log[before:]
        node.latency_s, node.silent, node.behind, node.gone, node.subnet = 0.0, False, 0, False, own
        began = daemon.clock.monotonic()
        await daemon.until(lambda: not daemon.daemon.board.is_active(row.condition))
        assert daemon.clock.monotonic() - began <= table()["comes back"].seconds <= 60
        checks = (await daemon.health())["checks"]
        assert (checks["chain"]["ok"], checks["latency"]["ok"]) == (True, True)
    over = daemon.clock.monotonic() - began
    sys.stdout.write(f"\n{does}: {row.condition} after {seconds:.0f} s, over {over:.0f} s after its end\n")
    for pair in (("chain_unreachable", "chain_back"), ("weights_blocked", "weights_unblocked")):
        assert all(len([line for line in trouble if line["event"] == name]) <= 2 for name in pair), trouble
    texts = " ".join(str(value) for line in trouble for value in line.values())
    assert "no such subnet" not in texts
    assert "weights_old" not in texts
    raised = [line["condition"] for line in trouble if line["event"] == "condition_raised"]
    assert [name for name in raised if name.startswith(("chain", "other", "subnet"))] == [row.condition]
    assert not [line for line in trouble if line["log_level"] == "error"]


async def test_at_two_seconds_a_call_rounds_settle_and_weights_are_set(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        node.latency_s = 2.0
        await daemon.until_block(45)
        epochs = [record.epoch for record in await daemon.weights() if record.state == "confirmed"]
        assert daemon.events("round_settled")
    assert epochs == [0, 1, 2, 3]


async def test_the_first_refused_vector_is_a_condition_until_one_is_taken(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        board = daemon.daemon.board
        node.pool_refusal = "Invalid Transaction: Custom error: 6"
        await daemon.until(lambda: board.is_active("weights_refused"))
        (record,) = await daemon.weights()
        assert (record.state, record.attempts) == ("rejected", 1)
        code, report = await daemon.readyz()
        assert (code, report["checks"]["weights"]["condition"]) == (503, "weights_refused")
        assert "rate_limited" in next(one["detail"] for one in report["conditions"] if one["name"] == "weights_refused")
        node.pool_refusal = None
        await daemon.until(lambda: not board.is_active("weights_refused"))


async def test_a_node_whose_subnet_alone_cannot_be_read_makes_a_pair_of_lines_a_minute(sqlite_url: str) -> None:
    async with over_the_sdk(sqlite_url) as (daemon, node):
        await daemon.until_block(12)

        def broken(name: str) -> None:
            if name == "get_metagraph":
                raise KeyError("hotkeys")

        node.after_read, before = broken, len(daemon.log)
        await daemon.until_block(22)  # two minutes, in which weights are due
        node.after_read = lambda _: None
        await daemon.until_block(26)
        lines = [str(line["event"]) for line in daemon.log[before:]]
    for name in ("chain_unreachable", "chain_back", "weights_blocked", "weights_unblocked"):
        assert 1 <= lines.count(name) <= 2, lines
