"""A validator that takes its own miners' flags away without saying so is found, though it signs all anew (D-28)."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit_file import export, fault_of, lines_of, with_document
from explained import HOTKEYS, cohort
from world import VALIDATOR

from sssa.log.verify import verify_file
from validator.rounds.receipts import close_epoch
from validator.store import open_store


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Rounds that flag three miners, and one more after an operator has cleared the flags of the first."""
    return asyncio.run(_make(tmp_path_factory.mktemp("flags")))


async def _make(folder: Path) -> bytes:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = await cohort(store)
        async with store.begin() as tx:
            assert await tx.acts.clear(HOTKEYS[0], "looked into", world.clock.now())
        await world.play()
        assert await close_epoch(store, VALIDATOR, world.clock)
        return (await export(store, folder / "log.jsonl")).read_bytes()


def inputs(log: bytes) -> Iterator[dict[str, Any]]:
    return (json.loads(line)["input"] for line in lines_of(log) if line.startswith(b'{"input":'))


def flags_of(frozen: dict[str, Any]) -> dict[str, int]:
    return {miner["hotkey"]: miner["flags"] for miner in frozen["miners"]}


def test_a_cleared_flag_is_in_the_input_that_shows_it(log: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log)
    assert verify_file(path).acts == 1
    *_, last = inputs(log)
    assert [flags_of(last)[hotkey] for hotkey in HOTKEYS[:3]] == [0, 1, 1]


def test_a_flag_that_goes_without_an_act_is_found(log: bytes, tmp_path: Path) -> None:
    rounds = list(inputs(log))
    place = sorted(flags_of(rounds[-1])).index(HOTKEYS[0])
    fault = fault_of(tmp_path, with_document(log, "input", lambda frozen: frozen.update(acts=[]), len(rounds) - 1))
    assert (fault.kind, fault.path) == ("input", f"miners[{place}].flags")


def test_a_favour_to_one_more_than_the_act_names_is_found(log: bytes, tmp_path: Path) -> None:
    rounds = list(inputs(log))
    place = [miner["hotkey"] for miner in rounds[-1]["miners"]].index(HOTKEYS[1])

    def cleared(document: dict[str, Any]) -> None:
        document["miners"][place]["flags"] = 0

    fault = fault_of(tmp_path, with_document(log, "input", cleared, len(rounds) - 1))
    assert (fault.kind, fault.path) == ("input", f"miners[{place}].flags")
