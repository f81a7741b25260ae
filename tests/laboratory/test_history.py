"""Stored rounds in the laboratory: what versions would have paid for them, and populations like their miners."""

import asyncio
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from audit_file import export
from cli_store import called
from weights_world import PayWorld
from world import VALIDATOR, WINDOWS

from laboratory.cli.from_history import past_rounds
from laboratory.history import History, PastRound, Rescored, population_of_history
from laboratory.network import Network
from laboratory.population import population_of, toml_of
from laboratory.results import rank_correlation
from sssa.protocol.skill_types import ASSESSED_TYPES
from sssa.sources import SeededRandom
from taskmaker.canary import Canaries
from validator.kinds.assessment.supply import Bundles
from validator.rounds.receipts import close_epoch
from validator.settings.model import WeightsSettings
from validator.store import open_store
from validator.store.vector_inputs import basis_now
from validator.weights.plan import mechanisms

CROWD = {
    "miners": [
        {"name": "honest", "behaviour": "honest", "count": 8, "skill": [0.2, 0.9], "fails": 0.05},
        {"name": "pair", "behaviour": "sharer", "count": 2},
        {"name": "empty", "behaviour": "constant", "verdict": "REVIEW"},
    ]
}


def rounds_of(network: Network, many: int) -> list[PastRound]:
    played = [network.play() for _ in range(many)]
    return [PastRound(one.frozen, one.plan, one.results) for one in played]


@pytest.mark.parametrize("scoring", ["1.0.0", "2.0.0"])
def test_the_own_version_pays_what_it_paid(scoring: str) -> None:
    network = Network(population_of(CROWD | {"version": scoring}))
    again, other = Rescored(scoring), Rescored("2.0.0" if scoring == "1.0.0" else "1.0.0")
    for past in rounds_of(network, 12):
        again.add(past)
        other.add(past)
    assert again.vector().weights == pytest.approx(network.vector().weights)
    assert other.vector().weights.keys() <= set(network.names)
    assert other.vector().weights != pytest.approx(again.vector().weights)


def test_estimates_are_near_what_was_played() -> None:
    network, history = Network(population_of(CROWD)), History()
    for past in rounds_of(network, 40):
        history.add(past)
    estimates = history.estimates()
    names = {name: hotkey for hotkey, name in network.names.items()}
    levels = [estimates[names[f"honest-{number}"]].level or 0.0 for number in range(1, 9)]
    assert rank_correlation(levels, list(range(8))) > 0.9
    assert max(abs(level - true / 7 * 0.7 - 0.2) for true, level in enumerate(levels)) < 0.15
    assert estimates[names["empty-1"]].verdict == "REVIEW"
    assert 50 < sum(one.failed for one in estimates.values()) < 130
    (best, value), *rest = sorted(history.alike().items(), key=lambda pair: -pair[1])
    assert best == tuple(sorted((names["pair-1"], names["pair-2"])))
    assert value > 0.8
    assert all(other < 0.5 for _, other in rest)
    found = population_of_history(history, "2.0.0", 10)
    assert sorted(one.behaviour for one in found.miners) == ["constant", *["honest"] * 8, "sharer"]
    assert population_of(tomllib.loads(toml_of(found))) == found
    Network(found).play()


def test_a_stores_log_is_paid_again_by_the_command(tmp_path: Path) -> None:
    async def play() -> tuple[Path, dict[str, float]]:
        async with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}", create=True) as store:
            pay = PayWorld(store)
            random = SeededRandom("history")
            for hotkey in pay.hotkeys:
                pay.declare(hotkey, *ASSESSED_TYPES)
            canaries = Canaries(random, windows=WINDOWS)
            supplies = (Bundles(pay.world.source, canaries.make, random),)
            pay.world.preparer = replace(pay.world.preparer, supplies=supplies)
            await pay.rounds(3)
            async with store.read() as tx:
                plan = (await basis_now(tx, 0)).plan(pay.hotkeys, mechanisms(WeightsSettings())[0])
            assert await close_epoch(store, VALIDATOR, pay.world.clock)
            return await export(store, tmp_path / "log.jsonl"), plan.weights

    log, weights = asyncio.run(play())
    assert [past.frozen.index for past in past_rounds(log)] == [0, 1, 2]
    written = tmp_path / "found.toml"
    done = called("simulate", "from-history", str(log), "--json", "--population", str(written))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["rounds"] == 3
    assert document["weights"]["1.0.0"] == pytest.approx(weights)
    assert set(document["weights"]["2.0.0"]) <= set(document["miners"])
    assert called("simulate", "run", str(written), "--rounds", "2").returncode == 0
    table = called("simulate", "from-history", str(log), "--scoring", "2.0.0")
    assert "pay 2.0.0" in table.stdout
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(log.read_bytes().replace(b'"ALLOW"', b'"BLOCK"', 1))
    assert called("simulate", "from-history", str(damaged)).returncode != 0
