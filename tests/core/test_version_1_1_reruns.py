"""What a rerun caught is paid nothing and counts as a failure, from the round that it enters on (SPEC 16, D-30)."""

from typing import Any

import msgspec
import pytest
from builders import V1, make_task

from validator.protocol.canonical import canonical_bytes
from validator.protocol.round import MetagraphSnapshot, MinerState, Neuron, RerunResult, RoundInput, TypeHistory
from validator.protocol.skill_types import SkillType
from validator.scoring import StruckEntry, version

V11 = version("1.1.0")
PYTHON = SkillType.EXECUTABLE_PYTHON
SCRIPT = SkillType.EXECUTABLE_SCRIPT
HOTKEYS = tuple(f"hk{i}" for i in range(6))


def frozen(*reruns: RerunResult, **history: Any) -> RoundInput:
    """Round 50; everybody was sent ten tasks of both types and failed five."""
    half = TypeHistory(**{"recent_roles": ("primary",), "dispatches": 10, "failures": 5, **history})
    return RoundInput(
        input_version="1",
        scoring_version="1.1.0",
        round_id="50",
        validator_hotkey="validator",
        snapshot=MetagraphSnapshot(
            1,
            100,
            "ab" * 32,
            1_700_000_000,
            40,
            20,
            None,
            tuple(Neuron(h, i, 1.0, False, None) for i, h in enumerate(HOTKEYS)),
        ),
        seed="cd" * 32,
        salt_commitment="ef" * 32,
        miners=tuple(
            MinerState(hotkey, (PYTHON, SCRIPT), 2, {}, 0, {PYTHON: half, SCRIPT: half}, {}) for hotkey in HOTKEYS
        ),
        tasks=(make_task(PYTHON), make_task(SCRIPT, task_id="t2")),
        reruns=reruns,
    )


def caught(event: Any = "rerun_fail", round_id: str = "49", task_id: str = "t9", rerun_id: str = "r1") -> RerunResult:
    return RerunResult(rerun_id, "hk2", PYTHON, event, round_id, task_id)


def excluded(given: RoundInput, by: Any = V11) -> list[dict[str, str]]:
    return [group.excluded for group in by.plan(given).groups]


@pytest.mark.parametrize("event", ["rerun_fail", "digest_mismatch"])
def test_its_window_entry_becomes_nothing_and_it_failed_that_dispatch(event: str) -> None:
    given = frozen(caught(event))
    assert V11.struck_entries(given) == (StruckEntry("hk2", PYTHON, "49", "t9"),)
    assert excluded(given) == [{"hk2": "failure_rate"}, {}]
    assert [planned.candidates[2].failures for planned in V11.plan_tasks(given)] == [6, 5]
    assert (V1.struck_entries(given), excluded(given, V1)) == ((), [{}, {}])


def test_who_passed_and_who_is_not_named_loses_nothing() -> None:
    for result in (caught("rerun_pass"), RerunResult("r1", "hk2", PYTHON, "rerun_fail")):
        given = frozen(result)
        assert V11.struck_entries(given) == ()
        assert V11.plan(given) == V1.plan(given)


def test_the_same_answer_counts_once_and_two_answers_twice() -> None:
    twice = frozen(caught(rerun_id="r2"), caught("digest_mismatch"), failures=4)
    assert len(V11.struck_entries(twice)) == 1
    assert excluded(twice) == [{}, {}]
    both = frozen(caught(rerun_id="r2", task_id="t8"), caught(), failures=4)
    assert [struck.task_id for struck in V11.struck_entries(both)] == ["t9", "t8"]  # by rerun id
    assert excluded(both) == [{"hk2": "failure_rate"}, {}]


def test_an_answer_of_before_the_last_thirty_rounds_is_struck_and_fails_nothing() -> None:
    assert excluded(frozen(caught(round_id="20"))) == [{"hk2": "failure_rate"}, {}]
    old = frozen(caught(round_id="19"))
    assert excluded(old) == [{}, {}]
    assert len(V11.struck_entries(old)) == 1


def test_a_result_of_before_keeps_its_bytes() -> None:
    old = b'{"event":"rerun_fail","hotkey":"hk2","rerun_id":"r1","skill_type":"executable_python"}'
    assert canonical_bytes(msgspec.json.decode(old, type=RerunResult)) == old
    named = canonical_bytes(caught())
    assert msgspec.json.decode(named, type=RerunResult) == caught()
