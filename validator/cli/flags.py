"""`validator flags …`: collusion flags (SPEC 9)."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def list_(
    config: Config = None,
    everything: Annotated[bool, typer.Option("--all", help="Cleared flags too.")] = False,
    as_json: Json = False,
) -> None:
    """List the standing flags, oldest first."""
    work.flags.list_(config, everything=everything, as_json=as_json)


def show(
    which: Annotated[
        str,
        typer.Argument(metavar="ID|HOTKEY", help="A flag's id, or a hotkey for all of its flags.", show_default=False),
    ],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show flags with the agreements that led to them, cleared ones too. Exit 1: there is none."""
    work.flags.show(which, config, as_json=as_json)


def clear(
    hotkey: Annotated[str, typer.Argument(metavar="HOTKEY", help="Whose standing flags.", show_default=False)],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the flags.")],
    config: Config = None,
) -> None:
    """Clear all standing flags of a hotkey. Exit 1: it has none."""
    work.flags.clear(hotkey, reason, config)
