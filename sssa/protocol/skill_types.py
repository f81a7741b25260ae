"""Skill types, and their properties that are the same in every scoring version (SPEC 1, 5)."""

from collections.abc import Collection
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal


class SkillType(StrEnum):
    """Type of a task (SPEC 1). The order is the spec's, and the order of every sum over types."""

    RAG_KNOWLEDGE = "rag_knowledge"
    DECLARATIVE = "declarative"
    EXECUTABLE_PYTHON = "executable_python"
    EXECUTABLE_SCRIPT = "executable_script"
    MCP_SERVER = "mcp_server"
    AGENT_COMPOSITION = "agent_composition"
    WORKFLOW = "workflow"  # a plan instead of a bundle (SPEC 12); everything else is an assessment


ASSESSED_TYPES: Final[tuple[SkillType, ...]] = tuple(kind for kind in SkillType if kind is not SkillType.WORKFLOW)
WINDOW_TYPES: Final = tuple(str(kind) for kind in SkillType)
Kind = Literal["assessments", "workflows"]
"""Kind of task, as a mechanism pays for it (D-24)."""
KINDS: Final[tuple[Kind, ...]] = ("assessments", "workflows")


def types_of(kinds: Collection[Kind]) -> tuple[str, ...]:
    """Return the types of tasks of these kinds, in the order of SPEC 1."""
    return tuple(
        name for name in WINDOW_TYPES if ("workflows" if name == SkillType.WORKFLOW else "assessments") in kinds
    )


BASE_TRACES: Final = ("network", "fs", "process", "secrets")
# What primaries of a type record next to the base traces: the types that have one run in a sandbox (SPEC 5).
_EXTRA_TRACES: Final = MappingProxyType(
    {
        SkillType.EXECUTABLE_PYTHON: "imports",
        SkillType.EXECUTABLE_SCRIPT: "shell_commands",
        SkillType.MCP_SERVER: "tool_calls",
        SkillType.AGENT_COMPOSITION: "agent_calls",
    }
)


def is_runtime(skill_type: SkillType) -> bool:
    """Return whether primaries run the task's skill in a sandbox (SPEC 1)."""
    return skill_type in _EXTRA_TRACES


def require_assessed(skill_type: SkillType) -> None:
    """Refuse a workflow where only an assessment makes sense.

    Raises:
        ValueError: it is one; msgspec adds the field's place.
    """
    if skill_type is SkillType.WORKFLOW:
        raise ValueError(f"`skill_type` must be one of {', '.join(ASSESSED_TYPES)}")


class OfAssessment:
    """A document of an assessment: its `skill_type` is no workflow."""

    __slots__ = ()
    skill_type: SkillType

    def __post_init__(self) -> None:
        """Refuse a workflow (ValueError)."""
        require_assessed(self.skill_type)


def trace_names(skill_type: SkillType) -> tuple[str, ...]:
    """Return the trace files that a runtime type requires, base files first; () for the others (SPEC 5)."""
    return (*BASE_TRACES, _EXTRA_TRACES[skill_type]) if skill_type in _EXTRA_TRACES else ()
