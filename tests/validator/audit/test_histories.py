"""Histories in a log's inputs follow from the rounds before: a forged one would draw other groups (SPEC 8)."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit_file import export, with_document
from world import World, honest, on_virtual_time, tasks_of_all_types

from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from validator.miners.scripted import ScriptedReply
from validator.store import open_store
from validator.tasks.source import MemorySource

BROKEN = Signer.from_uri("//Miner//3").hotkey


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Four rounds whose salt is secret yet, so that no group is drawn again, and the part from round 2 on."""
    return asyncio.run(_make(tmp_path_factory.mktemp("log")))


async def _make(folder: Path) -> tuple[bytes, bytes]:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = World(
            store, miners=7, source=MemorySource(tasks_of_all_types()[4:5]), script=one_is_broken, tempo=5_000
        )
        for _ in range(4):
            await on_virtual_time(world, world.service.one_round())
        whole = await export(store, folder / "whole")
        return _read(whole), _read(await export(store, folder / "since", 2))


def _read(path: Path) -> bytes:
    return path.read_bytes()


def one_is_broken(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return ScriptedReply(b"{", seconds=0.5) if signer.hotkey == BROKEN else honest(signer, dispatch)


def with_past(document: dict[str, Any]) -> dict[str, Any]:
    """The histories of the first miner that was assigned before."""
    found: dict[str, Any] = next(miner["history"] for miner in document["miners"] if miner["history"])
    return found


def first_past(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(with_past(document).values()))
    return found


def more_failures(document: dict[str, Any]) -> None:
    one = first_past(document)
    one["failures"] = one["dispatches"]
    one["dispatches"] += 1


def another_role(document: dict[str, Any]) -> None:
    roles = first_past(document)["recent_roles"]
    roles[0] = "auditor" if roles[0] == "primary" else "primary"


def one_role_less(document: dict[str, Any]) -> None:
    first_past(document)["recent_roles"].pop()


def in_flight(document: dict[str, Any]) -> None:
    first_past(document)["in_flight"] = 9


def nothing(document: dict[str, Any]) -> None:
    with_past(document).clear()


Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize("change", [more_failures, another_role, one_role_less, in_flight, nothing])
def test_a_history_that_does_not_follow_is_found_in_its_line(
    logs: tuple[bytes, bytes], change: Change, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(logs[0])
    found = verify_file(path)
    assert (found.pending, found.on_word.get("pasts from before the file")) == (4, None)
    path.write_bytes(with_document(logs[0], "input", change, 3))
    with pytest.raises(FaultError) as caught:
        verify_file(path)
    assert (caught.value.kind, caught.value.round_id) == ("input", "3")
    assert "].history." in caught.value.path


def test_nobody_has_a_past_before_the_first_round(logs: tuple[bytes, bytes], tmp_path: Path) -> None:
    def a_past(document: dict[str, Any]) -> None:
        past = {"recent_roles": ["primary"], "dispatches": 0, "failures": 0, "in_flight": 0}
        document["miners"][0]["history"]["mcp_server"] = past

    path = tmp_path / "log"
    path.write_bytes(with_document(logs[0], "input", a_past, 0))
    with pytest.raises(FaultError, match="recent_roles") as caught:
        verify_file(path)
    assert caught.value.round_id == "0"


def pasts(log: bytes) -> int:
    """Return the number of miners with reputations in the first input of a log."""
    document = next(json.loads(line)["input"] for line in log.splitlines() if line.startswith(b'{"input":'))
    many = sum(bool(miner["reputations"]) for miner in document["miners"])
    assert many
    return many


def test_a_part_of_a_log_is_held_to_what_it_shows(logs: tuple[bytes, bytes], tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(with_document(logs[1], "input", more_failures, 1))  # how often before the part is not known
    found = verify_file(path)
    assert (found.first_round, found.on_word["pasts from before the file"]) == (2, pasts(logs[1]))
    path.write_bytes(with_document(logs[1], "input", another_role, 1))
    with pytest.raises(FaultError, match="recent_roles"):
        verify_file(path)
