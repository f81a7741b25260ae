"""What `validator score …` does: recompute one number from one JSON document (SPEC 3 to 12)."""

from validator.cli.cases import score_files
from validator.cli.score_cases import (
    CollusionCase,
    ConsensusCase,
    EmissionCase,
    ExecutionCase,
    KeysCase,
    ReputationCase,
    WeightsCase,
    WorkflowCase,
    score_collusion_case,
    score_consensus_case,
    score_emission_case,
    score_execution_case,
    score_keys_case,
    score_reputation_case,
    score_weights_case,
    score_workflow_case,
)


def consensus(files: list[str]) -> None:
    """Score a task's group: components, consensus, agreements (SPEC 4)."""
    score_files(files, ConsensusCase, score_consensus_case)


def weights(files: list[str]) -> None:
    """Turn windows into scores and capped weights (SPEC 11)."""
    score_files(files, WeightsCase, score_weights_case)


def workflow(files: list[str]) -> None:
    """Score a workflow run (SPEC 12)."""
    score_files(files, WorkflowCase, score_workflow_case)


def keys(files: list[str]) -> None:
    """Compute canonical finding keys (SPEC 3)."""
    score_files(files, KeysCase, score_keys_case)


def emission(files: list[str]) -> None:
    """Score one answer: axes, epsilon, quality, emission (SPEC 6, 7)."""
    score_files(files, EmissionCase, score_emission_case)


def collusion(files: list[str]) -> None:
    """Say which samples count and which raise a flag (SPEC 9)."""
    score_files(files, CollusionCase, score_collusion_case)


def reputation(files: list[str]) -> None:
    """Apply reputation events (SPEC 10)."""
    score_files(files, ReputationCase, score_reputation_case)


def execution(files: list[str]) -> None:
    """Compare traces with what three runs of a task's bundle showed (SPEC 15)."""
    score_files(files, ExecutionCase, score_execution_case)
