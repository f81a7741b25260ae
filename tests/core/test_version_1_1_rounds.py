"""Random rounds under 1.1.0: what it does not change is what 1.0.0 makes of them, to the bit."""

from collections.abc import Iterator

import msgspec
from builders import V1
from random_rounds import Dice, scored

from validator.protocol.round import RanMember, RoundInput, RoundOutcome, RoundPlan
from validator.scoring import version

Scored = tuple[RoundInput, RoundPlan, RoundOutcome, Dice]
V11 = version("1.1.0")


def without_plans(outcome: RoundOutcome) -> RoundOutcome:
    """Remove the fields that a version may change: its name and the scores of plans."""
    members = tuple(
        msgspec.structs.replace(member, workflow=None, window_entry=None) if isinstance(member, RanMember) else member
        for member in outcome.members
    )
    return msgspec.structs.replace(outcome, scoring_version="", members=members)


def pairs() -> Iterator[tuple[Scored, Scored]]:
    """Rounds under 1.0.0 and 1.1.0, without those that strike answers: later versions count them as failures (D-30)."""
    for number in range(450):
        old, new = scored(number, V1), scored(number, V11)
        if not V11.struck_entries(new[0]):
            yield old, new


def test_groups_consensus_quality_emission_and_standing_are_those_of_1_0_0() -> None:
    for (_, plan, old, _), (_, again, new, _) in pairs():
        assert again == plan
        assert (old.scoring_version, new.scoring_version) == ("1.0.0", "1.1.0")
        assert without_plans(new) == without_plans(old)


def test_plans_are_worth_the_same_but_for_those_that_did_nothing() -> None:
    idle = busy = 0
    for before, after in pairs():
        for old, new in zip(before[2].members, after[2].members, strict=True):
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
