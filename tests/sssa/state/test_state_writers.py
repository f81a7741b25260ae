"""State that steps write, round after round: as scored and planned, and as the next round reads it."""

from functools import cache
from typing import Any, Literal

from builders import make_task
from group_rounds import MCP, NAMES, Settled, settled, signer, worked_example
from msgspec import structs

from sssa.protocol.reasons import Reason
from sssa.protocol.round import (
    AgreementPair,
    ClearedFlag,
    ExecutionResult,
    FilledQuality,
    FlagRaised,
    FlagsCleared,
    MinerState,
    TypeHistory,
)
from sssa.protocol.tallies import Presence, Tally
from sssa.protocol.task import Truth
from sssa.protocol.workflow_run import CodeReport
from sssa.scoring import TurnCandidate, plan_round, version
from sssa.state.inputs import freeze_miner, learn_miners
from sssa.state.mechanism_state import Pair, State
from sssa.state.round_end import Ended, apply, start_at

V = version("1.0.0")
P1, P2, P3 = (signer(name).hotkey for name in NAMES[:3])
START = start_at(State(), 0)


@cache
def example(failed: tuple[str, ...]) -> Settled:
    sssas = {signer(name).hotkey: name for name in NAMES if name not in failed}
    answers = {sssas[one.hotkey]: one.sssa for one in worked_example().results.passed if one.hotkey in sssas}  # type: ignore[union-attr]
    task = make_task(MCP, provenance="curated", truth=Truth("ALLOW", None, None, None, None, None, None, None))
    return settled(task, answers, dict.fromkeys(failed, Reason.DEADLINE_LATE))


def ended(
    number: int, failed: tuple[str, ...] = (), state: Literal["settled", "void"] = "settled", **changes: Any
) -> Ended:
    """The round of this number; changes are of its input, its plan or its outcome."""
    frozen, plan, _, outcome = example(failed)
    plan = changes.pop("plan", plan)
    outcome = structs.replace(outcome, flags=changes.pop("flags", ()))
    frozen = structs.replace(frozen, round_id=str(number), scoring_version=V.name, **changes)
    return Ended(frozen, plan, state, outcome if state == "settled" else None)


def after(*rounds: Ended, state: State = START) -> State:
    for one in rounds:
        state = apply(state, V.step(learn_miners(state, one.frozen), one))
    return state


def pair(state: State, hotkey: str = P1) -> Pair:
    return state.pair(hotkey, MCP)


def frozen_from(state: State, round_id: int, hotkey: str = P1) -> MinerState:
    return freeze_miner(state, hotkey, round_id, history_rounds=30, samples=30, skill_types=(MCP,), max_concurrent=2)


def test_dispatches_and_failures_of_exactly_thirty_rounds_count() -> None:
    state = after(*(ended(number, ("P1",) if number % 3 == 0 else ()) for number in range(40)))
    history = frozen_from(state, 40).history[MCP]
    assert (history.dispatches, history.failures) == (30, 10)
    assert (len(history.recent_roles), pair(state).proven) == (40, 38)


def test_the_clock_of_the_newest_snapshot_and_its_block_are_kept() -> None:
    snapshot = structs.replace(example(()).frozen.snapshot, block=900, block_time=1_800_000_000)
    shared = after(ended(1), ended(2, state="void", snapshot=snapshot)).shared
    assert (shared.netuid, shared.block, shared.block_time) == (1, 900, 1_800_000_000)
    assert [(one.number, one.block, one.version) for one in shared.rounds] == [(1, 100, V.name), (2, 900, V.name)]


def test_whom_a_plan_leaves_out_for_its_standing_is_excluded_until_a_later_answer() -> None:
    miners = list(example(()).frozen.miners)
    miners[0] = structs.replace(miners[0], reputations={MCP: 0.01})
    miners[1] = structs.replace(miners[1], history={MCP: TypeHistory((), 30, 30)})
    miners[2] = structs.replace(miners[2], history={MCP: TypeHistory((), 0, 0, 2)})
    left_out = ended(3, state="void", miners=tuple(miners))
    planned = plan_round(V, left_out.frozen)
    assert set(planned.groups[0].excluded.values()) == {
        Reason.LOW_REPUTATION,
        Reason.FAILURE_RATE,
        Reason.IN_FLIGHT,
    }
    state = after(structs.replace(left_out, plan=planned))
    assert [pair(state, hotkey).excluded for hotkey in (P1, P2, P3)] == [3, 3, None]
    answered = after(ended(4, ("P2",)), state=state)
    assert [pair(answered, hotkey).excluded for hotkey in (P1, P2)] == [None, 3]
    group = structs.replace(example(()).plan.groups[0], excluded={P1: Reason.LOW_REPUTATION})
    of_its_own_round = after(ended(4, plan=structs.replace(planned, groups=(group,))))
    assert (pair(of_its_own_round).excluded, pair(of_its_own_round).proven) == (4, 4)


