"""`validator flags show|reset`: evidence between two miners, on a store whose miners all find nothing."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli_store import called
from msgspec import structs
from pay_world import PayWorld
from world import WINDOWS

from validator.audit.explain.pair import explain_pair
from validator.kinds.assessment.supply import Bundles
from validator.protocol.skill_types import ASSESSED_TYPES
from validator.protocol.tallies import pair_of
from validator.sources import SeededRandom
from validator.state.values import Delta
from validator.store import open_store
from validator.tasks.canary import Canaries

SETTINGS = """
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "{folder}/chain.json"
[store]
url = "sqlite:///{folder}/store.sqlite"
"""
COUNTED = (20, 40)  # found and answers: the kind counts, and half of the answers name it


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Settings of a store of 2.0.0 with two rounds before kinds count and three after, and its hotkeys."""
    folder = tmp_path_factory.mktemp("pairs")

    async def play() -> list[str]:
        async with open_store(f"sqlite:///{folder / 'store.sqlite'}", create=True) as store:
            pay, random = PayWorld(store, "2.0.0"), SeededRandom("pairs")
            for hotkey in pay.hotkeys:
                pay.declare(hotkey, *ASSESSED_TYPES)
            supplies = (Bundles(pay.world.source, Canaries(random, windows=WINDOWS).make, random),)
            pay.world.preparer = replace(pay.world.preparer, supplies=supplies)
            await pay.rounds(2)
            async with store.begin() as tx:
                shared = (await tx.state.whole()).shared
                counted = structs.replace(shared, kinds=dict.fromkeys(shared.kinds, COUNTED))
                await tx.state.write(shared, Delta({}, counted))
            await pay.rounds(3)
            return sorted(pay.hotkeys)

    hotkeys = asyncio.run(play())
    config = folder / "validator.toml"
    config.write_text(SETTINGS.format(folder=folder))
    return config, hotkeys


def shown(config: Path, *words: str) -> Any:
    done = called("flags", "show", *words, "--config", str(config), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_step_of_a_pair_is_shown_beside_what_independent_miners_do(played: tuple[Path, list[str]]) -> None:
    config, (one, other, *_) = played
    found = shown(config, other, one)
    assert found["pair"] == [one, other]
    steps = found["steps"]
    assert {step["round_id"] for step in steps} <= {2, 3, 4}
    assert len(steps) > 3
    assert steps[0]["before"] == 1
    for step, after in pairwise(steps):
        assert step["after"] == after["before"]
    assert steps[-1]["after"] == found["value"]
    counted = [fault for step in steps for fault in step["faults"] if fault["chances"]]
    assert found["counted"] == found["same"] == len(counted) > 8, "both missed all of them"
    expected = sum(p * q + (1 - p) * (1 - q) for p, q in (fault["chances"] for fault in counted))
    assert found["expected"] == pytest.approx(expected)
    assert found["expected"] < found["same"]
    assert all(fault["found"] == [False, False] for fault in counted)
    text = called("flags", "show", one, other, "--config", str(config)).stdout
    assert f"of {found['counted']} faults both named or both missed {found['same']}; " in text
    assert f"round {steps[0]['round_id']}, task {steps[0]['task_id']}" in text
    assert steps[0]["faults"][0]["kind"] in text


def test_pairs_of_a_hotkey_are_listed_and_a_reset_needs_evidence_and_a_reason(played: tuple[Path, list[str]]) -> None:
    config, (one, other, *_) = played
    where = ("--config", str(config))
    assert [one, other] in [view["pair"] for view in shown(config, one)["pairs"]]
    assert shown(config) == {"flags": [], "pairs": []}
    assert "no pair of miners from a value of 1,000 on" in called("flags", "show", *where).stdout
    for words in (("nobody",), (one, "nobody")):
        missing = called("flags", "show", *words, *where)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert "nobody" in missing.stderr
    assert called("flags", "reset", one, "nobody", "--reason", "none", *where).returncode == 1
    assert called("flags", "reset", one, other, "--reason", " ", *where).returncode == 2
    done = called("flags", "reset", other, one, "--reason", "one owner, two analysts", *where)
    assert done.returncode == 0
    assert done.stdout == f"reset the pair of {one} and {other}; the next round says so\n"


async def test_strangers_have_no_evidence(played: tuple[Path, list[str]]) -> None:
    config, (one, *_) = played
    async with open_store(f"sqlite:///{config.parent / 'store.sqlite'}") as store, store.read() as tx:
        assert await explain_pair(tx, one, "nobody") is None
        found = await explain_pair(tx, *pair_of(*played[1][1:3]))
    assert found is not None
    assert found.steps
