"""The local network's other scenarios, in their own file: each takes half a minute, next to the demo's one."""

import json
from typing import Any

import pytest
from replay_kit import ended, started

pytestmark = pytest.mark.attack


@pytest.mark.timeout(300)
def test_a_cohort_that_turns_is_flagged_and_nobody_else(sqlite_url: str) -> None:
    result = _run(sqlite_url, "collusion", 14)
    names = {miner["hotkey"]: miner["behaviour"] for miner in result["miners"]}
    flagged = {detail["flag"]["hotkey"] for detail in result["flags"]}
    assert {names[hotkey] for hotkey in flagged} == {"cohort"}
    assert len(flagged) >= 2
    for detail in result["flags"]:
        assert len(detail["agreements"]) >= 5
        assert detail["flag"]["mean_with_primaries"] > 0.9
        assert detail["flag"]["mean_with_auditors"] < 0.6
    paid = result["cohort"]["paid"]
    assert paid[-1]["ejected"] == len(result["cohort"]["ejections"]) >= 2
    assert [epoch["ejected_weight"] for epoch in paid] == [0.0] * len(paid)


@pytest.mark.timeout(300)
def test_without_a_head_start_a_cohort_earns_less_than_its_share(sqlite_url: str) -> None:
    result = _run(sqlite_url, "collusion-fair", 10)
    names = {miner["hotkey"]: miner["behaviour"] for miner in result["miners"]}
    story = result["cohort"]
    assert {names[hotkey] for hotkey in story["members"]} == {"cohort"}
    assert len(story["members"]) == 3
    assert 0 <= story["paid"][-1]["weight"] < 3 / len(result["miners"])


def _run(sqlite_url: str, scenario: str, rounds: int) -> Any:
    code, out, err = ended(started(sqlite_url, "devnet", "--scenario", scenario, "--rounds", str(rounds), "--json"))
    assert code == 0, err[-3000:]
    return json.loads(out)
