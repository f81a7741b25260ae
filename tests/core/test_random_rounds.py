"""Results of a version do not change unnoticed: random rounds, compared with recorded outcomes."""

from pathlib import Path

from builders import V1
from random_rounds import digest_of

RECORDED = Path(__file__).parents[1] / "golden" / "random-rounds.txt"


def test_random_rounds_have_the_recorded_outcomes() -> None:
    """After a change of the version's rules: write the new digest, once vectors and tests of the rules hold."""
    assert digest_of(range(300), V1) == RECORDED.read_text().strip()
