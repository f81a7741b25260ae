"""The local network as a user runs it: real daemon code, real miners, real HTTP; what `make demo` promises."""

import contextlib
import json
import math
import os
import sqlite3
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fork_start import ran
from replay_kit import copied, replayed

from sssa.protocol.canonical import canonical_bytes

ROUNDS = 6
CONFIG = Path(__file__).parents[2] / "config" / "demo.toml"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """Return the demo's printed report and the url of the store that it left."""
    folder = tmp_path_factory.mktemp("demo")
    return devnet(folder, "--rounds", f"{ROUNDS}", "--no-executions"), f"sqlite:///{folder}/devnet.sqlite"


def devnet(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-c",
        "from validator.cli import main; main()",
        "devnet",
        "--config",
        str(CONFIG),
        "--json",
    ]
    environment = os.environ | {
        "VALIDATOR_STORE__URL": f"sqlite:///{tmp_path}/devnet.sqlite",
        "VALIDATOR_LOG__LEVEL": "info",
    }
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=560, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert '"event": "round_settled"' in done.stderr  # where the data is not
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run(*arguments: str, cwd: Path, url: str = "") -> subprocess.CompletedProcess[str]:
    done = ran(*arguments, cwd=cwd, env=os.environ | {"VALIDATOR_STORE__URL": url}, timeout=200)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done


def of_an_answer(miner: dict[str, Any]) -> float:
    """Return a miner's mean score per answer, independent of how often it was drawn."""
    return float(miner["mean_quality"] * miner["mean_consensus"])


@pytest.mark.timeout(600)
def test_the_demo_keeps_its_promises(demo: tuple[dict[str, Any], str]) -> None:
    result, url = demo
    miners = result["miners"]
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for miner in miners:
        by_kind.setdefault(miner["behaviour"], []).append(miner)
    assert len(miners) >= 12
    assert (result["rounds"], result["settled"], result["tasks"]) == (ROUNDS, ROUNDS, 14 * ROUNDS)
    assert result["full_groups"] == 14 * ROUNDS
    assert (result["executions"]["why_not"], result["executions"]["queued"]) == ("--no-executions", 0)

    vector = result["submission"]["vector"]
    assert math.isclose(math.fsum(vector.values()) + result["submission"]["unallocated"], 1, abs_tol=1e-9)
    assert max(vector.values()) <= 0.15
    assert result["submission"]["state"] == "confirmed"
    assert math.isclose(sum(miner["on_chain"] for miner in miners), 1, abs_tol=1e-9)

    assert sum(miner["score"] > 0 for miner in miners) >= 10
    others = [miner for kind in ("lazy", "sloppy", "cohort") for miner in by_kind[kind]]
    # Who is drawn how often is luck, and decides most of a score of so few rounds; what an answer is worth is not.
    assert min(map(of_an_answer, by_kind["thorough"])) > max(map(of_an_answer, others))
    assert statistics.median(miner["score"] for miner in by_kind["thorough"]) > max(miner["score"] for miner in others)
    reasons = {
        "garbage": {"parse_schema"},
        "oversized": {"parse_too_large"},
        "wrong_signature": {"validity_signature"},
        "replayed": {"validity_nonce", "validity_bundle", "validity_skill_type"},
        "dead": {"deadline_connect"},
    }
    broken = {kind: miner for kind in reasons for miner in by_kind[kind]}
    for kind, miner in broken.items():
        assert (miner["score"], miner["weight"]) == (0, 0)
        assert set(miner["reasons"]) <= reasons[kind]
        assert sum(miner["reasons"].values()) == miner["tasks"]
    # Each is drawn about four times, so one in fifty never is; that three of them never are does not happen.
    assert sum(bool(miner["reasons"]) for miner in broken.values()) > len(broken) // 2
    planners = {kind: by_kind[kind] for kind in ("skilled", "hasty", "forgetful", "confused")}
    worth = {
        kind: [statistics.mean(miner[field] or 0.0 for miner in found) for field in ("score", "mean_workflow")]
        for kind, found in planners.items()
    }
    for kind in ("hasty", "forgetful"):
        assert worth["skilled"][0] >= worth[kind][0], worth
        assert worth["skilled"][1] > worth[kind][1], worth
    assert worth["confused"] == [0, 0]
    for miner in planners["confused"]:
        assert miner["reasons"] == ({"parse_plan": miner["tasks"]} if miner["tasks"] else {})
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as store:
        pending = "SELECT count(*) FROM waiting_work WHERE kind = 'code' AND state = 'pending'"
        (waiting,) = store.execute(pending).fetchone()
    assert sum(miner["reasons"].get("workflow_deferred", 0) for miner in miners) == waiting
    assert result["plans"] > 5 * ROUNDS
    proven = 28 * result["planners_weight"]  # a seventh of a quarter for each planner with twenty runs (D-24)
    assert math.isclose(proven, round(proven), abs_tol=0.02)
    assert 0 <= round(proven) <= 7
    assert not any(miner["flags"] for kind in ("thorough", "partial", "slow") for miner in by_kind[kind])
    assert sum(miner["promotions"] for miner in miners) > 0
    assert any(most >= many == 70 for most, many in zip(result["most_open"], result["dispatches"], strict=True)), (
        "in no round were all dispatches open at once"
    )