def test_a_caught_answer_is_a_failure_of_its_round_a_result_and_an_entry_of_nothing() -> None:
    events = [ExecutionResult("5", "t1", hotkey, MCP, event) for hotkey, event in ((P1, "rerun_fail"), (P2, None))]  # type: ignore[arg-type]
    state = after(ended(4), ended(5), ended(6, executions=tuple(events)))
    assert pair(state).counts == ((4, 1, 0), (5, 1, 1), (6, 1, 0))
    assert pair(state, P2).counts == ((4, 1, 0), (5, 1, 0), (6, 1, 0))
    assert [value > 0 for value in pair(state).window.newest(9)] == [True, False, True]
    assert [pair(state, hotkey).results for hotkey in (P1, P2)] == [((6, True),), ()]


def test_a_flag_takes_the_samples_with_it_and_is_cleared_once() -> None:
    state = after(ended(1), ended(2))
    assert len(pair(state).agreements) == 2
    assert isinstance(pair(state).agreements[0], AgreementPair)
    flagged = after(ended(3, flags=(FlagRaised(P1, MCP, 0.9, 0.1, 0.25, 0.75, 9),)), state=state)
    assert (pair(flagged).agreements, frozen_from(flagged, 4).flags) == ((), 1)
    assert len(pair(flagged, P2).agreements) == 3
    act = FlagsCleared(P1, "2026-01-01T00:00:00Z", "looked at", (ClearedFlag(MCP, "3"),))
    assert frozen_from(after(ended(4, acts=(act,)), state=flagged), 5).flags == 0


def test_flags_of_an_unknown_miner_are_those_that_its_input_has_after_the_acts() -> None:
    miners = (structs.replace(example(()).frozen.miners[0], flags=2), *example(()).frozen.miners[1:])
    act = FlagsCleared(P1, "2026-01-01T00:00:00Z", "looked at", (ClearedFlag(MCP, "3"),))
    state = after(ended(7, state="void", miners=miners, acts=(act,)), state=start_at(State(), 7))
    assert frozen_from(state, 8).flags == 2


def test_results_of_rounds_that_the_state_does_not_know_are_remembered_one_by_one() -> None:
    filled = FilledQuality("c", "3", "t9", P1, CodeReport(1, 1, 0), 0.5)
    result = ExecutionResult("3", "t8", P2, MCP, "rerun_pass")
    state = after(ended(7, filled=(filled,), executions=(result,)), state=start_at(State(), 7))
    assert state.shared.late_unknown == {("3", "t9", P1), ("3", "t8")}


def test_under_2_0_0_everybody_asked_takes_a_turn_and_a_caught_answer_strikes_its_tally() -> None:
    by, tally = version("2.0.0"), Tally(True, 3, 4, 5, "ALLOW", "ALLOW", 0.9, 0.7, None, None, None, 1.0)
    state, caught = START, ExecutionResult("5", "t1", P1, MCP, "rerun_fail")
    for number, executions in ((4, ()), (5, ()), (6, (caught,))):
        one = ended(number, ("P2",), executions=executions)
        assert one.outcome is not None
        members = tuple(structs.replace(member, tally=tally) for member in one.outcome.members)
        frozen = by.complete(state, structs.replace(one.frozen, scoring_version="2.0.0"))
        one = structs.replace(one, frozen=frozen, outcome=structs.replace(one.outcome, members=members))
        state = apply(state, by.step(state, one))
    assert [pair(state, hotkey).turn for hotkey in (P1, P2, P3)] == [3, 3, 3]
    assert [entry.ok for entry in pair(state).tallies.tallies()] == [True, False, True]
    assert [entry.ok for entry in pair(state, P3).tallies.tallies()] == [True, True, True]
    assert state.shared.tallied == 3
    assert [pair(state, hotkey).presence for hotkey in (P1, P3)] == [Presence(3, 3)] * 2
    left = by.complete(state, ended(7).frozen)
    assert {one.presence[MCP].asked for one in left.miners if one.presence} == {3}
    void = structs.replace(ended(7, state="void"), frozen=left)
    state = apply(state, by.step(state, void))
    assert [(pair(state, hotkey).turn, pair(state, hotkey).presence) for hotkey in (P1, P3)] == [
        (4, Presence(3, 3))
    ] * 2


def test_under_2_0_0_dispatches_of_earlier_tasks_are_in_turn_total_and_in_flight() -> None:
    by, tasks = version("2.0.0"), tuple(make_task(MCP, task_id=f"t{i}", slot=i) for i in range(2))
    frozen = structs.replace(example(()).frozen, tasks=tasks, scoring_version="2.0.0")
    first, second = by.plan_tasks(frozen)
    members = {hotkey for hotkey, _ in first.group.members}
    assert len(members) == 5
    for before, after_it in zip(first.candidates, second.candidates, strict=True):
        assert isinstance(before, TurnCandidate)
        assert isinstance(after_it, TurnCandidate)
        assert (before.turn, before.total, before.in_flight) == (0, 0, 0)
        assert (after_it.turn, after_it.total, after_it.in_flight) == (1, 1, 1)
