"""What a task's tests and a linter found in the code that a plan made (SPEC 12)."""

from typing import Annotated, Final

from msgspec import Meta

from validator.protocol.sssa import Document
from validator.protocol.strict_json import decode

MAX_TESTS: Final = 10_000
MAX_LINT_FINDINGS: Final = 100_000
MAX_CODE_REPORT: Final = 1_024  # bytes of a report


class CodeReport(Document, frozen=True):
    """What came of running a task's tests against a plan's code, and of linting the code.

    Attributes:
        passed: reference tests that passed, at most `total`.
        total: reference tests, whether or not they were reached.
        findings: of the linter.
    """

    passed: Annotated[int, Meta(ge=0, le=MAX_TESTS)]
    total: Annotated[int, Meta(ge=0, le=MAX_TESTS)]
    findings: Annotated[int, Meta(ge=0, le=MAX_LINT_FINDINGS)]

    def __post_init__(self) -> None:
        if self.passed > self.total:
            raise ValueError(f"`passed` is {self.passed}, more than `total`, {self.total}")


def parse_code_report(data: bytes) -> CodeReport:
    """Return the report in `data`.

    Raises:
        JsonError: not a report, or longer than `MAX_CODE_REPORT`; the text names the field.
    """
    return decode(data, CodeReport, limit=MAX_CODE_REPORT)
