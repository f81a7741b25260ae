"""The table of the kinds of task: finds the `Kind` of a skill type for the round flow, replay and audit."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from validator.kinds.assessment.kind import ASSESSMENT
from validator.kinds.interface import Kind
from validator.kinds.workflow.kind import WORKFLOW
from validator.protocol.round import RoundTask
from validator.protocol.skill_types import SkillType

KINDS: Mapping[SkillType, Kind[Any, Any]] = MappingProxyType(
    {kind: row for row in (ASSESSMENT, WORKFLOW) for kind in row.types}
)


def kind_of(task: RoundTask) -> Kind[Any, Any]:
    """Return the kind of a task."""
    return KINDS[task.skill_type]
