"""Rounds and vectors of 2.0.0 after those of 1.0.0: replayed, checked, verified; forgers of new fields are found."""

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, fault_of, verified, with_document, with_weights
from hidden_truths import MINERS, truths_world
from weights_world import PayWorld
from world import VALIDATOR, WINDOWS

from sssa.log.verify import verify_file
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.receipt import wrapped
from sssa.protocol.round import AssessedMember, AssessmentTask, RoundTask, truth_sha256
from sssa.protocol.skill_types import ASSESSED_TYPES
from sssa.protocol.tallies import Tally
from sssa.scoring import Schedule
from sssa.sources import SeededRandom
from taskmaker.canary import Canaries
from validator.audit.explain.miner import explain_miner
from validator.audit.replay import Past, replay_round
from validator.cli.explain import print_miner_explanation
from validator.kinds.assessment.supply import Bundles
from validator.rounds.receipts import close_epoch
from validator.settings.model import WeightsSettings
from validator.store import Store, open_store
from validator.store.checking import checks
from validator.weights.plan import mechanisms

BEFORE, AFTER = 2, 4
TRUTHS = 4  # of a round of `played`
CURATED, OUTCOME = b'{"curated":', b'{"outcome":'


async def played(store: Store) -> PayWorld:
    """Two rounds of 1.0.0 and a vector, four of 2.0.0 with four planted tasks each, and two vectors."""
    pay = PayWorld(store)
    world, random = pay.world, SeededRandom("tallies")
    for hotkey in pay.hotkeys:
        pay.declare(hotkey, *ASSESSED_TYPES)
    canaries = Canaries(random, windows=WINDOWS)
    world.preparer = replace(world.preparer, supplies=(Bundles(world.source, canaries.make, random),))
    await pay.rounds(BEFORE)
    await pay.vector()
    world.preparer = replace(world.preparer, schedule=Schedule({"2.0.0": 0}))
    await pay.rounds(AFTER - 1)
    await pay.vector()
    await pay.rounds()
    await pay.vector()
    assert await close_epoch(store, VALIDATOR, world.clock)
    return pay


