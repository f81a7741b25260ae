"""Every constant of the scoring version (SPEC 1, 4 to 11). They are part of the version, never of the settings."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SCORING_VERSION: Final = "1.0.0"


class SkillType(StrEnum):
    """What kind of task it is (SPEC 1). The order is the spec's and is the order of every sum over types."""

    RAG_KNOWLEDGE = "rag_knowledge"
    DECLARATIVE = "declarative"
    EXECUTABLE_PYTHON = "executable_python"
    EXECUTABLE_SCRIPT = "executable_script"
    MCP_SERVER = "mcp_server"
    AGENT_COMPOSITION = "agent_composition"
    WORKFLOW = "workflow"  # a plan instead of a bundle (SPEC 12); everything else is an assessment


ASSESSED_TYPES: Final[tuple[SkillType, ...]] = tuple(SkillType)[:-1]


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What the spec fixes for one skill type.

    Attributes:
        base_weight: factor of the emission (SPEC 1).
        runtime: whether primaries run the skill in a sandbox and send traces.
        primary_window: (t_min, deadline) in seconds, standard profile.
        auditor_window: the same for auditors.
        axis_weights: axis name to weight, in the order of the sum (SPEC 6).
        baseline: quality at which tier 1 begins (SPEC 7).
        extra_trace: the trace file beside the four base files, None for content types (SPEC 5).
        bootstrapped: whether early epochs pay more (SPEC 7).
    """

    base_weight: float
    runtime: bool
    primary_window: tuple[float, float]
    auditor_window: tuple[float, float]
    axis_weights: tuple[tuple[str, float], ...]
    baseline: float
    extra_trace: str | None = None
    bootstrapped: bool = False


def _axes(alpha: float, pi: float, **extra: float) -> tuple[tuple[str, float], ...]:
    return (("alpha", alpha), ("pi", pi), ("eta", 0.05), *extra.items())


TYPE_RULES: Final[dict[SkillType, TypeRules]] = {
    SkillType.RAG_KNOWLEDGE: TypeRules(0.5, False, (5, 45), (2, 15), _axes(0.45, 0.20, rho=0.15), 0.35),
    SkillType.DECLARATIVE: TypeRules(0.7, False, (10, 90), (3, 30), _axes(0.45, 0.20, mu=0.10), 0.40),
    SkillType.EXECUTABLE_PYTHON: TypeRules(1.0, True, (30, 300), (10, 90), _axes(0.45, 0.20), 0.50, "imports"),
    SkillType.EXECUTABLE_SCRIPT: TypeRules(
        1.2, True, (30, 300), (10, 90), _axes(0.40, 0.20, sigma=0.10), 0.48, "shell_commands"
    ),
    SkillType.MCP_SERVER: TypeRules(
        1.6, True, (60, 600), (20, 150), _axes(0.35, 0.15, psi=0.10, tau=0.10), 0.45, "tool_calls", True
    ),
    SkillType.AGENT_COMPOSITION: TypeRules(
        2.0, True, (120, 900), (30, 240), _axes(0.35, 0.15, chi=0.10), 0.40, "agent_calls", True
    ),
}

BASE_TRACES: Final = ("network", "fs", "process", "secrets")


def is_runtime(skill_type: SkillType) -> bool:
    """Whether primaries run the task's skill in a sandbox (SPEC 1)."""
    return skill_type in TYPE_RULES and TYPE_RULES[skill_type].runtime


def require_assessed(skill_type: SkillType) -> None:
    """Refuse a workflow where only an assessment makes sense.

    Raises:
        ValueError: it is one; msgspec adds the field's place.
    """
    if skill_type is SkillType.WORKFLOW:
        raise ValueError(f"`skill_type` must be one of {', '.join(ASSESSED_TYPES)}")


def trace_names(skill_type: SkillType) -> tuple[str, ...]:
    """Return the trace files that a runtime type requires, base files first; () for content types (SPEC 5)."""
    extra = TYPE_RULES[skill_type].extra_trace
    return () if extra is None else (*BASE_TRACES, extra)


# Rounds (SPEC 1, 8)
SLOTS_PER_TYPE: Final = 2
PRIMARY_SLOTS: Final = 3
AUDITOR_SLOTS: Final = 2
MIN_CONSENSUS: Final = 3  # valid SSSAs
EJECTING_FLAGS: Final = 3
MIN_REPUTATION: Final = 0.2
MAX_FAILURE_RATE: Final = 0.5
MIN_FAILURE_SAMPLES: Final = 5
HISTORY_ROUNDS: Final = 30
ROTATION_STREAK: Final = 3
DEFAULT_MAX_CONCURRENT: Final = 2

# Consensus (SPEC 4), in the order of the sum
COMPONENT_WEIGHTS: Final = (
    ("findings_recall", 0.30),
    ("findings_precision", 0.15),
    ("verdict_agreement", 0.15),
    ("capabilities_agreement", 0.15),
    ("risk_agreement", 0.10),
    ("dependencies_agreement", 0.10),
    ("policy_agreement", 0.05),
)

# Quality (SPEC 6)
PROVENANCE_WEIGHTS: Final = {"curated": 1.0, "canary": 1.0, "consensus": 0.7}
F_BETA: Final = 0.5
EPSILON_FLOOR: Final = 0.10
EPSILON_WEIGHTS: Final = (
    ("probes", 0.3),
    ("traces", 0.3),
    ("manifest_digest", 0.2),
    ("evidence_resolves", 0.2),
    ("canary", 0.2),
)

# Emission (SPEC 7)
AUDITOR_ROLE_FACTOR: Final = 0.6
BOOTSTRAP_EPOCHS: Final = 30
BOOTSTRAP_FACTOR: Final = 1.5

# Collusion (SPEC 9)
COLLUSION_WINDOW: Final = 30
COLLUSION_MIN_SAMPLES: Final = 5
COLLUSION_PRIMARIES_ABOVE: Final = 0.90
COLLUSION_AUDITORS_BELOW: Final = 0.60
WITNESS_AGREEMENT: Final = 0.60

# Reputation (SPEC 10)
START_REPUTATION: Final = 0.5
CONSENSUS_HIGH: Final = 0.7
CONSENSUS_LOW: Final = 0.4
RECOVERY_STEP: Final = 0.005

# Windows and weights (SPEC 11)
SCORE_WINDOW: Final = 100
WARM_UP_ENTRIES: Final = 20
WEIGHT_CAP: Final = 0.15

# Workflows (SPEC 12)
BUDGET_FACTOR: Final = 1.5  # of the plan's declared total
RUN_FACTOR: Final = 1.5  # of the task's max_latency_seconds: then a run is ended
