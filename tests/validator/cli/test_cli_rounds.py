"""`validator rounds …` against a real store."""

import json
import sqlite3
from collections.abc import Callable, Mapping

import pytest
from cli_store import EVIL, EVIL_SHOWN, FLAGGED, GARBAGE, Example, answered, called, validator
from recorded import dispatched, harm, headed

from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import ASSESSED_TYPES

ROUND_KEYS = [
    "round_id",
    "epoch",
    "block",
    "block_hash",
    "state",
    "reason",
    "input_sha256",
    "outcome_sha256",
    "started_at",
    "settled_at",
    "task_count",
    "dispatch_count",
    "accepted_count",
    "failed_count",
    "mean_quality",
    "mean_consensus",
]
TASK_KEYS = [
    "task_id",
    "position",
    "skill_type",
    "slot",
    "source_sha256",
    "bundle_sha256",
    "provenance",
    "mode",
    "state",
    "reason",
    "meaning",
    "primaries",
    "auditors",
    "promoted",
    "demoted",
    "excluded",
    "outcome",
    "dispatches",
]
DISPATCH_KEYS = [
    "hotkey",
    "uid",
    "role",
    "rank",
    "state",
    "reason",
    "meaning",
    "gate",
    "detail",
    "sent_at",
    "received_at",
    "seconds",
    "stalled",
    "http_status",
    "body_bytes",
    "sssa_sha256",
    "quality",
    "consensus",
    "emission",
    "agreement_with_primaries",
    "agreement_with_auditors",
    "components",
    "factors",
    "workflow",
]


def test_rounds_are_listed_newest_first_with_stable_keys(example: Example) -> None:
    rounds = answered("rounds", "list", "--config", str(example.config))["rounds"]
    assert [(one["round_id"], one["state"]) for one in rounds] == [(1, "open"), (0, "settled")]
    assert [list(one) for one in rounds] == [ROUND_KEYS, ROUND_KEYS]
    settled = rounds[1]
    assert (settled["task_count"], settled["dispatch_count"]) == (12, 60)
    assert settled["accepted_count"] + settled["failed_count"] == 60
    assert settled["started_at"].startswith("2026-01-01T00:00:")
    assert settled["started_at"].endswith("Z")
    assert rounds[0]["settled_at"] is None


def test_rounds_can_be_paged(example: Example) -> None:
    where = ["--config", str(example.config)]
    assert [one["round_id"] for one in answered("rounds", "list", "--limit", "1", *where)["rounds"]] == [1]
    assert [one["round_id"] for one in answered("rounds", "list", "--before", "1", *where)["rounds"]] == [0]
    assert answered("rounds", "list", "--before", "0", *where) == {"rounds": []}
    assert len(answered("rounds", "list", "--before", str(2**53 - 1), *where)["rounds"]) == 2
    assert called("rounds", "list", "--before", str(2**53), *where).returncode == 2