async def test_rounds_and_vectors_over_a_switch_follow_from_what_is_stored(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pay = await played(store)
    past, planted = Past(), 0
    async with store.read() as tx:
        for round_id in range(BEFORE + AFTER):
            found = await replay_round(tx, round_id, past)
            assert found is not None
            assert found.verdict == "equal", found.difference
            stored = await tx.rounds.get(round_id)
            assert stored is not None
            assert stored.input is not None
            assert stored.outcome is not None
            members = [one for one in stored.outcome.members if isinstance(one, AssessedMember)]
            if round_id < BEFORE:
                assert all(one.tally is msgspec.UNSET and one.emission is not None for one in members)
                continue
            tasks = [one for one in stored.input.tasks if isinstance(one, AssessmentTask) and one.planted]
            assert len(tasks) == 4
            planted += len(tasks)
            assert all(isinstance(one.tally, Tally) and one.window_entry is None for one in members)
            assert (stored.outcome.flags, stored.outcome.samples) == ((), ())
        state = await tx.state.whole()
        assert [one.faults async for one in checks(tx) if one.faults] == []
        hotkey = min(state.miners)
        explained = await explain_miner(tx, hotkey, 10, pay.world.clock.now(), {0: mechanisms(WeightsSettings())[0]})
    assert state.shared.tallied == AFTER
    tallies = explained.tallies
    assert tallies is not msgspec.UNSET
    assert (tallies.entries, tallies.ramp) == (21, 21 / 41)
    assert tallies.share == AFTER / 30
    assert len(tallies.types) == len(ASSESSED_TYPES)
    for one in tallies.types:
        assert math.fsum(part.weight * part.value for part in one.components) == pytest.approx(one.quality)
    assert tallies.score == pytest.approx(math.fsum(one.worth for one in tallies.types) * tallies.ramp)
    print_miner_explanation(explained)
    assert "component" in capsys.readouterr().out
    verified = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert verified.rounds == {"settled": BEFORE + AFTER}
    assert verified.vectors_recomputed == verified.vectors == 3


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of the same rounds and vectors."""
    folder = tmp_path_factory.mktemp("tallies")

    async def write() -> bytes:
        async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
            await played(store)
            return (await export(store, folder / "log.jsonl")).read_bytes()

    return asyncio.run(write())


def first_assessed(outcome: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in outcome["members"] if one.get("tally") and one["tally"]["capabilities"])


FORGED_ROUNDS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "miners[0].turns": ("input", lambda line: line["miners"][0]["turns"].update(declarative=99)),
    "miners[0].record": ("input", lambda line: line["miners"][0]["record"].update(score=0.5)),
    "miners[0].presence": ("input", lambda line: line["miners"][0]["presence"]["declarative"].update(asked=9)),
    "miners[0].curated": ("input", lambda line: line["miners"][0].update(curated={"score": 0.5, "answers": 1})),
    "curated_random": ("input", lambda line: line.update(curated_random="00" * 32)),
    "tasks[0].first": ("input", lambda line: line["tasks"][0].update(first=not line["tasks"][0]["first"])),
    "groups[0]": ("plan", lambda line: line["groups"][0]["primaries"].reverse()),
    "members[": ("outcome", lambda line: first_assessed(line).update(weight=0.125)),
}


@pytest.mark.parametrize("place", FORGED_ROUNDS)
def test_a_forger_of_what_a_round_freezes_or_comes_to_is_found(log: bytes, tmp_path: Path, place: str) -> None:
    kind, change = FORGED_ROUNDS[place]
    fault = fault_of(tmp_path, with_document(log, kind, change, BEFORE + AFTER - 1))
    assert fault.path.startswith(place), str(fault)


def forged_entry(name: str) -> Callable[[dict[str, Any]], None]:
    """Return a change of a field of an outcome's first entry."""
    forged: dict[str, Any] = {"capabilities": [0, 9], "verdict": "REVIEW", "epsilon": 0.5}

    def change(line: dict[str, Any]) -> None:
        first_assessed(line)["tally"][name] = forged[name]

    return change


FORGED_CURATED = {
    "line": ("curated", ""),
    "both": ("input", "miners[0].curated"),  # line and commitment
    "neither": ("input", "curated_sha256"),
}


@pytest.mark.parametrize(("forged", "fault_at"), FORGED_CURATED.items())
def test_a_forger_of_curated_records_is_found(
    log: bytes, tmp_path: Path, forged: str, fault_at: tuple[str, str]
) -> None:
    lines = log.splitlines()
    place = [i for i, data in enumerate(lines) if data.startswith(CURATED)][-1]
    document = json.loads(lines[place])["curated"]
    hotkey = json.loads(lines[place - 1 - TRUTHS])["input"]["miners"][0]["hotkey"]
    document["records"][hotkey] = {"score": 0.5, "answers": 1}
    lines[place : place + 1] = [] if forged == "neither" else [wrapped("curated", canonical_bytes(document))]
    commitment = truth_sha256(document["random"], document["records"])
    data = b"".join(line + b"\n" for line in lines)
    if forged == "both":
        data = with_document(data, "input", lambda line: line.update(curated_sha256=commitment), BEFORE + AFTER - 1)
    elif forged == "neither":
        data = with_document(data, "input", lambda line: line.pop("curated_sha256"), BEFORE + AFTER - 1)
    fault = fault_of(tmp_path, data)
    assert (fault.kind, fault.path) == fault_at, str(fault)


def test_a_log_without_curated_records_holds_and_its_entries_are_checked_still(log: bytes, tmp_path: Path) -> None:
    data = b"".join(one for one in log.splitlines(keepends=True) if not one.startswith(CURATED))
    assert verified(tmp_path, data).on_word["curated records"] > 0
    believed = verified(tmp_path, with_document(data, "outcome", forged_entry("capabilities"), BEFORE))
    assert believed.on_word["entries by curated records"] > 0
    fault = fault_of(tmp_path, with_document(data, "outcome", forged_entry("epsilon"), BEFORE))
    assert fault.path.startswith("members["), str(fault)


@pytest.mark.parametrize("name", ["capabilities", "verdict", "epsilon"])
def test_a_forger_of_an_entry_is_found(log: bytes, tmp_path: Path, name: str) -> None:
    fault = fault_of(tmp_path, with_document(log, "outcome", forged_entry(name), BEFORE))
    assert fault.path.startswith("members["), str(fault)


FORGED_VECTORS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pool": lambda line: line["pool"].update(share=0.75),
    "miners[0].factor": lambda line: line["miners"][0].update(factor=0.5),
    "miners[0].entries": lambda line: line["miners"][0].update(entries=1),
    "miners[0].parts": lambda line: next(iter(line["miners"][0]["parts"].values())).update(risk=0.875),
    "miners[0].assessments": lambda line: line["miners"][0].update(assessments=0.125),
}


