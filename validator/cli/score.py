"""`validator score …`: recompute one number from one JSON document (SPEC 3 to 12)."""

from typing import Annotated

import typer

Files = Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.", show_default=False)]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Recompute a score from JSON files: one JSON document per file in, one line per file out.",
)


@app.command()
def consensus(files: Files) -> None:
    """Score a task's group: components, consensus, agreements (SPEC 4)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import ConsensusCase, score_consensus_case

    score_files(files, ConsensusCase, score_consensus_case)


@app.command()
def weights(files: Files) -> None:
    """Turn windows into scores and capped weights (SPEC 11)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import WeightsCase, score_weights_case

    score_files(files, WeightsCase, score_weights_case)


@app.command()
def workflow(files: Files) -> None:
    """Score a workflow run (SPEC 12)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import WorkflowCase, score_workflow_case

    score_files(files, WorkflowCase, score_workflow_case)


@app.command()
def keys(files: Files) -> None:
    """Compute canonical finding keys (SPEC 3)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import KeysCase, score_keys_case

    score_files(files, KeysCase, score_keys_case)


@app.command()
def emission(files: Files) -> None:
    """Score one answer: axes, epsilon, quality, emission (SPEC 6, 7)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import EmissionCase, score_emission_case

    score_files(files, EmissionCase, score_emission_case)


@app.command()
def collusion(files: Files) -> None:
    """Say which samples count and which raise a flag (SPEC 9)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import CollusionCase, score_collusion_case

    score_files(files, CollusionCase, score_collusion_case)


@app.command()
def reputation(files: Files) -> None:
    """Apply reputation events (SPEC 10)."""
    from validator.cli.cases import score_files
    from validator.cli.score_cases import ReputationCase, score_reputation_case

    score_files(files, ReputationCase, score_reputation_case)
