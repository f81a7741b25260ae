"""`validator score …`: recompute one number from one JSON document (SPEC 3 to 12)."""

from typing import Annotated

import typer

from validator.cli import work

Files = Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.", show_default=False)]


def consensus(files: Files) -> None:
    """Score a task's group: components, consensus, agreements (SPEC 4)."""
    work.score.consensus(files)


def weights(files: Files) -> None:
    """Turn windows into scores and capped weights (SPEC 11)."""
    work.score.weights(files)


def workflow(files: Files) -> None:
    """Score a workflow run (SPEC 12)."""
    work.score.workflow(files)


def keys(files: Files) -> None:
    """Compute canonical finding keys (SPEC 3)."""
    work.score.keys(files)


def emission(files: Files) -> None:
    """Score one answer: axes, epsilon, quality, emission (SPEC 6, 7)."""
    work.score.emission(files)


def collusion(files: Files) -> None:
    """Say which samples count and which raise a flag (SPEC 9)."""
    work.score.collusion(files)


def reputation(files: Files) -> None:
    """Apply reputation events (SPEC 10)."""
    work.score.reputation(files)


def execution(files: Files) -> None:
    """Compare traces with what three runs of a task's bundle showed (SPEC 15)."""
    work.score.execution(files)