def test_rounds_as_a_table(example: Example) -> None:
    done = validator("rounds", "list", "--config", str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split()[:3] == ["round", "state", "reason"]
    assert [row.split()[:2] for row in rows] == [["1", "open"], ["0", "settled"]]


def test_a_settled_round_shows_every_dispatch_with_its_score(example: Example) -> None:
    found = answered("rounds", "show", "0", "--config", str(example.config))
    assert list(found) == ["round", "meaning", "tasks", "flags", "reputation", "stalls"]
    assert list(found["round"]) == ROUND_KEYS
    assert found["meaning"] == Reason.SETTLED.meaning
    assert [task["skill_type"] for task in found["tasks"]] == [str(kind) for kind in ASSESSED_TYPES for _ in range(2)]
    for task in found["tasks"]:
        assert list(task) == TASK_KEYS
        assert (task["mode"], task["state"]) == ("full", "settled")
        assert [one["hotkey"] for one in task["dispatches"]] == task["primaries"] + task["auditors"]
        assert (task["outcome"]["n_valid"], task["outcome"]["verdict"]) in ((5, "ALLOW"), (4, "ALLOW"))
    dispatches = [one for task in found["tasks"] for one in task["dispatches"]]
    assert all(list(one) == DISPATCH_KEYS for one in dispatches)
    failed = [one for one in dispatches if one["hotkey"] == GARBAGE]
    assert {(one["reason"], one["gate"], one["emission"], one["quality"]) for one in failed} == {
        ("parse_schema", 2, 0.0, None)
    }
    assert failed[0]["meaning"] == Reason.PARSE_SCHEMA.meaning
    passed = [one for one in dispatches if one["hotkey"] != GARBAGE]
    assert {(one["reason"], one["seconds"], one["consensus"]) for one in passed} == {("accepted", 1.0, 1.0)}
    assert all(one["emission"] == one["factors"]["emission"] > 0 for one in passed)
    assert all(one["quality"] == one["factors"]["quality"] for one in passed)
    assert {flag["hotkey"] for flag in found["flags"]} > {FLAGGED}
    assert {event["kind"] for event in found["reputation"] if event["hotkey"] == GARBAGE} == {"invalid"}


def test_an_open_round_shows_its_plan(example: Example) -> None:
    found = answered("rounds", "show", "1", "--config", str(example.config))
    assert {one["state"] for task in found["tasks"] for one in task["dispatches"]} == {"planned"}
    assert all(task["outcome"] is None and task["reason"] is None for task in found["tasks"])
    text = called("rounds", "show", "1", "--config", str(example.config)).stdout
    assert text.startswith("Round 1: open, epoch ")
    assert text.count("planned") == 60


def test_who_was_left_out_and_why(example: Example) -> None:
    found = answered("rounds", "show", "1", "--config", str(example.config))
    excluded = {task["skill_type"]: task["excluded"] for task in found["tasks"]}
    reason = {"hotkey": GARBAGE, "reason": "low_reputation", "meaning": Reason.LOW_REPUTATION.meaning}
    assert excluded["mcp_server"] == [reason]
    assert excluded["declarative"] == []
    lines = called("rounds", "show", "1", "--config", str(example.config)).stdout.splitlines()
    assert lines.count(f"excluded {GARBAGE}: low_reputation") == 2
    assert f"low_reputation: {Reason.LOW_REPUTATION.meaning}" in lines


def planned_with(changes: Mapping[str, object]) -> Callable[[bytes], bytes]:
    """Every group of a plan with something else in it."""

    def changed(data: bytes) -> bytes:
        plan = json.loads(data)
        return json.dumps({**plan, "groups": [{**group, **changes} for group in plan["groups"]]}).encode()

    return changed


def test_hostile_names_in_a_round_are_escaped(own_example: Example) -> None:
    hostile = {"promoted": [EVIL], "demoted": [FLAGGED], "excluded": {EVIL: "a_code_of_\x1b_tomorrow"}}
    harm(own_example.database, headed(plan=planned_with(hostile)), dispatched(detail="\x1b]0;title\x07[link=x]y"))
    done = called("rounds", "show", "0", "--config", str(own_example.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert not {"\x1b", "\u202e", "\x07"} & set(done.stdout)
    lines = done.stdout.splitlines()
    assert lines.count(f"promoted {EVIL_SHOWN}") == 12
    assert lines.count(f"demoted {FLAGGED}") == 12
    assert lines.count(rf"excluded {EVIL_SHOWN}: a_code_of_\u001b_tomorrow") == 12
    assert sum(line.rstrip().endswith(r"\u001b]0;title\u0007[link=x]y") for line in lines) == 60
    tasks = answered("rounds", "show", "0", "--config", str(own_example.config))["tasks"]
    assert tasks[0]["excluded"] == [{"hotkey": EVIL, "reason": "a_code_of_\x1b_tomorrow", "meaning": None}]


def test_codes_that_this_version_does_not_know_are_shown_as_they_are(own_example: Example) -> None:
    with sqlite3.connect(own_example.database) as connection:
        for name in ("rounds", "tasks", "dispatches"):
            connection.execute(f"UPDATE {name} SET reason = 'code_of_tomorrow' WHERE round_id = 0")
    connection.close()
    tomorrow = Reason("code_of_tomorrow")
    excluded = planned_with({"excluded": {FLAGGED: tomorrow}})
    harm(own_example.database, headed(plan=excluded), dispatched(reason=tomorrow))
    where = ["--config", str(own_example.config)]
    assert answered("rounds", "list", *where)["rounds"][1]["reason"] == "code_of_tomorrow"
    found = answered("rounds", "show", "0", *where)
    dispatches = [one for task in found["tasks"] for one in task["dispatches"]]
    shown = [found["round"] | {"meaning": found["meaning"]}, *found["tasks"], *dispatches]
    assert {(one["reason"], one["meaning"]) for one in shown} == {("code_of_tomorrow", None)}
    assert {one["gate"] for one in dispatches} == {None}
    for asked in (
        ("rounds", "list"),
        ("rounds", "show", "0"),
        ("flags", "list"),
        ("flags", "show", FLAGGED),
        ("explain", FLAGGED, "--round", "0"),
        ("explain", FLAGGED),
    ):
        done = called(*asked, *where)
        assert (done.returncode, done.stderr) == (0, ""), asked
    replay = called("replay", "0", *where)
    assert (replay.returncode, replay.stderr) == (1, "")
    assert "the stored plan is not what its receipt was written for" in replay.stdout


def test_a_round_as_text_tells_reasons_and_what_they_mean(example: Example) -> None:
    done = validator("rounds", "show", "0", "--config", str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if GARBAGE in line and "parse_schema" in line]
    assert rows
    assert all(row[0] in ("primary", "auditor") for row in rows)
    assert f"parse_schema: {Reason.PARSE_SCHEMA.meaning}" in done.stdout.splitlines()
    assert f"accepted: {Reason.ACCEPTED.meaning}" in done.stdout.splitlines()
    assert "Reputation" in done.stdout


@pytest.mark.parametrize("which", ["2", str(2**63), str(10**30)])
def test_a_round_that_is_not_there(example: Example, which: str) -> None:
    done = called("rounds", "show", which, "--config", str(example.config), "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["message"]) == (1, done.stderr.removesuffix("\n"))
    assert done.stderr == f"there is no round {which} in the store; `validator rounds list` shows them\n"


@pytest.mark.parametrize("which", ["x", "-1", "1.5"])
def test_what_is_no_round_id(example: Example, which: str) -> None:
    done = called("rounds", "show", "--config", str(example.config), "--", which)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: Invalid value for 'ROUND'" in done.stderr


def test_json_is_one_document_on_one_line(example: Example) -> None:
    done = called("rounds", "list", "--json", "--config", str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert [one["round_id"] for one in json.loads(done.stdout)["rounds"]] == [1, 0]
    assert done.stdout.count("\n") == 1


def test_faults_are_looked_for_in_settled_rounds_alone(example: Example) -> None:
    done = called("neurons", "faults", "--config", str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no task of the last 1 settled rounds says what there is to find"), (
        "the other is open"
    )
