"""Settled rounds from a file of `validator audit export`, through the readers that `validator audit verify` uses."""

from collections.abc import Iterator
from pathlib import Path

from laboratory.history import PastRound
from sssa.log.answers import read_answers
from sssa.log.lines import LineReader, read_planned, require_audit_file
from sssa.protocol.receipt import Receipt
from sssa.protocol.results import RoundResults
from sssa.scoring import version


def past_rounds(path: Path) -> Iterator[PastRound]:
    """Yield the settled rounds of a file, in order; one is in memory at a time.

    Raises:
        NotAnAuditFileError, FaultError: it is no such file, or is damaged. Signatures and scores are not checked.
    """
    with path.open("rb") as file:
        require_audit_file(file)
        reader = LineReader(file)
        while (line := reader.next("line", None)) is not None:
            end = line.parsed(Receipt).round if line.kind == "receipt" else None
            if end is None or end.state != "settled" or end.scoring_version is None:
                continue
            lines = end.lines
            planned = read_planned(reader, end, lines.input or "", lines.plan or "", None)
            answers = read_answers(reader, end, lines.answers or "", planned, version(end.scoring_version))
            passed = [one for group in planned.plan.groups for one in answers.of_task(group.task_id)]
            recorded = answers.results
            results = RoundResults(
                tuple(one.unpacked() for one in passed), recorded.rejections, recorded.void, recorded.alone
            )
            yield PastRound(planned.frozen, planned.plan, results)
