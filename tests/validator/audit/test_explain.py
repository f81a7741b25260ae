"""Explanations on both databases: what they say is what was scored, for every miner of every round."""

import json
import math
from collections import Counter
from collections.abc import Iterable

import msgspec
import pytest
from builders import V1
from explained import ASSORTED_ROUNDS, HOTKEYS, assorted
from planned import MINERS, PLANNED_ROUNDS, planned
from recorded import dispatched
from sqlalchemy import insert
from state_kit import windows_of
from world import World

from sssa.kinds.assessment.explanation import AssessmentExplanation
from sssa.kinds.workflow.explanation import WorkflowExplanation
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MemberOutcome, RanMember, RoundOutcome
from sssa.protocol.skill_types import SkillType
from sssa.scoring import miner_score, type_score
from validator.audit.explain.miner import explain_miner
from validator.audit.explain.round_explanation import (
    AmbiguousMinerError,
    NotAMinerError,
    NothingToExplainError,
    RoundExplanation,
    explain_round,
    find_hotkey,
)
from validator.audit.views import FaultShare, fault_list
from validator.store import Store, Transaction
from validator.store.tables import dispatches, tasks
from validator.store.vector_inputs import UNMIXED, Mechanisms, paid_now

LAST = ASSORTED_ROUNDS - 1


async def test_every_number_is_the_one_that_was_scored(store: Store) -> None:
    world = await assorted(store)
    everyone: list[RoundExplanation] = []
    async with store.read() as tx:
        for round_id in range(ASSORTED_ROUNDS):
            stored = await tx.rounds.get(round_id)
            assert stored is not None
            assert stored.outcome is not None
            explained = [await explain_round(tx, round_id, hotkey) for hotkey in HOTKEYS[:9]]
            check_numbers(stored.outcome, explained)
            everyone += explained
        await check_weights(tx, [one for one in explained if one.weights])
        with pytest.raises(NothingToExplainError, match="nobody known"):
            await explain_round(tx, LAST, HOTKEYS[12])
        await check_faults(tx, everyone)
        validator = await explain_round(tx, LAST, "0")
    assert validator.miner.is_validator
    assert (validator.tasks, validator.weights) == ((), ())
    assert {other.why for other in validator.not_candidate} == {"it is the validator that ran the round"}
    assert world.posts > 0


async def check_faults(tx: Transaction, explained: list[RoundExplanation]) -> None:
    """Compare the listing of known faults with the rounds' own explanations."""
    listed = await fault_list(tx, 100)
    found, known, answers, unmatched = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for one in explained:
        for task in one.tasks:
            if isinstance(task, AssessmentExplanation) and task.faults is not None:
                assert task.skill_type == SkillType.EXECUTABLE_PYTHON
                answers[one.miner.hotkey] += 1
                unmatched[one.miner.hotkey] += task.faults.unmatched
                known.update(fault.kind for fault in task.faults.faults)
                found.update(fault.kind for fault in task.faults.faults if fault.reported_at is not None)
    assert {one.hotkey: (one.answers, one.unmatched) for one in listed.miners} == {
        hotkey: (answers[hotkey], unmatched[hotkey]) for hotkey in answers
    }
    assert {kind: (share.matched, share.known) for kind, share in listed.kinds.items()} == {
        kind: (found[kind], known[kind]) for kind in known
    }
    assert (listed.rounds, listed.tasks) == (ASSORTED_ROUNDS, 2 * ASSORTED_ROUNDS)
    by_hotkey = {one.hotkey: one for one in listed.miners}
    first, third = by_hotkey[HOTKEYS[0]], by_hotkey[HOTKEYS[2]]
    assert (first.total.matched, first.unmatched) == (3 * first.answers, 0), "it finds three of the four"
    assert first.families["secret"] == FaultShare(0, first.answers)
    assert first.kinds["secret/token"] == FaultShare(0, first.answers)
    assert (third.total.matched, third.unmatched) == (2 * third.answers, third.answers), (
        "it finds two, and says a rumour"
    )
    assert (await fault_list(tx, 1)).tasks == 2, "only the newest rounds"


