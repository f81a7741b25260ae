"""A whole round through the pure core: window entries, samples, flags, reputation, void tasks (SPEC 4 to 10)."""

from typing import Any

import msgspec
import pytest
from builders import NOTHING_LATE, V1, finding, make_sssa, make_task

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.execution import ExecutionEvent
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Checks, Rejection, RoundResults, Submission, VoidTask
from sssa.protocol.round import (
    AgreementPair,
    AssessedMember,
    AssessmentTask,
    ExecutionResult,
    GroupPlan,
    MetagraphSnapshot,
    MinerState,
    Neuron,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    TypeHistory,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, Sssa
from sssa.protocol.task import Truth
from sssa.scoring import Version, plan_round, score_round, struck_entries, version, window_entries
from sssa.state.mechanism_state import Miner, Pair, State
from sssa.state.round_end import Ended, start_at

RAG = SkillType.RAG_KNOWLEDGE
PYTHON = SkillType.EXECUTABLE_PYTHON
SCRIPT = SkillType.EXECUTABLE_SCRIPT
HOTKEYS = tuple(f"hk{i}" for i in range(7))
CHECKS = Checks(True, None, None, True, None)


def miner(hotkey: str, **changes: Any) -> MinerState:
    state = MinerState(hotkey, (RAG, PYTHON), 2, {}, 0, {}, {})
    return msgspec.structs.replace(state, **changes)


def frozen_input(
    tasks: tuple[AssessmentTask, ...], miners: tuple[MinerState, ...] | None = None, **changes: Any
) -> RoundInput:
    neurons = tuple(Neuron(hotkey, uid, 1.0, False, None) for uid, hotkey in enumerate((*HOTKEYS, "validator")))
    value = RoundInput(
        input_version="1",
        scoring_version="1.0.0",
        round_id="5",
        validator_hotkey="validator",
        snapshot=MetagraphSnapshot(1, 100, "ab" * 32, 1_700_000_000, 40, 20, None, neurons),
        seed="cd" * 32,
        salt_commitment="ef" * 32,
        miners=tuple(miner(hotkey) for hotkey in HOTKEYS) if miners is None else miners,
        tasks=tasks,
        **NOTHING_LATE,
    )
    return msgspec.structs.replace(value, **changes)


def plan_of(*tasks: AssessmentTask, primaries: str = "012", auditors: str = "34") -> RoundPlan:
    group = GroupPlan("", "full", tuple(f"hk{i}" for i in primaries), tuple(f"hk{i}" for i in auditors), (), (), {})
    return RoundPlan("5", tuple(msgspec.structs.replace(group, task_id=task.task_id) for task in tasks))


def attested(task: AssessmentTask, verdict: str = "ALLOW", findings: tuple[Finding, ...] = ()) -> Sssa:
    sssa = make_sssa(task, findings)
    return msgspec.structs.replace(sssa, analysis=msgspec.structs.replace(sssa.analysis, verdict=verdict))


def answers(
    task: AssessmentTask, plan: RoundPlan, sssas: dict[str, Sssa], seconds: float = 2.0
) -> tuple[Submission, ...]:
    group = next(g for g in plan.groups if g.task_id == task.task_id)
    return tuple(
        Submission(task.task_id, hotkey, role, seconds, sssas[hotkey], "0" * 64, CHECKS)
        for hotkey, role in group.members
        if hotkey in sssas
    )


def member(outcome: RoundOutcome, hotkey: str) -> Any:
    return next(m for m in outcome.members if m.hotkey == hotkey)


def test_a_failed_gate_enters_the_window_as_zero_and_costs_reputation_by_gate() -> None:
    task = make_task(RAG)
    plan = plan_of(task)
    reasons = {"hk2": Reason.DEADLINE_LATE, "hk3": Reason.PARSE_SCHEMA, "hk4": Reason.VALIDITY_SIGNATURE}
    rejections = tuple(
        Rejection("t1", hotkey, "primary" if hotkey == "hk2" else "auditor", reason, 3.0)
        for hotkey, reason in reasons.items()
    )
    sssas = {hotkey: attested(task) for hotkey in ("hk0", "hk1")}
    outcome = score_round(V1, frozen_input((task,)), plan, RoundResults(answers(task, plan, sssas), rejections))
    assert {m.hotkey: m.window_entry for m in outcome.members if m.reason in reasons.values()} == dict.fromkeys(
        reasons, 0.0
    )
    assert [(e.hotkey, e.kind, e.after) for e in outcome.reputation] == [
        ("hk3", "invalid", 0.35),
        ("hk4", "violation", 0.25),
    ]
    # two valid answers, no truth, no group: they enter nothing (D-7)
    assert member(outcome, "hk0").window_entry is None
    assert member(outcome, "hk0").reason == Reason.VOID_NO_VERDICT
    entries = list(window_entries(frozen_input((task,)), outcome))
    assert sorted(hotkey for hotkey, *_ in entries) == sorted(reasons)


def test_without_truth_the_group_verdict_counts_at_consensus_provenance() -> None:
    task = make_task(RAG)
    plan = plan_of(task)
    sssas = {f"hk{i}": attested(task, "BLOCK" if i < 3 else "ALLOW") for i in range(5)}
    outcome = score_round(V1, frozen_input((task,)), plan, RoundResults(answers(task, plan, sssas), ()))
    assert (outcome.groups[0].scored_verdict, outcome.groups[0].provenance) == ("BLOCK", "consensus")
    assert member(outcome, "hk0").emission.axes["alpha"] == 0.7


def test_truth_beats_the_group() -> None:
    truth = Truth("ALLOW", None, None, None, None, None, None, None)
    task = make_task(RAG, truth=truth, provenance="curated")
    plan = plan_of(task)
    sssas = {f"hk{i}": attested(task, "BLOCK" if i < 4 else "ALLOW") for i in range(5)}
    outcome = score_round(V1, frozen_input((task,)), plan, RoundResults(answers(task, plan, sssas), ()))
    assert outcome.groups[0].scored_verdict == "ALLOW"
    assert member(outcome, "hk4").emission.axes["alpha"] == 1.0
    assert member(outcome, "hk0").emission.axes["alpha"] < 0.4


def test_an_early_answer_keeps_its_vote_and_earns_nothing() -> None:
    task = make_task(RAG)
    plan = plan_of(task)
    early = answers(task, plan, {"hk0": attested(task)}, seconds=0.5)
    rest = answers(task, plan, {f"hk{i}": attested(task) for i in range(1, 5)})
    outcome = score_round(V1, frozen_input((task,)), plan, RoundResults(early + rest, ()))
    assert outcome.groups[0].n_valid == 5
    assert member(outcome, "hk0").window_entry == 0.0
    assert member(outcome, "hk0").reason == Reason.ACCEPTED_EARLY
    assert member(outcome, "hk1").window_entry > 0


@pytest.mark.parametrize("scored_by", [V1, version("2.0.0")])
def test_an_answer_at_t_min_is_not_early(scored_by: Version) -> None:
    task = make_task(RAG)
    plan, t_min = plan_of(task), task.windows.of("primary").t_min
    given = [
        answers(task, plan, {f"hk{i}": attested(task)}, seconds=seconds)[0]
        for i, seconds in enumerate((t_min - 0.001, t_min, 3.0, 3.0, 3.0))
    ]
    outcome = score_round(scored_by, frozen_input((task,)), plan, RoundResults(tuple(given), ()))
    reasons = [member(outcome, hotkey).reason for hotkey in ("hk0", "hk1")]
    assert reasons == [Reason.ACCEPTED_EARLY, Reason.ACCEPTED]


def test_a_void_task_enters_nothing_for_anyone_and_the_others_settle() -> None:
    void, task = make_task(RAG), make_task(RAG, task_id="t2", slot=1)
    plan = plan_of(void, task)
    sssas = {f"hk{i}": attested(task) for i in range(5)}
    results = RoundResults(answers(task, plan, sssas), (), (VoidTask("t1", Reason.BUG_CRASH),))
    outcome = score_round(V1, frozen_input((void, task)), plan, results)
    assert [g.reason for g in outcome.groups] == [Reason.BUG_CRASH, Reason.SETTLED]
    assert {m.task_id for m in outcome.members} == {"t2"}


def colluders(task: AssessmentTask, auditor_findings: tuple[tuple[Finding, ...], ...]) -> dict[str, Sssa]:
    lie = tuple(finding("prompt_injection", f"a.py#L{i}", severity="critical") for i in (1, 2))
    primaries = {f"hk{i}": attested(task, "BLOCK", lie) for i in range(3)}
    return primaries | {f"hk{3 + i}": attested(task, "ALLOW", own) for i, own in enumerate(auditor_findings)}


TRUTH = Truth("ALLOW", None, None, None, None, None, None, None)


def judged(own: float) -> tuple[Ended, RoundOutcome]:
    """A round in which three primaries agree on a lie, and two of them had four such samples."""
    task = msgspec.structs.replace(make_task(RAG), provenance="curated", truth=TRUTH)
    four = {RAG: tuple(AgreementPair(1.0, 0.3, own, 0.75) for _ in range(4))}
    miners = tuple(miner(hotkey, agreements=four if hotkey in ("hk0", "hk1") else {}) for hotkey in HOTKEYS)
    truth_told = (finding("other", "a.py#L2"),)
    plan, sssas, frozen = plan_of(task), colluders(task, (truth_told, truth_told)), frozen_input((task,), miners)
    outcome = score_round(V1, frozen, plan, RoundResults(answers(task, plan, sssas), ()))
    return Ended(frozen, RoundPlan(frozen.round_id, plan.groups), "settled", outcome), outcome


def test_a_cohort_is_flagged_at_the_fifth_sample_where_its_auditors_are_clearly_more_right() -> None:
    _, outcome = judged(0.25)
    assert [(flag.hotkey, flag.samples) for flag in outcome.flags] == [("hk0", 5), ("hk1", 5)]
    assert all(flag.mean_own < 0.8 * flag.mean_witnesses for flag in outcome.flags)
    assert [e.hotkey for e in outcome.reputation if e.kind == "collusion_flag"] == ["hk0", "hk1"]
    assert outcome.reputation[-1].kind == "collusion_flag"
    assert [s.counted for s in outcome.samples] == [True] * 5
    primary, auditor = outcome.samples[0], outcome.samples[3]
    quality = {
        one.hotkey: one.emission.quality for one in outcome.members if isinstance(one, AssessedMember) and one.emission
    }
    assert (primary.own, primary.witnesses) == (quality["hk0"], (quality["hk3"] + quality["hk4"]) / 2)
    assert (auditor.own, auditor.witnesses) == (quality["hk3"], quality["hk4"])


def test_witnesses_that_are_no_more_right_than_the_accused_raise_no_flag() -> None:
    ended, outcome = judged(0.9)
    assert outcome.flags == ()
    assert [s.counted for s in outcome.samples] == [True] * 5
    state = State(
        {one.hotkey: Miner({RAG: Pair(agreements=one.agreements.get(RAG, ()))}) for one in ended.frozen.miners}
    )
    miners = V1.step(start_at(state, 0), ended).miners
    assert [len(miners[hotkey].pairs[RAG].agreements) for hotkey in HOTKEYS[:5]] == [0, 0, 1, 1, 1], "consumed (D-50)"


def test_auditors_that_contradict_each_other_are_no_witnesses() -> None:
    task = msgspec.structs.replace(make_task(RAG), provenance="curated", truth=TRUTH)
    plan = plan_of(task)
    sssas = colluders(task, ((finding("other", "a.py#L2"),), (finding("tool_poisoning", "docs/readme.md#L1"),)))
    changed = attested(task, "REVIEW", (finding("secrets_exposure", "docs/readme.md"),))
    analysis = msgspec.structs.replace(changed.analysis, capabilities=("exec",), risk_score=1.0)
    sssas["hk4"] = msgspec.structs.replace(changed, analysis=analysis)
    outcome = score_round(V1, frozen_input((task,)), plan, RoundResults(answers(task, plan, sssas), ()))
    assert outcome.groups[0].auditor_agreement is not None
    assert outcome.groups[0].auditor_agreement < 0.6
    assert {s.reason for s in outcome.samples} == {Reason.SAMPLE_AUDITORS_DISAGREE}


def test_without_auditors_there_is_consensus_but_no_sample_counts() -> None:
    task = make_task(RAG)
    plan = plan_of(task, auditors="")
    outcome = score_round(
        V1,
        frozen_input((task,)),
        plan,
        RoundResults(answers(task, plan, {f"hk{i}": attested(task) for i in range(3)}), ()),
    )
    assert outcome.groups[0].verdict == "ALLOW"
    assert {(s.counted, s.reason) for s in outcome.samples} == {(False, "sample_no_truth")}
    task = msgspec.structs.replace(task, provenance="curated", truth=TRUTH)
    given = RoundResults(answers(task, plan, {f"hk{i}": attested(task) for i in range(3)}), ())
    samples = score_round(V1, frozen_input((task,)), plan, given).samples
    assert {(s.counted, s.reason) for s in samples} == {(False, "sample_no_witnesses")}


def test_executions_come_first_and_the_left_out_recover_last() -> None:
    task = make_task(RAG)
    plan = plan_of(task)
    low = tuple(
        miner(hotkey, reputations={RAG: 0.1, PYTHON: 0.199} if hotkey in ("hk5", "hk0") else {}) for hotkey in HOTKEYS
    )
    results = (
        ExecutionResult("4", "a", "hk1", PYTHON, "rerun_pass"),
        ExecutionResult("4", "b", "hk1", PYTHON, "rerun_fail"),
    )
    frozen = frozen_input((task,), low, executions=results)
    outcome = score_round(
        V1, frozen, plan, RoundResults(answers(task, plan, {f"hk{i}": attested(task) for i in range(5)}), ())
    )
    kinds = [(e.hotkey, e.skill_type, e.kind) for e in outcome.reputation]
    assert kinds[:2] == [("hk1", PYTHON, "rerun_pass"), ("hk1", PYTHON, "rerun_fail")]
    assert kinds[-3:] == [("hk0", PYTHON, "recovery"), ("hk5", RAG, "recovery"), ("hk5", PYTHON, "recovery")]
    assert [round(e.after, 9) for e in outcome.reputation[-3:]] == [0.2, 0.105, 0.2]


def test_the_same_inputs_give_the_same_bytes() -> None:
    tasks = (make_task(RAG), make_task(PYTHON, task_id="t2"))
    frozen = frozen_input(tasks)
    plan = plan_round(V1, frozen)
    results = RoundResults(
        tuple(
            a
            for task in tasks
            for a in answers(task, plan, {hotkey: attested(task, findings=(finding(),)) for hotkey in HOTKEYS})
        ),
        (),
    )
    again = msgspec.json.decode(canonical_bytes(frozen), type=RoundInput)
    assert plan_round(V1, again) == plan
    first = canonical_bytes(score_round(V1, frozen, plan, results))
    assert canonical_bytes(score_round(V1, again, plan, results)) == first
    shuffled = RoundResults(results.passed[::-1], ())
    assert canonical_bytes(score_round(V1, frozen, plan, shuffled)) == first


def test_planning_counts_earlier_tasks_of_the_round_as_in_flight() -> None:
    tasks = tuple(make_task(RAG, task_id=f"t{i}", slot=i) for i in range(2))
    busy = tuple(miner(hotkey, max_concurrent=1) for hotkey in HOTKEYS)
    plan = plan_round(V1, frozen_input(tasks, busy))
    first, second = ({hotkey for hotkey, _ in group.members} for group in plan.groups)
    assert len(first) == 5
    assert not first & second
    assert set(plan.groups[1].excluded.values()) == {"in_flight"}
    assert "validator" not in first | second


@pytest.mark.parametrize("name", ["1.0.0", "2.0.0"])
def test_planning_asks_registered_miners_of_the_type_alone_and_never_the_validator(name: str) -> None:
    others = (miner("gone"), miner("validator"), miner("hk5", skill_types=(PYTHON,)))
    frozen = frozen_input((make_task(RAG),), (*(miner(hotkey) for hotkey in HOTKEYS[:5]), *others))
    (group,) = plan_round(version(name), msgspec.structs.replace(frozen, scoring_version=name)).groups
    assert {hotkey for hotkey, _ in group.members} == set(HOTKEYS[:5])
    assert group.excluded == {}


def ten_dispatches(*results: ExecutionResult, failures: int = 5) -> RoundInput:
    """Round 50; everybody was sent ten tasks of both types."""
    half = TypeHistory(("primary",), 10, failures)
    miners = tuple(
        miner(hotkey, skill_types=(PYTHON, SCRIPT), history={PYTHON: half, SCRIPT: half}) for hotkey in HOTKEYS
    )
    tasks = (make_task(PYTHON), make_task(SCRIPT, task_id="t2"))
    return frozen_input(tasks, miners, round_id="50", executions=results)


def caught(event: ExecutionEvent = "rerun_fail", round_id: str = "49", task_id: str = "t9") -> ExecutionResult:
    return ExecutionResult(round_id, task_id, "hk2", PYTHON, event)


def excluded(given: RoundInput) -> list[dict[str, Reason]]:
    return [group.excluded for group in plan_round(V1, given).groups]


def test_a_caught_answer_is_an_entry_of_nothing_and_a_failure_of_its_dispatch() -> None:
    given = ten_dispatches(caught())
    assert struck_entries(given) == (caught(),)
    assert excluded(given) == [{"hk2": "failure_rate"}, {}]
    assert [planned.candidates[2].failures for planned in V1.plan_tasks(given)] == [6, 5]


def test_a_confirmed_answer_loses_nothing() -> None:
    given = ten_dispatches(caught("rerun_pass"))
    assert struck_entries(given) == ()
    assert excluded(given) == [{}, {}]


def test_two_caught_answers_count_twice() -> None:
    assert excluded(ten_dispatches(caught(), failures=4)) == [{}, {}]
    both = ten_dispatches(caught(task_id="t8"), caught(), failures=4)
    assert [struck.task_id for struck in struck_entries(both)] == ["t8", "t9"]
    assert excluded(both) == [{"hk2": "failure_rate"}, {}]


def test_a_caught_answer_of_before_the_last_thirty_rounds_is_struck_and_fails_nothing() -> None:
    assert excluded(ten_dispatches(caught(round_id="20"))) == [{"hk2": "failure_rate"}, {}]
    old = ten_dispatches(caught(round_id="19"))
    assert excluded(old) == [{}, {}]
    assert len(struck_entries(old)) == 1
