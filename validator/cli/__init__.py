"""The `validator` command. One file per command group: parse, call, print.

Command modules import what they need inside their functions, so that every command starts fast.
"""

import io
import sys

import typer

from validator.cli import (
    audit,
    db,
    explain,
    flags,
    groups,
    health,
    miners,
    proof,
    replay,
    rounds,
    run,
    score,
    tasks,
    weights,
)
from validator.cli.joined import Tree
from validator.protocol.errors import ValidatorError

app = typer.Typer(
    name="validator",
    cls=Tree,
    help="Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("replay")(replay.replay)
app.add_typer(rounds.app, name="rounds")
app.add_typer(miners.app, name="miners")
app.add_typer(flags.app, name="flags")
app.add_typer(weights.app, name="weights")
app.command("explain")(explain.explain)
app.add_typer(tasks.app, name="tasks")
app.add_typer(audit.app, name="audit")
app.add_typer(score.app, name="score")
app.add_typer(proof.app, name="proof")
app.add_typer(groups.app, name="groups")
app.add_typer(db.app, name="db")
app.command("health")(health.health)


def main() -> None:
    """Run the command line; what a command could not do is told in one place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (ValidatorError, OSError) as error:
        from validator.cli.errors import complain

        sys.exit(complain(error))