def check_numbers(outcome: RoundOutcome, explained: Iterable[RoundExplanation]) -> None:
    scored = {(member.task_id, member.hotkey): member for member in outcome.members}
    for one in explained:
        msgspec.json.encode(one)
        for task in one.tasks:
            member = scored.pop((task.task_id, one.miner.hotkey), None)
            assert task.as_stored
            assert task.entry == (member.window_entry if member else None)
            assert (task.gates is not None) == (task.selection.place not in ("excluded", "not_drawn"))
            if isinstance(task, WorkflowExplanation):
                check_workflow(task, member)
                continue
            assert isinstance(task, AssessmentExplanation)
            if task.consensus is not None:
                total = 0.0
                for part in task.consensus.components:
                    total += part.contribution
                assert total == task.consensus.score
            if task.emission is not None:
                assert task.quality is not None
                product = math.prod(factor.value for factor in task.emission.factors)
                assert task.emission.emission == pytest.approx(0.0 if task.emission.early else product)
        events = [event for event in outcome.reputation if event.hotkey == one.miner.hotkey]
        assert sum(len(change.steps) for change in one.reputation) == len(events)
    assert scored == {}  # nobody's score was left out


def check_workflow(task: WorkflowExplanation, member: MemberOutcome | None) -> None:
    outcome = member.workflow if isinstance(member, RanMember) else None
    assert (task.worth is None) == (task.measured is None) == (outcome is None)
    assert (task.run is None) == (task.quality is None)
    if outcome is not None:
        assert task.worth is not None
        assert task.quality is not None
        total = 0.0
        for part in task.worth.parts:
            total += part.contribution
        assert total == task.worth.score == outcome.score.score
        assert task.quality.value == outcome.measured.output_quality


async def test_every_number_of_a_workflow_is_the_one_that_was_scored(store: Store) -> None:
    await planned(store)
    runs = []
    async with store.read() as tx:
        for round_id in range(PLANNED_ROUNDS):
            stored = await tx.rounds.get(round_id)
            assert stored is not None
            assert stored.outcome is not None
            explained = [await explain_round(tx, round_id, hotkey) for hotkey in HOTKEYS[:MINERS]]
            check_numbers(stored.outcome, explained)
            assert {len(one.tasks) for one in explained} == {2}
            runs += [task.run for one in explained for task in one.tasks if isinstance(task, WorkflowExplanation)]
    assert {len(run.steps) for run in runs if run is not None} == {2, 3}
    assert sum(run is None for run in runs) == 2 * PLANNED_ROUNDS  # the plan with a cycle


async def test_weights_are_those_of_the_mechanism_that_pays_for_the_type(store: Store) -> None:
    await planned(store)
    kinds: Mechanisms = {0: ("assessments",), 1: ("workflows",)}
    async with store.read() as tx:
        found = await explain_round(tx, PLANNED_ROUNDS - 1, HOTKEYS[0], kinds)
        plan = (await paid_now(tx, 1, kinds[1], HOTKEYS)).plan
    (weight,) = found.weights
    assert (weight.mechid, weight.weight) == (1, plan.weights[HOTKEYS[0]])
    assert weight.score_without != weight.score == plan.scores[HOTKEYS[0]]


async def check_weights(tx: Transaction, explained: list[RoundExplanation]) -> None:
    """The last round's weights are those of the windows as they are now."""
    windows = await windows_of(tx)
    assert explained
    for one in explained:
        plan = (await paid_now(tx, 0, UNMIXED[0], HOTKEYS)).plan
        (weight,) = one.weights
        assert weight.score == plan.scores[one.miner.hotkey]
        assert weight.weight == plan.weights.get(one.miner.hotkey, 0.0)
        for window in one.windows:
            values = windows[one.miner.hotkey][window.skill_type]
            assert (window.length, window.score_after) == (len(values), type_score(V1, values))
            assert window.score_before == type_score(V1, values[: -len(window.entries)])
            assert [values[entry.position - 1] for entry in window.entries] == [e.value for e in window.entries]


async def test_an_entry_leaves_the_window_when_a_hundred_newer_ones_have_come(store: Store) -> None:
    await assorted(store)
    hotkey = HOTKEYS[0]
    async with store.read() as tx:
        before = await explain_round(tx, 0, hotkey)
    task = before.windows[0].entries[0].task_id
    assert before.windows[0].entries[0].position_now == 1
    async with store.begin() as tx:
        kind = before.windows[0].skill_type
        for number in range(V1.rules.pay.window - 5):
            key = {"task_id": f"more-{number}", "round_id": LAST}
            place = {"position": 100 + number, "skill_type": kind, "slot": 0, "state": "settled", "mode": "full"}
            named = dict.fromkeys(("source_sha256", "bundle_sha256", "nonce", "provenance"), "")
            await tx.connection.execute(insert(tasks).values(**key, **place, **named))
            given = {"hotkey": hotkey, "skill_type": kind, "role": "primary", "rank": 0, "state": "answered"}
            await tx.connection.execute(insert(dispatches).values(**key, **given, entry=0.5))
    async with store.read() as tx:
        after = await explain_round(tx, 0, hotkey)
    assert after.windows[0].entries[0].task_id == task
    assert after.windows[0].entries[0].position_now is None
    assert after.weights == before.weights  # as of that round, whatever came later


