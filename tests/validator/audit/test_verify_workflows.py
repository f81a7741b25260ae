"""Audit files with workflow rounds: they verify, and a changed plan or run is found."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, fault_of, receipt_of, signed_again
from planned import MINERS, planned
from world import VALIDATOR

from sssa.log.verify import verify_file
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.limits import MAX_LOG_LINE
from sssa.protocol.receipt import wrapped
from sssa.protocol.strict_json import decode_plain
from validator.rounds.receipts import close_epoch
from validator.store import open_store

FLIPS = 150
ANSWERS = b'{"answers":'
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export of two rounds of workflows, closed at the end."""
    folder = tmp_path_factory.mktemp("log")
    path = asyncio.run(_make(folder))
    return path.read_bytes()


async def _make(folder: Path) -> Path:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = await planned(store)
        assert await close_epoch(store, VALIDATOR, world.clock)
        return await export(store, folder / "log.jsonl")


def test_workflow_rounds_verify_from_the_file_alone(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(whole)
    found = verify_file(path)
    assert (dict(found.rounds), found.tasks, found.proofs, found.pending) == ({"settled": 2}, 4, 4, 0)
    assert found.answers == 4 * (MINERS - 1)  # one miner's plan has a cycle


@pytest.mark.timeout(240)
def test_any_changed_byte_is_found_in_its_line(whole: bytes, tmp_path: Path) -> None:
    draw = random.Random(20260102)
    start = whole.index(ANSWERS)
    inside = range(start, whole.index(b"\n", start))
    places = [draw.choice(inside) for _ in range(FLIPS // 2)] + [draw.randrange(len(whole)) for _ in range(FLIPS // 2)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        assert fault_of(tmp_path, bytes(damaged)).line == whole.count(b"\n", 0, place) + 1, place


def with_answers(whole: bytes, change: Change) -> bytes:
    """A log in which the validator changed round 0's answers, and signed that."""
    lines = whole.splitlines()
    place = next(i for i, data in enumerate(lines) if data.startswith(ANSWERS))
    document = decode_plain(lines[place][len(ANSWERS) : -1], limit=MAX_LOG_LINE)
    change(document)
    lines[place] = wrapped("answers", canonical_bytes(document))
    previous, replaced = None, False
    for i, data in enumerate(lines):
        if data.startswith(b'{"receipt":'):
            receipt = msgspec.structs.replace(receipt_of(data), previous=previous)
            if receipt.round is not None and not replaced:
                named = msgspec.structs.replace(receipt.round.lines, answers=sha256_hex(lines[place]))
                receipt = msgspec.structs.replace(receipt, round=msgspec.structs.replace(receipt.round, lines=named))
                replaced = True
            lines[i] = signed_again(receipt, VALIDATOR)
            previous = sha256_hex(lines[i])
    return b"".join(line + b"\n" for line in lines)


def first(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["workflows"][0]
    return found


WRONG: dict[str, tuple[str, Change]] = {
    "another quality": ("workflows[0].quality", lambda d: first(d).update(quality=0.25)),
    "deferred": ("workflows[0].quality", lambda d: first(d).update(quality=None)),
    "another digest": ("workflows[0].plan_sha256", lambda d: first(d).update(plan_sha256="0" * 64)),
    "another total": ("workflows[0].plan", lambda d: first(d)["plan"]["totals"].update(estimated_cost=9)),
    "another nonce": ("workflows[0].plan", lambda d: first(d)["plan"]["task"].update(nonce="0" * 64)),
    "a cycle": ("workflows[0].plan", lambda d: first(d)["plan"]["edges"].extend(_backwards(first(d)["plan"]))),
    "another plan's run": ("workflows[0].run.plan_sha256", lambda d: first(d)["run"].update(plan_sha256="0" * 64)),
    "another goal's run": ("workflows[0].run.goal_sha256", lambda d: first(d)["run"].update(goal_sha256="0" * 64)),
    "another run id": ("workflows[0].run.run_id", lambda d: first(d)["run"].update(run_id="r")),
    "another ceiling": ("workflows[0].run.ceiling_tao", lambda d: first(d)["run"].update(ceiling_tao=1)),
    "another step": ("workflows[0].run.steps", lambda d: first(d)["run"]["steps"].reverse()),
    "a claimed success": (
        "workflows[0].run.steps[0].outcome",
        lambda d: first(d)["run"]["steps"][0].update(attempts=[]),
    ),
    "a dear try": (
        "workflows[0].run.steps[0].attempts[0].cost_tao",
        lambda d: first(d)["run"]["steps"][0]["attempts"][0].update(cost_tao=0.5, charged_tao=0.5),
    ),
    "a plan left out": ("", lambda d: d["workflows"].pop()),
    "a plan told twice": ("", lambda d: d["workflows"].append(first(d))),
}


def _backwards(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"from": edge["to"], "to": edge["from"]} for edge in plan["edges"]]


@pytest.mark.parametrize("case", WRONG)
def test_what_is_told_otherwise_of_a_plan_or_its_run_is_found(whole: bytes, tmp_path: Path, case: str) -> None:
    path, change = WRONG[case]
    fault = fault_of(tmp_path, with_answers(whole, change))
    assert (fault.kind, fault.path, fault.round_id) == ("answers", path, "0")


def test_a_log_that_is_only_signed_again_verifies(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "again.jsonl"
    path.write_bytes(with_answers(whole, lambda _document: None))
    verify_file(path)


def test_scores_follow_from_the_runs(whole: bytes, tmp_path: Path) -> None:
    def cheaper(document: dict[str, Any]) -> None:
        first(document)["run"]["steps"][0]["attempts"][0]["cost_tao"] = 0.001

    assert fault_of(tmp_path, with_answers(whole, cheaper)).kind == "outcome"
