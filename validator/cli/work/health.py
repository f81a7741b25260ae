"""What `validator health` does: ask a running validator how it is; the container's health check."""

from pathlib import Path

import typer

from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.output import print_json, print_line
from validator.health.client import ask_health


def health(config: Path | None, timeout: float, *, strict: bool, as_json: bool) -> None:
    """Ask /readyz of the validator that runs with these settings; a line for each condition, with advice."""
    answer = ask_health(settings_of(config).health, timeout)
    if as_json:
        print_json(
            {"healthy": answer.healthy, "address": answer.address, "status": answer.status, "report": answer.report}
        )
    else:
        print_line(f"{answer.address}: {answer.status}")
        for line in answer.conditions:
            print_line(f"  {line}")
    degraded = answer.report is not None and answer.report.get("status") == "degraded"
    if not answer.healthy or (strict and degraded):
        raise typer.Exit(EXIT_NO)
