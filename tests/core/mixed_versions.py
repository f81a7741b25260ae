"""A store in which rounds of three scoring versions lie, both kinds of task in each of them."""

from dataclasses import replace
from typing import Final

from builders import V1
from explained import DECLARED, ExplainedWorld, assorted_script, assorted_tasks
from planned import CODE, MINERS, RAG, JumpingRunner, plan
from toy_version import TOY, known
from workflow_world import ScriptedServices

from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.kind import WORKFLOW
from validator.kinds.workflow.supply import Goals
from validator.protocol.skill_types import SkillType
from validator.scoring import Schedule
from validator.sources import SeededRandom
from validator.store import Store
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

VERSIONS: Final = (V1.name, TOY.name, "1.1.0", TOY.name)
"""Of the rounds, in their order."""


async def mixed(store: Store) -> ExplainedWorld:
    """Play a round of each of them."""
    types = {number: (*kinds, *((SkillType.WORKFLOW,) * (number < MINERS))) for number, kinds in DECLARED.items()}
    source = MemorySource(assorted_tasks())
    world = ExplainedWorld(store, source, assorted_script, types)
    world.planner = plan
    world.dispatcher = replace(
        world.dispatcher, runners={WORKFLOW.name: JumpingRunner(ScriptedServices(world.clock, {}), world.clock)}
    )
    random = SeededRandom("mixed")
    supplies = (Bundles(source, None, random), Goals(MemoryGoals([RAG, CODE]), random))
    with known(TOY):
        for name in VERSIONS:
            world.preparer = replace(world.preparer, supplies=supplies, schedule=Schedule({name: 0}))
            await world.play()
    return world
