"""Floor 7: the `validator` command. One file per command group: parse, call, print.

Command modules import what they need inside their functions, so that every command starts fast.
"""

import typer

from validator.cli import groups, score

app = typer.Typer(
    name="validator",
    help="Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(score.app, name="score")
app.add_typer(groups.app, name="groups")


def main() -> None:
    """Run the command line."""
    app()
