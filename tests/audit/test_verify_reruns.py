"""A counted result of a rerun names an answer that section 15 chose, and no answer comes back twice."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, with_document
from builders import V1
from group_rounds import worked_example
from world import VALIDATOR, World, honest, on_virtual_time, tasks_of_all_types

from validator.audit.log import FaultError, Verified, verify_file
from validator.audit.log.documents import Planned
from validator.audit.log.reruns import RerunResults
from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch
from validator.protocol.reasons import Reason
from validator.protocol.round import RerunResult
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.rounds.receipts import close_epoch
from validator.scoring import Schedule
from validator.store import Store, open_store
from validator.tasks.memory import MemorySource

ROUNDS = 3
BROKEN = Signer.from_uri("//Miner//1").hotkey
Results = list[dict[str, Any]]


def one_is_broken(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return ScriptedReply(b"{", seconds=0.5) if signer.hotkey == BROKEN else honest(signer, dispatch)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports of three rounds of two tasks with a drawn primary each, before and after the salt is public."""
    return asyncio.run(_make(tmp_path_factory.mktemp("log")))


async def _make(folder: Path) -> dict[str, Path]:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        python = [one for one in tasks_of_all_types() if one.task.skill_type is SkillType.EXECUTABLE_PYTHON]
        world = World(store, miners=5, source=MemorySource(python), tempo=5_000, script=one_is_broken)
        world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"1.1.0": 0}))
        world.service.most_reruns = 100
        for _ in range(ROUNDS):
            await on_virtual_time(world, world.service.one_round())
            await all_pass(store, world)
        pending = await export(store, folder / "pending.jsonl")
        assert await close_epoch(store, VALIDATOR, world.clock)
        return {
            "pending": pending,
            "whole": await export(store, folder / "whole.jsonl"),
            "later": await export(store, folder / "later.jsonl", since=1),
        }


async def all_pass(store: Store, world: World) -> None:
    async with store.begin() as tx:
        while (taken := await tx.reruns.take(world.clock.now())) is not None:
            assert await tx.reruns.done(taken, "rerun_pass", Reason.RERUN_SAME, None, world.clock.now())


@pytest.mark.parametrize(("log", "held", "before"), [("pending", 4, 0), ("whole", 4, 0), ("later", 2, 2)])
def test_results_are_held_against_the_rounds_that_asked_for_them(
    logs: dict[str, Path], log: str, held: int, before: int
) -> None:
    found = verify_file(logs[log])
    assert (found.reruns, found.reruns_before) == (held, before)
    assert found.word["reruns without a result"] == 2  # those that the last round chose, whoever was drawn


def verified(logs: dict[str, Path], log: str, change: Callable[[Results, dict[str, Any]], object], at: int) -> Verified:
    """What verifying says of a log whose validator wrote other results into a round's input."""

    def changed(document: dict[str, Any]) -> None:
        change(document["reruns"], document)

    file = logs[log].with_name("changed.jsonl")
    file.write_bytes(with_document(logs[log].read_bytes(), "input", changed, at))
    return verify_file(file)


def another_miner(results: Results, document: dict[str, Any]) -> None:
    results[0]["hotkey"] = next(one["hotkey"] for one in document["miners"] if one["hotkey"] != results[0]["hotkey"])


