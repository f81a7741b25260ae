"""The local network's other scenario, in a file of its own: it takes half a minute, beside the demo's one."""

import json

import pytest
from replay_kit import ended, started


@pytest.mark.timeout(300)
def test_a_cohort_that_turns_is_flagged_and_nobody_else(sqlite_url: str) -> None:
    code, out, err = ended(started(sqlite_url, "devnet", "--scenario", "collusion", "--rounds", "14", "--json"))
    assert code == 0, err[-3000:]
    result = json.loads(out)
    names = {miner["hotkey"]: miner["behaviour"] for miner in result["miners"]}
    flagged = {detail["record"]["flag"]["hotkey"] for detail in result["flags"]}
    assert {names[hotkey] for hotkey in flagged} == {"cohort"}
    assert len(flagged) >= 2
    for detail in result["flags"]:
        assert len(detail["samples"]) >= 5
        assert detail["record"]["flag"]["mean_with_primaries"] > 0.9
        assert detail["record"]["flag"]["mean_with_auditors"] < 0.6
