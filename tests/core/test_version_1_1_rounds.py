"""Random rounds under 1.1.0: what it does not change is what 1.0.0 makes of them, to the bit."""

import msgspec
from builders import V1
from random_rounds import scored

from validator.protocol.round import RanMember, RoundOutcome
from validator.scoring import version

V11 = version("1.1.0")


def without_plans(outcome: RoundOutcome) -> RoundOutcome:
    """What a version may not change: all but its name and what plans are worth."""
    members = tuple(
        msgspec.structs.replace(member, workflow=None, window_entry=None) if isinstance(member, RanMember) else member
        for member in outcome.members
    )
    return msgspec.structs.replace(outcome, scoring_version="", members=members)


def test_groups_consensus_quality_emission_and_standing_are_those_of_1_0_0() -> None:
    for number in range(300):
        _, plan, old, _ = scored(number, V1)
        _, again, new, _ = scored(number, V11)
        assert again == plan
        assert (old.scoring_version, new.scoring_version) == ("1.0.0", "1.1.0")
        assert without_plans(new) == without_plans(old)


def test_plans_are_worth_the_same_but_for_those_that_did_nothing() -> None:
    idle = busy = 0
    for number in range(300):
        for old, new in zip(scored(number, V1)[2].members, scored(number, V11)[2].members, strict=True):
            if not isinstance(old, RanMember) or not isinstance(new, RanMember) or new.workflow is None:
                continue
            _check(old, new)
            done = new.workflow.measured.steps_completed
            idle, busy = idle + (not done), busy + bool(done)
    assert idle > 2
    assert busy > 100


def _check(old: RanMember, new: RanMember) -> None:
    assert old.workflow is not None
    assert new.workflow is not None
    was, now = old.workflow, new.workflow
    assert abs(now.measured.actual_tao - was.measured.actual_tao) < 1e-8
    assert now.measured.actual_tao == round(now.measured.actual_tao, 9)
    assert msgspec.structs.replace(now.measured, actual_tao=was.measured.actual_tao) == was.measured
    if now.measured.steps_completed:
        assert abs(now.score.score - was.score.score) < 1e-7
    else:
        assert (now.score.score, new.window_entry) == (0.0, 0.0)
