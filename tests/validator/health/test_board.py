"""When conditions stand, and what the log has of them, on virtual time."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from sssa.protocol.reasons import Reason
from sssa.sources import VirtualClock
from validator.health.board import ROUNDS, Board
from validator.health.catalogue import CONDITIONS, QUIET_S
from validator.miners.directory import Declared
from validator.rounds.facts import RoundFacts
from validator.weights.service import Trouble

GOOD = RoundFacts(Reason.SETTLED, 5.0, tasks=3, miners=4, dispatches=12, answers={Reason.ACCEPTED: 12})
ON_TIME = Declared(4, 4)
BAD = {
    "rounds_no_tasks": (RoundFacts(Reason.SKIPPED_NO_TASKS, declared=ON_TIME), "the task source gave none"),
    "rounds_no_miners": (
        RoundFacts(Reason.SETTLED, tasks=3, declared=ON_TIME),
        "no registered miner has a declaration that counts",
    ),
    "rounds_no_dispatches": (
        RoundFacts(Reason.SETTLED, tasks=3, miners=2, declared=ON_TIME),
        "2 miners, none of them in a group",
    ),
    "rounds_no_valid_answers": (
        RoundFacts(
            Reason.SETTLED,
            tasks=3,
            miners=2,
            dispatches=6,
            answers={Reason.DEADLINE_CONNECT: 5, Reason.PARSE_SCHEMA: 1},
        ),
        "6 dispatches: 5 deadline_connect, 1 parse_schema",
    ),
    "rounds_all_early": (
        RoundFacts(
            Reason.SETTLED,
            tasks=3,
            miners=2,
            dispatches=6,
            answers={Reason.ACCEPTED_EARLY: 5, Reason.PARSE_SCHEMA: 1},
            t_min={"declarative": 30.0, "mcp_server": 60.5},
        ),
        "all 5 accepted answers came before t_min (declarative 30 s, mcp_server 60.5 s), so that their emission is 0",
    ),
    "declarations_refused": (
        RoundFacts(
            Reason.SETTLED,
            tasks=3,
            miners=2,
            dispatches=6,
            answers={Reason.ACCEPTED: 6},
            declared=Declared(7, 0, {"declaration_future": 5, "deadline_connect": 2}, clock=5),
        ),
        "7 asked: 5 declaration_future, 2 deadline_connect; likely cause: this machine's clock",
    ),
}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def log() -> Iterator[list[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def names(board: Board) -> list[str]:
    return [each.condition.name for each in board.active()]


def test_every_condition_of_rounds_is_tried_here() -> None:
    assert set(BAD) == {name for name, condition in CONDITIONS.items() if condition.in_round}


@pytest.mark.parametrize("name", BAD)
async def test_a_condition_of_rounds_stands_after_three_rounds_in_a_row(name: str, clock: VirtualClock) -> None:
    seen, detail = BAD[name]
    board = Board(clock)
    for _ in range(2):
        board.record_round(seen)
        await clock.advance(3_600)
        board.tick()
        assert names(board) == []  # however long ago
    board.record_round(seen)
    assert [(each.condition.name, each.detail) for each in board.active()] == [(name, detail)]
    board.record_round(GOOD)
    assert names(board) == []


@pytest.mark.parametrize("name", BAD)
def test_a_good_round_in_between_begins_anew(name: str, clock: VirtualClock) -> None:
    board = Board(clock)
    for _ in range(3):
        board.record_round(BAD[name][0])
        assert names(board) == []
        board.record_round(GOOD)
    for _ in range(ROUNDS):
        board.record_round(BAD[name][0])
    assert names(board) == [name]


def test_a_round_that_is_over_before_it_began_is_one_without_requests() -> None:
    over = RoundFacts(Reason.SKIPPED_EPOCH_OVER)
    shown = {name: one.in_round(over) for name, one in CONDITIONS.items() if one.in_round and one.in_round(over)}
    assert shown == {"rounds_no_dispatches": "rounds end as skipped_epoch_over"}


def test_one_good_answer_says_nothing() -> None:
    mixed = RoundFacts(
        Reason.SETTLED,
        tasks=1,
        miners=1,
        dispatches=3,
        answers={Reason.ACCEPTED_EARLY: 2, Reason.ACCEPTED: 1},
        declared=Declared(9, 1, {"declaration_future": 8}, 8),
    )
    for seen in (mixed, GOOD):
        assert [name for name, one in CONDITIONS.items() if one.in_round and one.in_round(seen) is not None] == []


def test_without_clocks_in_it_the_cause_is_not_named() -> None:
    refused = CONDITIONS["declarations_refused"].in_round
    assert refused is not None
    seen = RoundFacts(Reason.SETTLED, declared=Declared(5, 0, {"deadline_connect": 3, "declaration_future": 2}, 2))
    assert refused(seen) == "5 asked: 3 deadline_connect, 2 declaration_future"


async def test_the_log_has_one_line_when_it_appears_and_one_when_it_is_gone(
    clock: VirtualClock, log: list[MutableMapping[str, Any]]
) -> None:
    board = Board(clock)
    for _ in range(100):
        board.raise_("store_away", "refused\x1b[31m")
        board.tick()
        await clock.advance(1)
    board.clear("store_away")
    board.clear("store_away")
    assert log == [
        {
            "event": "condition_raised",
            "condition": "store_away",
            "severity": "unhealthy",
            "detail": "refused\\u001b[31m",
            "advice": CONDITIONS["store_away"].advice,
            "changes": 1,
            "log_level": "warning",
        },
        {
            "event": "condition_cleared",
            "condition": "store_away",
            "seconds": 100.0,
            "changes": 1,
            "log_level": "info",
        },
    ]


async def test_what_flaps_is_counted(clock: VirtualClock, log: list[MutableMapping[str, Any]]) -> None:
    reported: list[bool] = []
    board = Board(clock, lambda _, active: reported.append(active))
    assert reported == [False] * len(CONDITIONS)
    reported.clear()
    for _ in range(100):
        board.raise_("store_away")
        assert board.is_active("store_away")
        await clock.advance(1)
        board.clear("store_away")
        await clock.advance(1)
        board.tick()
    assert len(reported) == 200  # metrics see every change
    assert len(log) <= 2 * (200 / QUIET_S + 1)
    await clock.advance(QUIET_S)
    board.tick()
    assert log[-1]["event"] == "condition_cleared"
    assert sum(line["changes"] for line in log) == 200 or not board.is_active("store_away")


async def test_one_that_came_back_within_a_minute_and_stays_is_said_then(
    clock: VirtualClock, log: list[MutableMapping[str, Any]]
) -> None:
    board = Board(clock)
    board.raise_("gates_behind")
    board.clear("gates_behind")
    board.raise_("gates_behind")
    assert [line["event"] for line in log] == ["condition_raised", "condition_cleared"]
    await clock.advance(QUIET_S)
    board.tick()
    assert [line["event"] for line in log] == ["condition_raised", "condition_cleared", "condition_raised"]


async def test_who_is_paid_is_said_at_most_once_an_hour_and_again_for_another_cause(
    clock: VirtualClock, log: list[MutableMapping[str, Any]]
) -> None:
    board = Board(clock)
    for minute in range(180):
        board.raise_("weights_concentrated", f"minute {minute}", "mechanism 0", cause="one")
        board.raise_(
            "weights_concentrated", f"minute {minute}", "mechanism 1", cause="other" if minute >= 30 else "one"
        )
        board.tick()
        await clock.advance(60)
    assert [line["detail"] for line in log] == ["minute 0", "minute 60"]  # the other cause, when the hour is over
    board.clear("weights_concentrated", "mechanism 1")
    assert len(log) == 2
    board.clear("weights_concentrated", "mechanism 0")
    assert [line["event"] for line in log] == ["condition_raised", "condition_raised", "condition_cleared"]


def test_unhealthy_comes_first_and_details_stay_current(clock: VirtualClock) -> None:
    board = Board(clock)
    board.raise_("gates_behind", "60 s")
    board.raise_("store_away")
    board.raise_("gates_behind", "70 s")
    assert [(each.condition.name, each.detail) for each in board.active()] == [
        ("store_away", ""),
        ("gates_behind", "70 s"),
    ]


def test_every_condition_says_what_it_means_and_what_to_do() -> None:
    for name, condition in CONDITIONS.items():
        assert name == condition.name
        for sentence in (condition.meaning, condition.advice):
            assert sentence.endswith(".")
            assert "\n" not in sentence
            assert "|" not in sentence


def test_weights_fail_until_those_of_every_mechanism_are_mended() -> None:
    clock = VirtualClock()
    board = Board(clock)
    one, other = (Trouble(clock, board, {"netuid": 1, "mechid": mechid}) for mechid in (0, 1))
    one.failed(RuntimeError("again and again"))
    other.step_done(attempt_failed=False)
    assert board.is_active("weights_failing")
    other.failed(RuntimeError("as well"))
    one.step_done(attempt_failed=False)
    assert board.is_active("weights_failing")
    other.step_done(attempt_failed=False)
    assert not board.is_active("weights_failing")
