"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

from validator.protocol.work_states import WorkState

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings; else $VALIDATOR_CONFIG, else ./validator.toml.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="At most so many.")]
State = Annotated[WorkState | None, typer.Option("--state", help="Those in this state alone.")]


def group(name: str, text: str) -> typer.Typer:
    """Return a group without commands; it shows its help where no command follows."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
