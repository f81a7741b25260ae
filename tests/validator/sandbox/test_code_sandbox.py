"""Contract of every code sandbox: a bounded report, or a failure with its owner."""

import pytest
from pump import pumped

from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.strict_json import JsonError
from sssa.protocol.workflow_run import MAX_CODE_REPORT, MAX_LINT_FINDINGS, MAX_TESTS, CodeReport, parse_code_report
from sssa.sources import VirtualClock
from validator.sandbox.interface import CodeJob, CodeSandbox, SandboxFailure
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox

JOB = CodeJob(
    UNPUBLISHED, "def add(a, b): return a + b", "from solution import add\ndef test_add(): assert add(1, 2) == 3"
)


def test_a_report_is_read_as_it_was_written() -> None:
    assert parse_code_report(b'{"passed":3,"total":4,"findings":2}') == CodeReport(3, 4, 2)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ('{"passed":5,"total":4,"findings":0}', "passed"),
        ('{"passed":-1,"total":4,"findings":0}', "passed"),
        (f'{{"passed":0,"total":{MAX_TESTS + 1},"findings":0}}', "total"),
        (f'{{"passed":0,"total":1,"findings":{MAX_LINT_FINDINGS + 1}}}', "findings"),
        ('{"passed":1,"total":1}', "findings"),
        ('{"passed":1,"total":1,"findings":0,"score":1}', "score"),
        ('{"passed":1.5,"total":2,"findings":0}', "passed"),
        ('{"passed":1,"passed":1,"total":2,"findings":0}', "passed"),
    ],
)
def test_a_report_that_cannot_be_is_refused_by_name(written: str, named: str) -> None:
    with pytest.raises(JsonError, match=named):
        parse_code_report(written.encode())


def test_a_long_report_is_not_read() -> None:
    with pytest.raises(JsonError):
        parse_code_report(b'{"passed":3,"total":4,"findings":2' + b" " * MAX_CODE_REPORT + b"}")


async def test_a_scripted_check_takes_its_time_and_no_more_than_the_limit() -> None:
    clock = VirtualClock()
    report, seconds = CodeReport(3, 4, 2), 10.0

    def script(job: CodeJob) -> ScriptedCheck | SandboxFailure:
        return ScriptedCheck(report, seconds) if job == JOB else SandboxFailure(Reason.SANDBOX_TESTS, "other tests")

    sandbox: CodeSandbox = ScriptedCodeSandbox(script, clock)
    assert await sandbox.start() is None
    began = clock.monotonic()
    assert await pumped(clock, sandbox.check(JOB)) == report
    seconds = 1e9
    assert await pumped(clock, sandbox.check(JOB)) == CodeReport(0, 4, 2)
    assert clock.monotonic() - began == 10.0 + JOB.limits.wall_s
    failure = await sandbox.check(CodeJob(UNPUBLISHED, "", ""))
    assert isinstance(failure, SandboxFailure)
    assert not failure.ours
    await sandbox.close()
