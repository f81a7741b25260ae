"""`validator health`: print the state of a running validator. It is the container's health check."""

from typing import Annotated

import typer

from sssa.cli.errors import EXIT_NO
from sssa.cli.options import Config, Json
from sssa.cli.output import print_json, print_line
from validator.cli.session import settings_of
from validator.health.client import ask_health


def health(
    config: Config = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, max=60, help="Longest wait.")] = 5.0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when it is degraded, too.")] = False,
    as_json: Json = False,
) -> None:
    """Query /readyz of the validator with these settings and print one line per condition, with advice.

    Exit 0: ok, stopping or, without --strict, degraded; a restart would not help. Exit 1: unhealthy, no answer or, with
    --strict, degraded.
    """
    answer = ask_health(settings_of(config).health, timeout)
    if as_json:
        print_json(answer)
    else:
        print_line(f"{answer.address}: {answer.status}")
        for line in (*answer.conditions, *answer.notes):
            print_line(f"  {line}")
    degraded = answer.report is not None and answer.report.get("status") == "degraded"
    if not answer.healthy or (strict and degraded):
        raise typer.Exit(EXIT_NO)
