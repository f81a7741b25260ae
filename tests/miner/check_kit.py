"""`validator miner check` as a function, on the miners of these tests: real HTTP, real signatures, the real gates."""

from collections.abc import Callable
from typing import Any

from miner_kit import VALIDATOR, bench

from miner.behaviours import Behaviour
from miner.check.conduct import Options, Tools, check_miner
from miner.check.report import Report, Section
from miner.check.target import Target
from miner.check.trials import Pace
from sssa.protocol.round import Axon
from sssa.protocol.skill_types import SkillType
from sssa.sources import SeededRandom, SystemClock
from validator.workers.interface import Here

AT_ONCE = Pace(t_min_s=0.0, late_start_s=0.2)


async def check_at(
    hotkey: str,
    axon: Axon,
    *sections: Section,
    types: tuple[SkillType, ...] = (),
    pace: Pace = AT_ONCE,
    report_end: Callable[[str], None] = lambda _: None,
) -> Report:
    tools = Tools(VALIDATOR, Here(), SystemClock(), SeededRandom("check"))
    options = Options(types, sections or tuple(Section), pace)
    return await check_miner(Target(hotkey, axon, public=False), options, tools, report_end)


async def check(
    behaviour: Behaviour,
    *sections: Section,
    types: tuple[SkillType, ...] = (SkillType.RAG_KNOWLEDGE,),
    pace: Pace = AT_ONCE,
    **more: Any,
) -> Report:
    async with bench(behaviour, **more) as one:
        return await check_at(one.miner.hotkey, one.axon, *sections or (Section.ANSWERS,), types=types, pace=pace)
