"""When a validator is healthy, on virtual time."""

from typing import Any

import pytest

from sssa.protocol.reasons import Reason
from sssa.sources import VirtualClock
from validator.health.board import Board
from validator.health.catalogue import CHECKS, CONDITIONS
from validator.health.report import (
    CHAIN_LIMIT_S,
    LONGEST_DEADLINE_S,
    LOOP_LIMIT_S,
    SLACK_S,
    STALE_S,
    HealthState,
    checked,
)
from validator.store.rows import LogHead

INTERVAL = 600.0


async def later(clock: VirtualClock, state: HealthState, seconds: float) -> Any:
    """Let time pass while the loop runs; return the report."""
    await clock.advance(seconds)
    state.beat()
    return state.report()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def state(clock: VirtualClock) -> HealthState:
    return HealthState(clock, INTERVAL, "0.0.1", Board(clock))


def test_a_fresh_validator_is_healthy(state: HealthState) -> None:
    report = state.report()
    assert (report.status, report.healthy) == ("ok", True)
    document = report.document()
    assert (document["started_at"], document["version"]) == ("2026-01-01T00:00:00Z", "0.0.1")
    known = {name: check["ok"] for name, check in document["checks"].items() if check["ok"] is not None}
    assert set(known) == {"rounds", "loop", "store", "log", "readers"}
    assert all(known.values())
    assert list(document["checks"]) == list(CHECKS)


def test_every_condition_fails_one_check_with_its_advice(state: HealthState) -> None:
    for name in CONDITIONS:
        state.board.raise_(name)
        told = {row: check for row, check in checked({}, state.board).items() if "condition" in check}
        assert set(told) == {CONDITIONS[name].check}
        (row,) = told.values()
        assert (row["condition"], row["advice"]) == (name, CONDITIONS[name].advice)
        assert row["ok"] is (None if CONDITIONS[name].severity == "note" else False)
        state.board.clear(name)


def test_a_check_with_several_active_conditions_names_the_worst(state: HealthState) -> None:
    for name in ("executions_off", "executions_late", "chain_stale", "other_chain"):
        state.board.raise_(name)
    rows = checked({}, state.board)
    assert [rows[check]["condition"] for check in ("executions", "chain")] == ["executions_late", "other_chain"]


def test_what_was_seen_stands_in_its_check(state: HealthState) -> None:
    state.record("weights", epochs=2, limit=3)
    weights = state.report().checks["weights"]
    assert (weights["ok"], weights["epochs"], weights["limit"]) == (True, 2, 3)


def test_the_report_names_the_newest_receipt(state: HealthState) -> None:
    assert state.report().document()["log"] is None
    state.log = LogHead(7, "ab" * 32, "2026-01-01T00:00:00Z")
    assert state.report().document()["log"] == {
        "sequence": 7,
        "digest": "ab" * 32,
        "issued_at": "2026-01-01T00:00:00Z",
    }


async def test_only_what_a_restart_ends_is_stuck(clock: VirtualClock, state: HealthState) -> None:
    for name in CONDITIONS:
        if name not in {"rounds_silent", "loop_stuck"}:
            state.board.raise_(name)
    assert state.stuck() is None
    await clock.advance(LOOP_LIMIT_S + 1)
    stuck = state.stuck()
    assert stuck is not None
    assert stuck.condition.name == "loop_stuck"


async def test_a_chain_whose_block_stays_the_same_is_stale(clock: VirtualClock, state: HealthState) -> None:
    state.record_block(7)
    await clock.advance(STALE_S)
    state.record_block(7)
    assert (await later(clock, state, 0)).status == "ok"
    report = await later(clock, state, 1)
    assert (report.status, report.checks["chain"]["condition"]) == ("degraded", "chain_stale")
    state.lost_chain("refused")
    assert (await later(clock, state, 1)).status == "ok"  # another condition's, a little later
    state.record_block(8)
    assert (await later(clock, state, 0)).status == "ok"


def test_the_longest_deadline_is_the_standard_profiles() -> None:
    assert LONGEST_DEADLINE_S == 900


async def test_silence_may_last_a_pause_a_deadline_and_slack(clock: VirtualClock, state: HealthState) -> None:
    assert (await later(clock, state, INTERVAL + LONGEST_DEADLINE_S + SLACK_S)).healthy
    report = await later(clock, state, 1)
    assert report.status == "unhealthy"
    assert report.checks["rounds"]["ok"] is False
    assert report.checks["rounds"]["silent_s"] == report.checks["rounds"]["limit_s"] + 1


async def test_every_end_of_a_round_starts_the_silence_anew(clock: VirtualClock, state: HealthState) -> None:
    for round_id in range(3):
        assert (await later(clock, state, INTERVAL + LONGEST_DEADLINE_S)).healthy
        state.round_ended(str(round_id))
    rounds = state.report().checks["rounds"]
    assert (rounds["silent_s"], rounds["last_ended"]) == (0, "2")
    assert rounds["last_ended_at"] == "2026-01-01T01:15:00Z"


