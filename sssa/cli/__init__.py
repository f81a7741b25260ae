"""The command `sssa`: what anybody can check of a validator's words with nothing but files and, in the gate, HTTP.

Touches the terminal and the files that are named. Called by the console script; programs of other houses use its parts.
"""

import io
import sys
from typing import Annotated, Any, Final

import typer

from sssa.cli.errors import complain
from sssa.cli.lazy_commands import Rows, with_rows
from sssa.protocol.errors import ValidatorError

COMMANDS: Final = (
    ("verify", "Check a log of receipts, as validators export it.", "sssa.cli.verify:verify"),
    ("proof", "Consensus proofs: what a group or a debate agreed on.", "sssa.cli.proof:PROOF"),
    ("attestation", "Attestations: a validator's signed answer about a skill.", "sssa.cli.attestation:ATTESTATION"),
    ("score", "Recompute a number from a vector of the specification.", "sssa.cli.score:score"),
    ("groups", "Verification groups of the specification's vectors.", "sssa.cli.score:GROUPS"),
)


class StoppedError(ValidatorError):
    """Aborted."""


def root() -> Any:
    """Return `sssa` itself, a group that imports none of its commands."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback()(_itself)
    return with_rows(typer.main.get_command(app), Rows("sssa", "sssa.commands", COMMANDS))


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than to show the help

        typer.echo(version("sssa"))
        raise typer.Exit


def _itself(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Checks logs, proofs and attestations of Signed Skill Safety Attestations."""


def main() -> None:
    """Run the command line; errors of all commands are shown here."""
    if sys.stdout is None:
        sys.exit(complain(OSError(0, "standard output is closed")))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        ended = root().main(sys.argv[1:], prog_name="sssa", standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except (ValidatorError, OSError, typer.TyperException) as error:
        sys.exit(complain(error))
    except typer.Abort:
        sys.exit(complain(StoppedError()))
