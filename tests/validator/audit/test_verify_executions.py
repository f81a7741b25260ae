"""A counted result of execution names an answer of an earlier round, all of a task's come together, and once."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, with_document
from builders import V1
from group_rounds import worked_example
from waiting_world import LIAR, end_all, world_of
from world import VALIDATOR, one_round

from sssa.log.input_check import _executions_fault, input_fault, late_counts
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.protocol.round import ExecutionResult, RoundInput
from sssa.protocol.skill_types import SkillType
from sssa.state.inputs import learn_miners
from sssa.state.mechanism_state import State
from sssa.state.round_end import Ended, apply, start_at
from validator.rounds.receipts import close_epoch
from validator.store import open_store

ROUNDS = 3
Results = list[dict[str, Any]]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports of three rounds of two executed tasks with three primaries each, one of whom invents."""
    return asyncio.run(_make(tmp_path_factory.mktemp("log")))


async def _make(folder: Path) -> dict[str, Path]:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = world_of(store)
        for _ in range(ROUNDS):
            await one_round(world)
            await end_all(world, LIAR.hotkey)
        pending = await export(store, folder / "pending.jsonl")
        assert await close_epoch(store, VALIDATOR, world.clock)
        whole = await export(store, folder / "whole.jsonl")
        return {"pending": pending, "whole": whole, "later": await export(store, folder / "later.jsonl", since=1)}


@pytest.mark.parametrize(("log", "held", "before"), [("pending", 12, 0), ("whole", 12, 0), ("later", 6, 6)])
def test_results_are_compared_with_the_rounds_that_they_are_of(
    logs: dict[str, Path], log: str, held: int, before: int
) -> None:
    found = verify_file(logs[log])
    assert (found.executions, found.executions_before) == (held, before)
    assert found.on_word["executions without a result"] == 2  # the last round's


def only_fails(results: Results) -> None:
    for one in results[:3]:
        one["event"] = "rerun_fail"


def only_fails_and_no_event(results: Results) -> None:
    only_fails(results)
    results[1]["event"] = None


WRONG: dict[str, tuple[int, str, Callable[[Results], object]]] = {
    "another miner": (1, "executions[0]", lambda r: r[0].update(hotkey="5" * 48)),
    "another type": (1, "executions[0]", lambda r: r[0].update(skill_type="executable_script")),
    "a task of no round": (1, "executions[0]", lambda r: r[0].update(task_id="x")),
    "another round": (2, "executions[0]", lambda r: r[0].update(round_id="0")),
    "one primary left out": (1, "executions[0]", lambda r: r.pop(1)),
    "one primary twice": (1, "executions[0]", lambda r: r.insert(0, dict(r[0]))),
    "tasks out of plan order": (1, "executions[3]", lambda r: r.extend([r.pop(0) for _ in range(3)])),
    "primaries out of group order": (1, "executions[0]", lambda r: r.insert(0, r.pop(1))),
    "a task twice": (1, "executions[6]", lambda r: r.extend(map(dict, r[:3]))),
    "results of before once more": (2, "executions[0]", lambda r: [one.update(round_id="0") for one in r]),
    "fails that nobody's pass confirms": (1, "executions[0]", only_fails),
    "fails that no event confirms": (1, "executions[0]", only_fails_and_no_event),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("log", ["whole", "pending"])
def test_a_result_that_follows_from_no_round_is_found_out(logs: dict[str, Path], log: str, case: str) -> None:
    at, path, change = WRONG[case]

    def changed(document: dict[str, Any]) -> None:
        change(document["executions"])

    file = logs[log].with_name("changed.jsonl")
    file.write_bytes(with_document(logs[log].read_bytes(), "input", changed, at))
    with pytest.raises(FaultError) as caught:
        verify_file(file)
    assert (caught.value.kind, caught.value.round_id, caught.value.path) == ("input", str(at), path)


def test_a_round_that_does_not_execute_has_no_results(logs: dict[str, Path]) -> None:
    file = logs["whole"].with_name("changed.jsonl")
    data = with_document(logs["whole"].read_bytes(), "input", lambda document: document.update(executes=False), 0)
    file.write_bytes(data)
    with pytest.raises(FaultError) as caught:
        verify_file(file)
    assert (caught.value.kind, caught.value.round_id) in {("proof", "0"), ("input", "1")}


def followed(state: State, frozen: RoundInput) -> str | None:
    fault = input_fault(V1, learn_miners(state, frozen), frozen)
    return None if fault is None else fault[0]


def test_an_answer_from_before_the_log_comes_once() -> None:
    round_, state = worked_example(), start_at(State(), 5)
    old = ExecutionResult("3", "t", VALIDATOR.hotkey, SkillType.MCP_SERVER, "rerun_fail")
    frozen = msgspec.structs.replace(round_.frozen, executions=(old,))
    new = msgspec.structs.replace(frozen, executions=(msgspec.structs.replace(old, round_id="5"),))
    assert (followed(state, frozen), followed(state, new)) == (None, "executions[0]")
    state = learn_miners(state, frozen)
    after = apply(state, V1.step(state, Ended(frozen, round_.plan, "settled", round_.outcome)))
    assert _executions_fault(after.shared, (old,)) == 0
    assert late_counts(state.shared, after.shared, frozen)[0]["executions_before"] == 1


def test_what_a_log_makes_us_keep_is_bounded_and_what_is_forgotten_is_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sssa.state.round_end.LATE_ROUNDS", 0)
    round_, state = worked_example(), start_at(State(), 0)
    frozen = msgspec.structs.replace(round_.frozen, executes=True)
    result = ExecutionResult(frozen.round_id, "t", VALIDATOR.hotkey, SkillType.MCP_SERVER, "rerun_fail")
    assert _executions_fault(state.shared, (result,)) == 0
    state = apply(state, V1.step(state, Ended(frozen, round_.plan, "settled", round_.outcome)))
    assert state.shared.late_since == frozen.index + 1
    assert _executions_fault(state.shared, (result,)) is None
