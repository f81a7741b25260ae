"""The doctor keeps what its page promises."""

from validator.health.doctor import CHECKS
from validator.health.doctor.examination import LIMITS


def test_half_a_minute_is_kept_by_the_limits() -> None:
    assert LIMITS.whole <= 27
    assert all(check.advice and check.limit_s > 0 for check in CHECKS)
