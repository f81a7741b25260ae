"""`validator score …` and `validator groups …`: recompute a number from a JSON document (SPEC 3 to 12, 15).

One line out for each file, one line on standard error for each bad file, exit 2 if any was bad.
"""

import re
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, TypeVar

import msgspec
import typer

from validator.cli import score_cases as cases
from validator.cli.files import MAX_CASE, UnreadableError, read_case
from validator.cli.options import group
from validator.daemon.exits import Exit
from validator.protocol.errors import ValidatorError
from validator.protocol.strict_json import SchemaError, decode
from validator.protocol.text import printable

SCORE = group("score", "Recompute a score from JSON files: one JSON document per file in, one line per file out.")
GROUPS = group("groups", "Verification groups.")
T = TypeVar("T")
Files = Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.")]
_PLACE: Final = re.compile(r"(?s)(.*) - at `(.*)`")


@SCORE.command()
def consensus(files: Files) -> None:
    """Score a task's group: components, consensus, agreements (SPEC 4)."""
    score_files(files, cases.ConsensusCase, cases.score_consensus_case)


@SCORE.command()
def weights(files: Files) -> None:
    """Turn windows into scores and capped weights (SPEC 11)."""
    score_files(files, cases.WeightsCase, cases.score_weights_case)


@SCORE.command()
def workflow(files: Files) -> None:
    """Score a workflow run (SPEC 12)."""
    score_files(files, cases.WorkflowCase, cases.score_workflow_case)


@SCORE.command()
def keys(files: Files) -> None:
    """Compute canonical finding keys (SPEC 3)."""
    score_files(files, cases.KeysCase, cases.score_keys_case)


@SCORE.command()
def emission(files: Files) -> None:
    """Score one answer: axes, epsilon, quality, emission (SPEC 6, 7)."""
    score_files(files, cases.EmissionCase, cases.score_emission_case)


@SCORE.command()
def collusion(files: Files) -> None:
    """Say which samples count and which raise a flag (SPEC 9)."""
    score_files(files, cases.CollusionCase, cases.score_collusion_case)


@SCORE.command()
def reputation(files: Files) -> None:
    """Apply reputation events (SPEC 10)."""
    score_files(files, cases.ReputationCase, cases.score_reputation_case)


@SCORE.command()
def execution(files: Files) -> None:
    """Compare traces with what three runs of a task's bundle showed (SPEC 15)."""
    score_files(files, cases.ExecutionCase, cases.score_execution_case)


@GROUPS.command()
def select(files: Files) -> None:
    """Select the group of a task from its frozen pool and seed."""
    score_files(files, cases.SelectionCase, cases.select_case)


def score_files(files: Iterable[str], kind: type[T], score: Callable[[T], Any]) -> None:
    """Print `score(document)` for every file in turn; a bad one does not stop the others."""
    if sys.stdout is None:
        raise OSError(0, "standard output is closed")
    failed = False
    for name in files:
        try:
            result = score(decode(read_case(name), kind, limit=MAX_CASE))
        except (ValidatorError, OSError) as error:
            typer.echo(complaint(name, error), err=True)
            failed = True
        else:
            sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
            sys.stdout.buffer.flush()
    if failed:
        raise typer.Exit(Exit.INPUT)


def complaint(name: str, error: Exception) -> str:
    """Return one line: file, field, fault."""
    shown = printable(name)
    if isinstance(error, UnreadableError):
        return f"{shown}: $: cannot be read: {error.fault}"
    text = error.detail if isinstance(error, SchemaError) else str(error)
    place = _PLACE.fullmatch(text)
    fault, field = (place[1], place[2]) if place else (text, "$")
    return f"{shown}: {printable(field)}: {printable(fault, 400)}"
