"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

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
MAX_ROUND = 2**53 - 1  # a larger number would not fit the column that it is compared with