WRONG: dict[str, tuple[int, str, Callable[[Results, dict[str, Any]], object]]] = {
    "another miner": (1, "reruns[0]", another_miner),
    "another type": (1, "reruns[0]", lambda r, _: r[0].update(skill_type="executable_script")),
    "another task": (1, "reruns[0]", lambda r, _: r[0].update(task_id=r[1]["task_id"])),
    "another round": (2, "reruns[0]", lambda r, _: r[0].update(round_id="0")),
    "no answer": (1, "reruns[1]", lambda r, _: (r[1].pop("round_id"), r[1].pop("task_id"))),
    "an answer that nobody chose": (1, "reruns[1]", lambda r, _: r[1].update(rerun_id=r[1]["rerun_id"][:-1] + "9")),
    "one that came back before": (
        2,
        "reruns[0]",
        lambda r, _: r[0].update(rerun_id=r[0]["rerun_id"].replace("1-", "0-", 1), round_id="0"),
    ),
    "one of its own round": (
        2,
        "reruns[2]",
        lambda r, _: r.append(r[1] | {"rerun_id": r[1]["rerun_id"].replace("1-", "2-", 1), "round_id": "2"}),
    ),
    "one that comes back twice": (1, "reruns[1]", lambda r, _: r.insert(0, dict(r[0]))),
    "out of order": (1, "reruns[1]", lambda r, _: r.reverse()),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("log", ["whole", "pending"])
def test_a_result_that_follows_from_no_round_is_found_out(logs: dict[str, Path], log: str, case: str) -> None:
    at, path, change = WRONG[case]
    with pytest.raises(FaultError) as caught:
        verified(logs, log, change, at)
    assert (caught.value.kind, caught.value.round_id, caught.value.path) == ("input", str(at), path)


def group_of(log: Path, position: int) -> dict[str, list[str]]:
    """The group of one of round 0's tasks."""
    lines = (json.loads(line) for line in log.read_text().splitlines())
    found: dict[str, list[str]] = next(line["plan"] for line in lines if "plan" in line)["groups"][position]
    return found


def others_of(log: Path, results: Results) -> Results:
    """The results that the other valid primaries of round 0's first task would have had."""
    prefix = results[0]["rerun_id"][:-1]
    return [
        results[0] | {"rerun_id": f"{prefix}{rank}", "hotkey": hotkey}
        for rank, hotkey in enumerate(group_of(log, 0)["primaries"])
        if hotkey not in {results[0]["hotkey"], BROKEN}
    ]


@pytest.mark.parametrize(("log", "place"), [("whole", "reruns[0]"), ("pending", "outcome")])
def test_who_was_drawn_is_known_with_the_salt(logs: dict[str, Path], log: str, place: str) -> None:
    """Until then another valid primary may be the one, and what the round came to does not follow."""

    def other(results: Results, _: object) -> None:
        results[0] = others_of(logs[log], results)[0]

    with pytest.raises(FaultError) as caught:
        verified(logs, log, other, 1)
    assert place in {caught.value.path, caught.value.kind}


def test_one_primary_of_a_task_was_drawn_whoever_it_was(logs: dict[str, Path]) -> None:
    def two(results: Results, _: object) -> None:
        results[:1] = sorted([results[0], *others_of(logs["pending"], results)[:1]], key=lambda one: one["rerun_id"])

    with pytest.raises(FaultError) as caught:
        verified(logs, "pending", two, 1)
    assert (caught.value.kind, caught.value.path) == ("input", "reruns[1]")


def test_another_primary_does_not_come_back_rounds_later(logs: dict[str, Path]) -> None:
    first = json.loads(next(line for line in logs["pending"].read_text().splitlines() if '"rerun_pass"' in line))
    late = others_of(logs["pending"], first["input"]["reruns"])[0]

    def with_late(results: Results, _: object) -> None:
        results.insert(0, late)

    with pytest.raises(FaultError) as caught:
        verified(logs, "pending", with_late, 2)
    assert (caught.value.kind, caught.value.path) == ("input", "reruns[0]")


def test_neither_an_auditor_nor_a_failure_was_drawn(logs: dict[str, Path]) -> None:
    tried = set()
    for position in range(2):
        group = group_of(logs["pending"], position)
        for rank, hotkey in enumerate([*group["primaries"], *group["auditors"]]):
            if hotkey in group["primaries"] and hotkey != BROKEN:
                continue

            def wrong(results: Results, _: object, at: int = position, rank: int = rank, hotkey: str = hotkey) -> None:
                results[at].update(rerun_id=f"{results[at]['rerun_id'][:-1]}{rank}", hotkey=hotkey)

            with pytest.raises(FaultError) as caught:
                verified(logs, "pending", wrong, 1)
            assert (caught.value.kind, caught.value.path) == ("input", f"reruns[{position}]")
            tried.add((hotkey == BROKEN, hotkey in group["primaries"]))
    assert tried >= {(True, True), (False, False)}


def test_an_answer_from_before_the_log_comes_back_once() -> None:
    found, round_ = RerunResults(since=5), worked_example()
    old = RerunResult("3", VALIDATOR.hotkey, SkillType.MCP_SERVER, "rerun_fail", "3", "t")
    assert found.fault((old,)) is None
    assert found.fault((msgspec.structs.replace(old, round_id="5"),)) == "[0]"
    frozen = msgspec.structs.replace(round_.frozen, reruns=(old,))
    found.add(V1, Planned(frozen, round_.plan, 0, 0, drawn=True), round_.outcome)
    assert (found.fault((old,)), found.before) == ("[0]", 1)


def test_what_a_log_makes_us_keep_is_bounded_and_what_is_forgotten_is_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.audit.log.reruns._KEPT", 0)
    found, round_ = RerunResults(since=0), worked_example()
    index = round_.frozen.index
    result = RerunResult("x", VALIDATOR.hotkey, SkillType.MCP_SERVER, "rerun_fail", str(index), "t")
    assert found.fault((result,)) == "[0]"
    found.add(V1, Planned(round_.frozen, round_.plan, 0, 0, drawn=True), round_.outcome)
    assert found.since == index + 1
    assert found.fault((result,)) is None
