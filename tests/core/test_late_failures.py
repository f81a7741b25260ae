"""An answer that execution refutes earns nothing and is a failure from the round that it enters (SPEC 11, D-30)."""

from typing import Any

from builders import V1, make_task

from validator.protocol.execution import ExecutionEvent
from validator.protocol.reasons import Reason
from validator.protocol.round import ExecutionResult, MetagraphSnapshot, MinerState, Neuron, RoundInput, TypeHistory
from validator.protocol.runtime_image import UNPUBLISHED
from validator.protocol.skill_types import SkillType
from validator.scoring import plan_round, struck_entries

PYTHON = SkillType.EXECUTABLE_PYTHON
SCRIPT = SkillType.EXECUTABLE_SCRIPT
HOTKEYS = tuple(f"hk{i}" for i in range(6))


def frozen(*results: ExecutionResult, **history: Any) -> RoundInput:
    """Round 50; everybody was sent ten tasks of both types and failed five."""
    half = TypeHistory(**{"recent_roles": ("primary",), "dispatches": 10, "failures": 5, **history})
    return RoundInput(
        input_version="1",
        scoring_version="1.0.0",
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
        executions=results,
        runtime_image=UNPUBLISHED,
        executes=False,
        filled=(),
        acts=(),
    )


def caught(event: ExecutionEvent = "rerun_fail", round_id: str = "49", task_id: str = "t9") -> ExecutionResult:
    return ExecutionResult(round_id, task_id, "hk2", PYTHON, event)


def excluded(given: RoundInput) -> list[dict[str, Reason]]:
    return [group.excluded for group in plan_round(V1, given).groups]


def test_its_window_entry_becomes_nothing_and_it_failed_that_dispatch() -> None:
    given = frozen(caught())
    assert struck_entries(given) == (caught(),)
    assert excluded(given) == [{"hk2": "failure_rate"}, {}]
    assert [planned.candidates[2].failures for planned in V1.plan_tasks(given)] == [6, 5]


def test_who_passed_loses_nothing() -> None:
    given = frozen(caught("rerun_pass"))
    assert struck_entries(given) == ()
    assert excluded(given) == [{}, {}]


def test_two_answers_count_twice() -> None:
    assert excluded(frozen(caught(), failures=4)) == [{}, {}]
    both = frozen(caught(task_id="t8"), caught(), failures=4)
    assert [struck.task_id for struck in struck_entries(both)] == ["t8", "t9"]
    assert excluded(both) == [{"hk2": "failure_rate"}, {}]


def test_an_answer_of_before_the_last_thirty_rounds_is_struck_and_fails_nothing() -> None:
    assert excluded(frozen(caught(round_id="20"))) == [{"hk2": "failure_rate"}, {}]
    old = frozen(caught(round_id="19"))
    assert excluded(old) == [{}, {}]
    assert len(struck_entries(old)) == 1