def test_two_validators_draw_for_themselves_and_the_chain_pays_by_both(demo: tuple[dict[str, Any], str]) -> None:
    result, url = demo
    payout = result["payout"]
    rows = [row["shares"] for row in payout["rows"]]
    assert len(rows) == 2
    assert rows[0] == {miner["hotkey"]: miner["on_chain"] for miner in result["miners"] if miner["on_chain"]}
    assert payout["rows"][0]["hotkey"] != payout["rows"][1]["hotkey"]
    assert [math.isclose(math.fsum(row.values()), 1, abs_tol=1e-9) for row in rows] == [True, True]
    together = {hotkey: (rows[0].get(hotkey, 0.0) + rows[1].get(hotkey, 0.0)) / 2 for hotkey in {*rows[0], *rows[1]}}
    assert payout["aggregate"] == pytest.approx(together, abs=1e-9)  # two of equal stake meet in the middle
    assert rows[0] != rows[1]
    salts = []
    for name in ("devnet", "devnet-2"):
        with contextlib.closing(
            sqlite3.connect(url.removeprefix("sqlite:///").replace("devnet.", f"{name}."))
        ) as store:
            assert store.execute("SELECT count(*) FROM rounds WHERE state = 'settled'").fetchone() == (ROUNDS,)
            salts.append({salt for (salt,) in store.execute("SELECT salt FROM salts")})
    assert all(salts)
    assert not salts[0] & salts[1]


@pytest.mark.timeout(300)
def test_the_demo_replays_byte_for_byte_on_the_other_database_too(
    demo: tuple[dict[str, Any], str], postgres_url: str
) -> None:
    _, url = demo
    digests = replayed(url)
    assert len(digests.splitlines()) == ROUNDS
    copied(url, postgres_url)
    assert replayed(postgres_url) == digests


@pytest.mark.timeout(300)
def test_the_log_of_the_demo_verifies_anywhere_to_the_last_draw(
    demo: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    result, url = demo
    file = tmp_path / "elsewhere" / "log.jsonl"
    file.parent.mkdir()
    run("audit", "export", "--config", str(CONFIG), "--out", str(file), cwd=tmp_path, url=url)
    found = json.loads(run("audit", "verify", "log.jsonl", "--json", cwd=file.parent).stdout)
    assert (found["ok"], found["rounds"], found["pending"]) == (True, {"settled": result["settled"]}, 0)
    assert (found["tasks"], found["proofs"]) == (result["tasks"], result["tasks"])
    assert found["vectors_recomputed"] == found["vectors"] >= found["fates"]["confirmed"] > 1
    (last,) = [one for one in found["confirmed"] if one["mechid"] == 0]
    assert shares_by_hotkey(file, last["row"]) == result["payout"]["rows"][0]["shares"]
    row = {"netuid": 1, "mechid": 0, "uid": 0, "block": last["block"], "row": last["row"]}
    (file.parent / "row.json").write_text(json.dumps(row))
    assert "exactly" in run("audit", "verify", "log.jsonl", "--rows", "row.json", cwd=file.parent).stdout


def test_the_demos_public_log_verifies_and_tells_no_truth_that_comes_again(
    demo: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    _, url = demo
    for name, options in (("whole", ()), ("public", ("--public",))):
        run("audit", "export", *options, "--config", str(CONFIG), "--out", str(tmp_path / name), cwd=tmp_path, url=url)
    found = json.loads(run("audit", "verify", "public", "--json", cwd=tmp_path).stdout)
    assert found["ok"]
    assert min(found["truths"], found["truths_hidden"], *found["scores_without_truth"].values()) > 0
    public = (tmp_path / "public").read_bytes().splitlines()
    whole = (tmp_path / "whole").read_bytes().splitlines()
    assert [line for line in whole if line in set(public)] == public
    tasks = [task for line in public for task in json.loads(line).get("input", {"tasks": ()})["tasks"]]
    assert {task.get("truth") for task in tasks} == {None}
    assert all(not task["goal"]["reference"] for task in tasks if task["kind"] == "workflow")
    groups = [group for line in public for group in json.loads(line).get("outcome", {"groups": ()})["groups"]]
    assert {group["scored_verdict"] for group in groups if group["provenance"] != "consensus"} == {None}
    scores_without_truth = [json.loads(line)["truth"] for line in whole if line not in set(public)]
    assert len(scores_without_truth) == found["truths_hidden"]
    told = b"\n".join(line for line in public if not line.startswith(b'{"truth":'))
    ours = b"\n".join(line for line in public if line.startswith((b'{"input":', b'{"plan":', b'{"outcome":')))
    for one in scores_without_truth:
        secret = one.get("truth") or one["reference"]
        assert canonical_bytes(secret) not in told
        assert one["random"].encode() not in told
        for command in secret.get("shell_commands") or ():
            assert canonical_bytes(command) not in ours


def shares_by_hotkey(log: Path, row: list[list[int]]) -> dict[str, float]:
    """The row's shares, by the hotkeys that the log gives its uids."""
    lines = [json.loads(line)["weights"] for line in log.read_bytes().splitlines() if line.startswith(b'{"weights":')]
    told = next(line for line in reversed(lines) if line["row"] == row)
    uids = {one["uid"]: one["hotkey"] for one in (*told["miners"], *filter(None, [told["owner"]]))}
    total = sum(value for _, value in row)
    return {uids[uid]: value / total for uid, value in row}
