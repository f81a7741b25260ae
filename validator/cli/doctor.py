"""`validator doctor`: examination of everything that the validator needs, before and while it runs. Only looks."""

import asyncio
import os
from typing import Annotated, Final

import typer

from sssa.cli.options import Config, Json
from sssa.cli.output import print_json, print_line
from sssa.cli.rendering import print_table
from validator.cli.session import log_to_standard_error
from validator.daemon.exits import Exit
from validator.daemon.world import judging_workers
from validator.health.doctor import Diagnosis, Status, diagnose

_ADVISED: Final = ("fault", "warning", "note")
_NOUNS: Final[dict[Status, tuple[str, str]]] = {
    "fault": ("fault", "faults"),
    "warning": ("warning", "warnings"),
    "unknown": ("not looked at", "not looked at"),
    "note": ("note", "notes"),
    "ok": ("fine", "fine"),
}


def doctor(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHECK", help="This check alone; may be given again.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Look at everything that the validator needs, a line for each, with what to do; changes nothing.

    A validator may be running. It takes at most half a minute. Exit 0: all is well. Exit 1: a fault, which keeps it
    from its work. Exit 6: warnings alone.
    """
    log_to_standard_error()
    with asyncio.Runner() as runner:
        diagnosis = runner.run(diagnose(config, os.environ, judging_workers, only or ()))
        if as_json:
            print_json(_document(diagnosis))
        else:
            _print(diagnosis)
        code = _code(diagnosis)
        if diagnosis.cut_off:
            os._exit(code)  # a call that hangs in the system holds a thread, for which the loop's end would wait
    raise typer.Exit(code)


def _code(diagnosis: Diagnosis) -> Exit:
    if "fault" in diagnosis.counts:
        return Exit.NO
    return Exit.LOOK if "warning" in diagnosis.counts else Exit.FINE


def _document(diagnosis: Diagnosis) -> dict[str, object]:
    checks = [{"check": one.check, "seconds": one.seconds, "findings": one.findings} for one in diagnosis.examined]
    return {"counts": {status: diagnosis.counts[status] for status in _NOUNS}, "checks": checks}


def _print(diagnosis: Diagnosis) -> None:
    findings = [finding for one in diagnosis.examined for finding in one.findings]
    print_table("status about seen~", ((finding.status, finding.about, finding.seen) for finding in findings))
    print_line()
    for status in _ADVISED:
        for finding in findings:
            if finding.status == status and finding.advice:
                print_line(f"{status}, {finding.about}: {finding.advice}")
    counts = ((diagnosis.counts[status], nouns) for status, nouns in _NOUNS.items())
    print_line(", ".join(f"{number} {nouns[number != 1]}" for number, nouns in counts if number))
