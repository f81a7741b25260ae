"""Workflow tasks in whole rounds: plans are gated, run once, scored and kept, whatever happens in between (SPEC 12)."""

from dataclasses import replace

import msgspec
import pytest
from state_kit import reputations_of, windows_of
from workflow_builders import ScriptedServices, Try, make_workflow, plan_document, step
from world import VALIDATOR, Planner, World, on_virtual_time, online, prepared

from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MemberOutcome, RanMember, RoundOutcome
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_run import StepOutput
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import plan_round, score_round, version
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.step import StepReply
from validator.miners.scripted import ScriptedReply
from validator.outgoing.stalls import Stall, StalledError
from validator.rounds.resume import resume_rounds
from validator.store import Store
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

RAG = make_workflow("rag", required_steps=2)
CAT = StepOutput("The cat sat on the mat.", None, None)
STEPS = (step("find"), step("say", {"text": "${find.output.text}"}))


def planner_of(task: WorkflowTask, edges: tuple[tuple[str, str], ...] = (("find", "say"),)) -> Planner:
    """A planner that signs the two steps for whatever it is asked."""

    def plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
        document = plan_document(task, STEPS, edges)
        document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
        signed = signer.sign_document(msgspec.convert(document, WorkflowPlan))
        return ScriptedReply(msgspec.json.encode(signed), seconds=0.5)

    return plan


def world_of(store: Store, task: WorkflowTask, planner: Planner | None = None) -> tuple[World, ScriptedServices]:
    """A network without assessments, its services not yet scripted."""
    world = World(store, source=MemorySource(), goals=MemoryGoals([task]), planner=planner or planner_of(task))
    services = ScriptedServices(world.clock, {"say": [Try(1.0, 0.01, None, CAT)]})
    world.run_plans_on(services)
    return world, services


def outcomes(outcome: RoundOutcome | None) -> tuple[MemberOutcome, ...]:
    assert outcome is not None
    return outcome.members


def ran(outcome: RoundOutcome | None) -> list[RanMember]:
    """Return the results of the plans, all of which were run."""
    assert all(isinstance(member, RanMember) for member in outcomes(outcome))
    return [member for member in outcomes(outcome) if isinstance(member, RanMember)]


async def test_plans_are_run_scored_and_kept_so_that_they_score_again(store: Store) -> None:
    world, services = world_of(store, RAG)
    end = await on_virtual_time(world, world.service.one_round())
    members = ran(end.outcome)
    assert [member.role for member in members] == ["primary"] * 3 + ["auditor"] * 2
    assert len(services.requests) == 10
    for member in members:
        assert (member.reason, member.consensus) == ("accepted", 1.0)
        assert member.workflow is not None
        seconds = member.workflow.measured.actual_seconds
        assert 2.0 <= seconds <= 3.0
        expected = 0.5 + 0.25 * (1 - 0.02) + 0.15 * (1 - seconds / 60) + 0.1
        assert member.window_entry == member.workflow.score.score == pytest.approx(expected, abs=1e-12)
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        results = await tx.submissions.results(0)
        windows = await windows_of(tx)
        assert await tx.scores.of_round(0) == outcomes(end.outcome)
        reputations = await reputations_of(tx)
    assert stored is not None
    assert stored.input is not None
    assert stored.outcome == end.outcome
    scores = version(stored.input.scoring_version)
    assert score_round(scores, stored.input, plan_round(scores, stored.input), results) == end.outcome
    assert {kind for of_types in windows.values() for kind in of_types} == {"workflow"}
    assert not reputations  # no consensus, no event