@pytest.mark.parametrize("place", FORGED_VECTORS)
def test_a_forger_of_what_tallies_pay_is_found(log: bytes, tmp_path: Path, place: str) -> None:
    fault = fault_of(tmp_path, with_weights(log, 2, FORGED_VECTORS[place]))
    assert fault.path == place, str(fault)


def test_a_vector_of_1_1_0_has_no_pool(log: bytes, tmp_path: Path) -> None:
    pool = {"ratios": {}, "verdicts": {}, "risks": {}, "share": 0.0}
    fault = fault_of(tmp_path, with_weights(log, 0, lambda line: line.update(pool=pool)))
    assert fault.path == "pool", str(fault)


def with_turns(line: dict[str, Any]) -> None:
    """Freeze turns in an input of an earlier version."""
    line["miners"][0]["turns"] = {}


def test_an_input_of_1_1_0_has_no_turns(log: bytes, tmp_path: Path) -> None:
    fault = fault_of(tmp_path, with_document(log, "input", with_turns, 0))
    assert fault.path == "miners[0].turns", str(fault)


async def sourced(store: Store) -> tuple[Sequence[RoundTask], Sequence[RoundTask]]:
    """Return the stored assessments of a source, and all other tasks."""
    async with store.read() as tx:
        rounds = [await tx.rounds.get(round_id) for round_id in range(4)]
    tasks = [task for one in rounds if one is not None and one.input is not None for task in one.input.tasks]
    curated = [one for one in tasks if isinstance(one, AssessmentTask) and one.provenance == "curated"]
    return curated, [one for one in tasks if one not in curated]


def last_of(path: Path, start: bytes) -> list[bytes]:
    """Return the last line of a file that starts so."""
    return [one for one in path.read_bytes().splitlines() if one.startswith(start)][-1:]


async def test_a_part_of_a_log_and_one_without_truths_hold_too(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path}/store.sqlite", create=True) as store:
        world = truths_world(store)
        world.preparer = replace(world.preparer, schedule=Schedule({"2.0.0": 0}))
        for _ in range(4):
            await world.play()
        assert await close_epoch(store, VALIDATOR, world.clock)
        whole = verify_file(await export(store, tmp_path / "whole.jsonl"))
        part = verify_file(await export(store, tmp_path / "part.jsonl", since=2))
        public = await export(store, tmp_path / "public.jsonl", public=True)
        curated, others = ({one.source_sha256 for one in tasks} for tasks in await sourced(store))
        shown: list[Path] = []
        for retired in (set(sorted(curated)[:1]), curated, others):
            async with store.begin() as tx:
                await tx.retired.add(retired, world.clock.now())
            shown.append(await export(store, tmp_path / f"{len(shown)}.jsonl", public=True))
    assert whole.scores_without_truth == {}
    assert part.rounds == {"settled": 2}
    assert verify_file(public).scores_without_truth == {"assessment": 4 * 2 * 4, "workflow": 4 * 2 * 4}
    for path, rounds in ((tmp_path / "whole.jsonl", 4), (public, 1), *zip(shown, (1, 4, 4), strict=True)):
        assert path.read_bytes().count(b"\n" + CURATED) == rounds, path
        assert b'"weight":' not in b"".join(one for one in path.read_bytes().splitlines() if one.startswith(OUTCOME))
        counted = verify_file(path).on_word
        ends = [json.loads(one)["outcome"] for one in path.read_bytes().splitlines() if one.startswith(OUTCOME)]
        entries = sum(bool(one.get("tally")) for end in ends[1:] for one in end["members"])
        assert entries >= 3 * 4 * MINERS
        unknown = (3 * MINERS, entries) if rounds == 1 else (0, 0)
        assert (counted.get("curated records", 0), counted.get("entries by curated records", 0)) == unknown
    records = [json.loads(one)["curated"]["records"] for one in last_of(tmp_path / "whole.jsonl", CURATED)]
    assert {one["answers"] for of_round in records for one in of_round.values()} == {2}
    assert shown[2].read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    data = public.read_bytes()
    assert b"planted.example" not in data
    outcomes = [json.loads(one)["outcome"] for one in data.splitlines() if one.startswith(b'{"outcome":')]
    hidden = [one for end in outcomes for one in end["members"] if one.get("tally") and one["answer_score"] is None]
    assert {(one["tally"]["reference"], one["tally"]["known"]) for one in hidden} == {(None, None)}
