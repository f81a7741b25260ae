"""Canaries of a round: their types and slots (SPEC 16, D-33)."""

import asyncio
import hashlib
import hmac
from collections import Counter

import pytest
from builders import V1
from task_builders import make_task, numbered

from sssa.protocol.draws import canary_types, task_id
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import SeededRandom
from validator.kinds.assessment.supply import Bundles
from validator.tasks.source import FETCH_S, InTurn, MemorySource, Order, SourcedTask

SALT = bytes(range(32))
CURATED = [numbered(number, kind) for kind in ASSESSED_TYPES for number in range(2)]


async def made(skill_type: SkillType) -> SourcedTask:
    return make_task({"SKILL.md": b"# Canary\n"}, skill_type=skill_type, provenance="canary")


async def filled(round_id: int, source: list[SourcedTask], seed: str = "s") -> list[AssessmentTask]:
    supply = Bundles(MemorySource(source), made, SeededRandom(f"{seed} {round_id}"))
    packed = await supply.fill(V1.rules, str(round_id), InTurn(), SALT)
    for one in packed:
        assert one.sourced == (one.task.provenance != "canary")
    return [one.task for one in packed if isinstance(one.task, AssessmentTask)]


def test_the_types_are_those_with_the_smallest_draws() -> None:
    chosen: Counter[SkillType] = Counter()
    for number in range(300):
        drawn = {
            kind: hmac.new(SALT, f"canary|{number}|{kind.value}".encode(), hashlib.sha256).digest()
            for kind in ASSESSED_TYPES
        }
        assert list(canary_types(SALT, str(number), 2)) == sorted(drawn, key=lambda kind: drawn[kind])[:2]
        chosen.update(canary_types(SALT, str(number), 2))
    assert set(chosen) == set(ASSESSED_TYPES)
    assert min(chosen.values()) > 60
    assert [canary_types(b"other", str(n), 2) for n in range(9)] != [canary_types(SALT, str(n), 2) for n in range(9)]


async def test_a_source_that_takes_all_the_time_it_may_takes_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []

    class Slow(MemorySource):
        async def fetch(
            self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
        ) -> list[SourcedTask]:
            taken.append(within_s)
            return await super().fetch(skill_type, count, order)

    loop = asyncio.get_running_loop()
    began = loop.time()
    monkeypatch.setattr(loop, "time", lambda: began + sum(taken))
    supply = Bundles(Slow(CURATED), None, SeededRandom("slow"))
    assert len(await supply.fill(V1.rules, "1", InTurn(), SALT)) == len(CURATED)
    assert (len(taken), round(sum(taken), 6)) == (len(ASSESSED_TYPES), FETCH_S)


async def test_a_round_has_two_canaries_whose_slots_say_nothing() -> None:
    slots: Counter[int] = Counter()
    for number in range(60):
        tasks = await filled(number, CURATED)
        assert [(task.skill_type, task.slot) for task in tasks] == [
            (k, slot) for k in ASSESSED_TYPES for slot in (0, 1)
        ]
        canaries = [task for task in tasks if task.provenance == "canary"]
        assert {task.skill_type for task in canaries} == set(canary_types(SALT, str(number), 2))
        assert len(canaries) == 2
        slots.update(task.slot for task in canaries)
        for task in tasks:
            assert task.task_id == task_id(str(number), task.skill_type, task.slot, task.source_sha256)
    assert min(slots[0], slots[1]) > 40


async def test_a_canary_fills_its_slot_where_the_source_has_nothing() -> None:
    tasks = await filled(7, [])
    assert {(task.skill_type, task.slot, task.provenance) for task in tasks} == {
        (kind, 0, "canary") for kind in canary_types(SALT, "7", 2)
    }


async def test_no_round_has_the_same_bundle_as_canary_and_as_task() -> None:
    twins = [make_task({"SKILL.md": b"# Canary\n"}, skill_type=kind) for kind in ASSESSED_TYPES]
    assert [task.provenance for task in await filled(7, twins)] == ["none"] * 6
