"""What a log may claim to be void alone: members of its groups, once, by a fault of the validator (SPEC 16, D-26)."""

import io

import pytest
from random_rounds import returned

from validator.audit.log import FaultError
from validator.audit.log.answers import Answers, ListedAnswer, check_members
from validator.audit.log.documents import Planned
from validator.audit.log.lines import LineReader
from validator.protocol.reasons import Reason
from validator.protocol.receipt import RoundEnd, RoundLines
from validator.protocol.round import RoundResults, VoidDispatch, packed
from validator.scoring import version

V1 = version("1.0.0")
STALL = Reason.LOCAL_STALL


def checked(*alone: VoidDispatch, kept: bool = False) -> None:
    """Hold a round against its groups that claims this; its failures are kept in any case, or left out as claimed."""
    frozen, plan, results, _ = next(
        found for found in (returned(number, V1) for number in range(100)) if found[2].rejections and not found[2].void
    )
    void = {(one.task_id, one.hotkey) for one in alone}
    failed = [one for one in results.rejections if kept or (one.task_id, one.hotkey) not in void]
    end = RoundEnd(frozen.round_id, 0, 0, "ab", "settled", Reason.SETTLED, V1.name, RoundLines())
    passed = [ListedAnswer("", packed(one)) for one in results.passed]
    answers = Answers(RoundResults.of(failed, (), alone), passed, 7, LineReader(io.BytesIO()))
    check_members(Planned(frozen, plan, 1, 2, drawn=True), answers, end)


def failure() -> tuple[str, str]:
    results = next(
        found for found in (returned(number, V1)[2] for number in range(100)) if found.rejections and not found.void
    )
    return results.rejections[0].task_id, results.rejections[0].hotkey


def what_of(*alone: VoidDispatch, kept: bool = False) -> str:
    with pytest.raises(FaultError) as fault:
        checked(*alone, kept=kept)
    return str(fault.value)


def test_the_validators_word_is_taken_where_it_can_be_true() -> None:
    checked(VoidDispatch(*failure(), STALL))


def test_what_no_validator_can_mean_is_found() -> None:
    mine = VoidDispatch(*failure(), STALL)
    assert "each once" in what_of(mine, mine)
    assert "each once" in what_of(VoidDispatch(mine.task_id, "nobody", STALL))
    assert "each once" in what_of(VoidDispatch("no-task", mine.hotkey, STALL))
    assert "deadline_late is no fault of the validator" in what_of(
        VoidDispatch(mine.task_id, mine.hotkey, Reason.DEADLINE_LATE)
    )
    assert "one answer or failure" in what_of(mine, kept=True)
