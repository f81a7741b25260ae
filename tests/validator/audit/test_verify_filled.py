"""Audit files whose rounds enter late qualities: they verify, and what is filled wrongly is named (SPEC 12)."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest
from audit_file import export, with_document
from waiting_world import Wrong, code_world, three_rounds, wrong_inputs
from world import VALIDATOR, one_round

from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from validator.rounds.receipts import close_epoch
from validator.store import Store, open_store


class Log(NamedTuple):
    whole: bytes
    later: bytes
    wrong: dict[str, Wrong]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return asyncio.run(_make(tmp_path_factory.mktemp("log")))


async def _make(folder: Path) -> Log:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = await three_rounds(store)
        wrong = await wrong_inputs(store)
        assert await close_epoch(store, VALIDATOR, world.clock)
        whole, later = [(await export(store, folder / "log.jsonl", since)).read_bytes() for since in (None, 1)]
        return Log(whole, later, wrong)


async def test_code_that_was_judged_at_settlement_is_counted(store: Store, tmp_path: Path) -> None:
    await one_round(code_world(store, code=""))  # without code there is nothing to run: it is worth 0 at once
    on_word = verify_file(await export(store, tmp_path / "log.jsonl")).on_word
    assert (on_word["code qualities"], on_word["runs"]) == (3, 3)


def test_late_qualities_verify_from_the_file_alone(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(with_document(log.whole, "input", lambda _: None, 1))
    found = verify_file(path)
    assert (dict(found.rounds), found.filled, found.filled_before) == ({"settled": 3}, 3, 0)
    assert found.on_word["late qualities without a result"] == 6  # of the last two rounds


def test_a_file_that_begins_later_takes_older_answers_at_the_validators_word(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    path.write_bytes(log.later)
    found = verify_file(path)
    assert (dict(found.rounds), found.filled, found.filled_before) == ({"settled": 2}, 0, 3)
    path.write_bytes(with_document(log.later, "input", log.wrong["twice"].change, 1))
    with pytest.raises(FaultError, match="was filled before"):
        verify_file(path)


def test_every_wrong_filling_is_named(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    missed = {}
    for name, wrong in log.wrong.items():
        path.write_bytes(with_document(log.whole, "input", wrong.change, wrong.round_id))
        with pytest.raises(FaultError) as caught:
            verify_file(path)
        fault = caught.value
        found = (fault.kind, fault.round_id, fault.path, wrong.log in fault.what)
        if found != ("input", str(wrong.round_id), wrong.path, True):
            missed[name] = str(fault)
    assert missed == {}
