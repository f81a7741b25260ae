"""Which code scores which version."""

import pytest

from validator.groups.planning import plan_round
from validator.protocol.scoring_version import SCORING_VERSION
from validator.scorers import SCORERS, UnknownScoringVersionError, scorer
from validator.scoring.round import score_round


def test_every_version_is_known_by_its_name_and_new_rounds_have_one() -> None:
    assert all(version.version == name == scorer(name).version for name, version in SCORERS.items())
    assert (scorer(SCORING_VERSION).plan, scorer(SCORING_VERSION).score) == (plan_round, score_round)


def test_an_unknown_version_names_itself_and_the_known_ones() -> None:
    with pytest.raises(UnknownScoringVersionError) as caught:
        scorer("0.9\x1b[31m")
    assert str(caught.value) == r"No code here scores this version: `0.9\u001b[31m`; this program scores 1.0.0"
