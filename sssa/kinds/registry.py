"""The table of the kinds of task: finds the `Kind` of a skill type for the round flow, replay and audit."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sssa.kinds.assessment.kind import ASSESSMENT
from sssa.kinds.interface import Kind
from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol.round import RoundTask
from sssa.protocol.skill_types import SkillType

KINDS: Mapping[SkillType, Kind[Any, Any]] = MappingProxyType(
    {kind: row for row in (ASSESSMENT, WORKFLOW) for kind in row.types}
)


def kind_of(task: RoundTask) -> Kind[Any, Any]:
    """Return the kind of a task."""
    return KINDS[task.skill_type]
