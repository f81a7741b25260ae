"""`validator health`: ask a running validator how it is; the container's health check."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def health(
    config: Config = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, max=60, help="Longest wait.")] = 5.0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when it is degraded, too.")] = False,
    as_json: Json = False,
) -> None:
    """Ask /readyz of the validator that runs with these settings; a line for each condition, with advice.

    Exit 0: ok, degraded or stopping, which no restart would better. Exit 1: unhealthy, or no answer.
    """
    work.health.health(config, timeout, strict=strict, as_json=as_json)