async def test_stored_answers_that_score_otherwise_are_noticed(store: Store) -> None:
    await assorted(store)
    async with store.begin() as tx:
        await dispatched(
            lambda one: one.hotkey == HOTKEYS[4] and one.skill_type == "executable_python" and one.passed is not None,
            round_id=LAST,
            submission=lambda own: {**own, "seconds": 8.5},
        )(tx)
    async with store.read() as tx:
        found = await explain_round(tx, LAST, HOTKEYS[4])
    # Where an answer failed a gate, its time changes nothing.
    assert not all(task.as_stored for task in found.tasks if task.skill_type == SkillType.EXECUTABLE_PYTHON)
    assert all(task.as_stored for task in found.tasks if task.skill_type != SkillType.EXECUTABLE_PYTHON)


async def test_rounds_that_scored_nobody_say_why(store: Store) -> None:
    world = World(store)
    snapshot = await world.chain.snapshot()
    await world.service.directory.refresh(snapshot)
    for _ in range(2):
        await world.preparer.prepare(snapshot)
    now = world.clock.now()
    async with store.begin() as tx:
        await tx.rounds.settle(1, "void", Reason.VOID_OFFLINE, None, now)
        await tx.rounds.skip(2, epoch=1, block=2, block_hash="ab", reason=Reason.SKIPPED_NO_TASKS, at=now)
    reasons = {0: "still open", 1: Reason.VOID_OFFLINE.meaning, 2: Reason.SKIPPED_NO_TASKS.meaning, 3: "no round 3"}
    async with store.read() as tx:
        for round_id, reason in reasons.items():
            with pytest.raises(NothingToExplainError) as caught:
                await explain_round(tx, round_id, "1")
            assert reason in str(caught.value)


async def test_a_miner_s_summary_adds_up(store: Store) -> None:
    world = await assorted(store)
    now = world.clock.now()
    async with store.read() as tx:
        windows, scores = await windows_of(tx), await tx.scores.of_miner(HOTKEYS[6], 1_000)
        miner = await explain_miner(tx, HOTKEYS[6], 100, now)
        lately = await explain_miner(tx, "7", 1, now)
        paid = (await paid_now(tx, 0, UNMIXED[0], HOTKEYS)).plan
        never = await explain_miner(tx, HOTKEYS[8], 100, now)
        with pytest.raises(NothingToExplainError):
            await explain_miner(tx, "99", 100, now)
    assert sum(one.tasks for one in miner.types) == len(scores)
    unpaid = {one.skill_type for one in miner.unpaid}
    assert miner.score == miner_score(V1, {name: of for name, of in windows[HOTKEYS[6]].items() if name not in unpaid})
    assert miner.weights == {0: paid.weights.get(HOTKEYS[6], 0.0)}
    python = next(one for one in miner.types if one.skill_type == SkillType.EXECUTABLE_PYTHON)
    assert (python.declared, python.failure_rate, python.mean_emission) == (True, 1.0, 0.0)
    assert all(point.failed for point in python.points)
    assert {failure.reason for failure in miner.failures} == {Reason.PARSE_SCHEMA}
    assert all(failure.detail for failure in miner.failures)
    assert (lately.hotkey, lately.rounds) == (HOTKEYS[6], (LAST,))
    assert (never.types, never.failures, never.score, never.weights) == ((), (), 0.0, {0: 0.0})
    assert json.loads(msgspec.json.encode(miner))["hotkey"] == HOTKEYS[6]


def test_a_name_means_one_hotkey_or_says_why_not() -> None:
    uids = {3: HOTKEYS[0], 5: HOTKEYS[1]}
    assert find_hotkey(HOTKEYS[2], uids, HOTKEYS) == HOTKEYS[2]
    assert find_hotkey("3", uids, HOTKEYS) == HOTKEYS[0]
    assert find_hotkey("4", uids, HOTKEYS) is None
    assert find_hotkey(HOTKEYS[1][:12], uids, ()) == HOTKEYS[1]
    assert find_hotkey(HOTKEYS[3], uids, ()) is None
    assert find_hotkey("5zzzz", uids, HOTKEYS) is None
    with pytest.raises(AmbiguousMinerError, match=HOTKEYS[0][:4]):
        find_hotkey("5F", uids, HOTKEYS)
    for text in ("", "0x12", "hello!", "٣", "l", "5" * 47 + "l", HOTKEYS[0] + "1", "\x1b"):
        with pytest.raises(NotAMinerError):
            find_hotkey(text, uids, HOTKEYS)