async def test_a_round_in_hand_may_take_its_own_deadline(clock: VirtualClock, state: HealthState) -> None:
    state.round_started("7", 5_000)
    report = await later(clock, state, 5_000 + SLACK_S)
    assert report.healthy
    assert (report.checks["rounds"]["in_hand"], state.in_hand_s) == ("7", 5_000 + SLACK_S)
    assert (await later(clock, state, 1)).status == "unhealthy"
    state.round_ended("7")
    assert state.report().healthy
    assert (state.report().checks["rounds"]["in_hand"], state.in_hand_s) == (None, None)


async def test_a_short_round_may_still_take_the_standard_deadline(clock: VirtualClock, state: HealthState) -> None:
    state.round_started("7", 6)
    assert (await later(clock, state, LONGEST_DEADLINE_S + SLACK_S)).healthy
    assert not (await later(clock, state, 1)).healthy


async def test_a_loop_that_stands_still_is_unhealthy_until_it_runs(clock: VirtualClock, state: HealthState) -> None:
    await clock.advance(LOOP_LIMIT_S)
    assert state.report().healthy
    await clock.advance(1)
    report = state.report()
    assert (report.status, report.checks["loop"]["ok"]) == ("unhealthy", False)
    state.beat()
    assert state.report().healthy


async def test_a_lost_chain_is_told_until_a_block_is_seen(clock: VirtualClock, state: HealthState) -> None:
    state.record_block(1)
    state.lost_chain("refused")
    chain = (await later(clock, state, 40)).checks["chain"]
    assert (chain["ok"], chain["block"], chain["age_s"], chain["problem"]) == (True, 1, 40, "refused")
    state.record_block(2)
    assert state.report().checks["chain"]["problem"] is None


async def test_rounds_that_wait_for_a_permit_are_silent_on_purpose(clock: VirtualClock, state: HealthState) -> None:
    for _ in range(4):
        report = await later(clock, state, INTERVAL + LONGEST_DEADLINE_S)
        assert report.healthy
        state.record_standing(Reason.WEIGHTS_NO_PERMIT, paused=True)
    standing = state.report().checks["standing"]
    assert (standing["ok"], standing["missing"], standing["paused"]) == (False, "weights_no_permit", True)
    state.record_standing(None, paused=False)
    standing = state.report().checks["standing"]
    assert (standing["ok"], standing["missing"], standing["paused"]) == (True, None, False)
    assert not (await later(clock, state, INTERVAL + LONGEST_DEADLINE_S + SLACK_S + 1)).healthy


async def test_a_condition_degrades_or_more_and_the_report_has_its_advice(
    clock: VirtualClock, state: HealthState
) -> None:
    state.board.raise_("gates_behind", "one has waited for 70 s")
    await clock.advance(5)
    report = state.report()
    assert (report.status, report.healthy) == ("degraded", True)
    assert report.document()["conditions"] == [
        {
            "name": "gates_behind",
            "severity": "degraded",
            "seconds": 5,
            "detail": "one has waited for 70 s",
            "meaning": CONDITIONS["gates_behind"].meaning,
            "advice": CONDITIONS["gates_behind"].advice,
        }
    ]
    state.stopping = True
    assert (state.report().status, state.report().healthy) == ("stopping", True)
    state.board.raise_("subnet_gone")
    assert (state.report().status, state.report().healthy) == ("unhealthy", False)


async def test_a_note_is_in_the_report_behind_all_else_and_changes_no_status(state: HealthState) -> None:
    state.board.raise_("executions_off")
    report = state.report()
    assert (report.status, report.healthy) == ("ok", True)
    state.board.raise_("sandbox_away")
    state.board.raise_("subnet_gone")
    report = state.report()
    assert report.status == "unhealthy"
    assert [each.condition.severity for each in report.conditions] == ["unhealthy", "degraded", "note"]
    state.board.clear("subnet_gone")
    assert state.report().status == "degraded"


async def test_a_chain_of_which_no_head_was_read_for_a_while_degrades(clock: VirtualClock, state: HealthState) -> None:
    state.lost_chain("refused")
    for seconds, status in ((CHAIN_LIMIT_S, "ok"), (1, "degraded")):
        report = await later(clock, state, seconds)
        state.lost_chain("refused")
        assert report.status == status
    assert [each.detail for each in report.conditions] == ["for 46 s: refused"]
    state.record_block(9)
    assert state.report().status == "ok"


@pytest.mark.parametrize("wrong", ["subnet_gone", "other_chain", "chain_behind"])
async def test_a_chain_that_answers_and_is_the_wrong_one_is_not_away(
    wrong: str, clock: VirtualClock, state: HealthState
) -> None:
    state.board.raise_(wrong)
    state.lost_chain("not the one")
    report = await later(clock, state, CHAIN_LIMIT_S + 1)
    assert [one.condition.name for one in report.conditions] == [wrong]
    state.board.clear(wrong)
    assert [one.condition.name for one in (await later(clock, state, 0)).conditions] == ["chain_away"]
