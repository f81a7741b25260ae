"""What `validator doctor` prints: a table, then what to do, or one document."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from validator.cli.configured import log_to_standard_error
from validator.cli.output import NONE, print_json, print_line
from validator.cli.tables import Column, print_table
from validator.daemon.exits import Exit
from validator.daemon.world import judging_workers
from validator.health.doctor import Diagnosis, Finding, Status, diagnose

_ADVISED: Final = ("fault", "warning", "note")
_WORDS: Final[dict[Status, tuple[str, str]]] = {
    "fault": ("fault", "faults"),
    "warning": ("warning", "warnings"),
    "unknown": ("not looked at", "not looked at"),
    "note": ("note", "notes"),
    "ok": ("fine", "fine"),
}


def examine(config: Path | None, only: Sequence[str], *, as_json: bool) -> Exit:
    """Look at everything, or at what is named, print what was found, and return the exit code.

    It does not return where something hangs in the system: the process ends with that code.

    Raises:
        UnknownCheckError: `only` names a check that is not there.
    """
    log_to_standard_error()
    with asyncio.Runner() as runner:
        found = runner.run(diagnose(config, os.environ, judging_workers, only))
        if as_json:
            print_json(_document(found))
        else:
            _print(found)
        code = _code(found)
        if found.cut_off:
            os._exit(code)  # what hangs in the system holds a thread, for which the loop's end would wait
    return code


def _code(found: Diagnosis) -> Exit:
    if "fault" in found.counts:
        return Exit.NO
    return Exit.LOOK if "warning" in found.counts else Exit.FINE


def _document(found: Diagnosis) -> dict[str, object]:
    checks = [
        {"check": one.check, "seconds": one.seconds, "findings": [finding._asdict() for finding in one.findings]}
        for one in found.examined
    ]
    return {"counts": {status: found.counts[status] for status in _WORDS}, "checks": checks}


def _print(found: Diagnosis) -> None:
    findings = [finding for one in found.examined for finding in one.findings]
    columns = (Column("status"), Column("about"), Column("seen", fold=True))
    print_table(columns, ((finding.status, finding.about, finding.seen) for finding in findings))
    print_line()
    for status in _ADVISED:
        for finding in findings:
            if finding.status == status and finding.advice:
                print_line(_advice(finding))
    print_line(
        ", ".join(_counted(found.counts[status], words) for status, words in _WORDS.items() if found.counts[status])
    )


def _counted(number: int, words: tuple[str, str]) -> str:
    return f"{number} {words[number != 1]}"


def _advice(finding: Finding) -> str:
    return f"{finding.status}, {finding.about}: {finding.advice or NONE}"
