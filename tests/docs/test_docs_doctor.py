"""docs/operators.md names every check as the program does."""

from doc_pages import ROOT, table

from validator.doctor.catalogue import CHECKS
from validator.doctor.site import LIMITS

OPERATORS = ROOT / "docs" / "operators.md"


def test_the_page_has_the_checks_of_the_program() -> None:
    rows = [(row["check"].strip("`"), row["what is looked at"]) for row in table(OPERATORS, "checks")]
    assert rows == [(check.name, check.meaning) for check in CHECKS]


def test_half_a_minute_is_kept_by_the_limits() -> None:
    assert LIMITS.whole <= 27
    assert all(check.advice and check.limit_s > 0 for check in CHECKS)
