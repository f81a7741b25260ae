"""Benign bundles of every assessed type, drawn: what faults are planted in, and what stays as it is (D-33)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Files
from validator.planting.skeletons.agents import draw_agents
from validator.planting.skeletons.knowledge import draw_knowledge
from validator.planting.skeletons.packages import draw_package
from validator.planting.skeletons.scripts import draw_script
from validator.planting.skeletons.servers import draw_server
from validator.planting.skeletons.skills import draw_skill
from validator.protocol.skill_types import SkillType, require_assessed

Skeleton = tuple[Files, str | None]

_DOORS: Final[Mapping[SkillType, Callable[[Draws], Skeleton]]] = MappingProxyType(
    {
        SkillType.RAG_KNOWLEDGE: draw_knowledge,
        SkillType.DECLARATIVE: draw_skill,
        SkillType.EXECUTABLE_PYTHON: lambda draws: (draw_package(draws), None),
        SkillType.EXECUTABLE_SCRIPT: lambda draws: (draw_script(draws), None),
        SkillType.MCP_SERVER: lambda draws: (draw_server(draws), None),
        SkillType.AGENT_COMPOSITION: lambda draws: (draw_agents(draws), None),
    }
)


def draw_skeleton(skill_type: SkillType, draws: Draws) -> Skeleton:
    """Return the files of a harmless bundle and the name of the one that takes the marker, None for runtime types.

    Raises:
        ValueError: the type is `workflow`.
    """
    require_assessed(skill_type)
    return _DOORS[skill_type](draws)