async def test_the_reference_stays_here(store: Store) -> None:
    seen: list[bytes] = []

    def spy(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
        seen.append(msgspec.json.encode(dispatch))
        return planner_of(RAG)(signer, dispatch)

    world, _ = world_of(store, RAG, spy)
    await on_virtual_time(world, world.service.one_round())
    assert len(seen) == 5
    assert not any(b"mat" in body or b"127.0.0.1" in body for body in seen)


async def test_a_plan_that_cannot_be_run_is_worth_nothing_and_costs_reputation(store: Store) -> None:
    world, services = world_of(store, RAG, planner_of(RAG, (("find", "say"), ("say", "find"))))
    end = await on_virtual_time(world, world.service.one_round())
    assert {(m.reason, m.window_entry) for m in outcomes(end.outcome)} == {(str(Reason.PARSE_PLAN), 0.0)}
    assert not services.requests
    async with store.read() as tx:
        reputations = await reputations_of(tx)
    assert set(reputations.values()) == {0.35}
    assert {kind for _, kind in reputations} == {SkillType.WORKFLOW}


async def test_a_quality_that_nobody_can_judge_enters_no_window(store: Store) -> None:
    world, services = world_of(store, make_workflow("code"))
    services.script = {"say": [Try(output=StepOutput(None, "def f(): return 1\n", None))]}
    end = await on_virtual_time(world, world.service.one_round())
    assert {(m.reason, m.window_entry, m.workflow) for m in ran(end.outcome)} == {("workflow_deferred", None, None)}
    async with store.read() as tx:
        assert not await windows_of(tx)
        assert {getattr(plan, "quality", 0) for plan in (await tx.submissions.results(0)).passed} == {None}


async def test_runs_that_were_kept_are_not_run_again_after_a_crash(store: Store) -> None:
    world, services = world_of(store, RAG)
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    asked = len(services.requests)
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert len(services.requests) == asked
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    assert stored.record.state == "settled"
    assert [member.reason for member in outcomes(stored.outcome)] == ["accepted"] * 5


async def test_a_stall_while_a_plan_is_run_is_on_nobodys_time(store: Store) -> None:
    """A step may take 10 s: one that takes 35 with a stall of 30 is in time, and so is the run."""
    world, services = world_of(store, RAG)
    services.script = {"find": [Try()], "say": [Try(35.0, output=CAT)]}
    world.dispatcher = replace(
        world.dispatcher,
        runners={WORKFLOW.name: PlanRunner(services, world.clock, stalls=lambda _: (Stall(3.0, 30.0),))},
    )
    world.service.dispatcher = world.dispatcher
    end = await on_virtual_time(world, world.service.one_round())
    for member in ran(end.outcome):
        assert member.workflow is not None
        assert (member.workflow.measured.timeouts, member.workflow.measured.steps_completed) == (0, 2)
        assert 5.0 <= member.workflow.measured.actual_seconds < 10.0


async def test_a_service_that_gave_up_on_us_costs_no_miner_anything(store: Store) -> None:
    world, services = world_of(store, RAG)

    async def gave_up(*_: object) -> StepReply:
        raise StalledError("the service closed the connection")

    services.call = gave_up  # type: ignore[method-assign,assignment]
    end = await on_virtual_time(world, world.service.one_round())
    assert end.returned is not None
    assert set(end.returned.alone.values()) == {Reason.LOCAL_STALL}
    async with store.read() as tx:
        (task,) = await tx.tasks.of_round(0)
        assert await windows_of(tx) == {}
        assert not await reputations_of(tx)
    assert (task.state, task.reason) == ("void", Reason.LOCAL_STALL)


async def test_a_task_whose_run_was_cut_off_is_void_and_not_run_twice(store: Store) -> None:
    world, services = world_of(store, RAG)
    services.script = {"find": [Try(), Try()], "say": [Try(fault=None, output=CAT)]}
    calls = 0

    class KilledError(BaseException):
        """Stand-in for the end of the process, which nothing can handle."""

    call = services.call

    async def killing(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise KilledError
        return await call(*args)  # type: ignore[arg-type]

    services.call = killing  # type: ignore[method-assign, assignment]
    with pytest.raises(BaseExceptionGroup):
        await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    asked = len(services.requests)
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert len(services.requests) == asked
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        (task,) = await tx.tasks.of_round(0)
    assert stored is not None
    assert (task.state, task.reason) == ("void", Reason.BUG_CRASH)
