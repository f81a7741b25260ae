"""`validator neurons|flags|weights …` against a real store, a hostile hotkey in it."""

import os
import pty
import subprocess
from contextlib import suppress

from cli_store import EVIL, EVIL_SHOWN, FLAGGED, GARBAGE, PROGRAM, Example, answered, called, environment, validator

from sssa.protocol.reasons import Reason
from sssa.protocol.remedies import REMEDIES
from sssa.protocol.skill_types import ASSESSED_TYPES

MINER_KEYS = [
    "hotkey",
    "uid",
    "registered",
    "first_seen_block",
    "last_seen_block",
    "skill_types",
    "reputations",
    "flags",
    "ejected",
    "dispatches",
    "score",
    "type_scores",
    "window_entries",
    "unpaid",
]
FLAG_KEYS = [
    "id",
    "hotkey",
    "skill_type",
    "round_id",
    "mean_with_primaries",
    "mean_with_auditors",
    "mean_own",
    "mean_witnesses",
    "samples",
    "raised_at",
    "standing",
    "cleared_at",
    "cleared_reason",
]


def test_miners_are_listed_by_score_with_stable_keys(example: Example) -> None:
    miners = answered("neurons", "list", "--config", str(example.config))["miners"]
    assert all(list(miner) == MINER_KEYS for miner in miners)
    assert [miner["score"] for miner in miners] == sorted((miner["score"] for miner in miners), reverse=True)
    by_hotkey = {miner["hotkey"]: miner for miner in miners}
    assert len(by_hotkey) == 9  # six miners, the validator, two strangers
    flagged, broken, evil = by_hotkey[FLAGGED], by_hotkey[GARBAGE], by_hotkey[EVIL]
    assert flagged["skill_types"] == [str(kind) for kind in ASSESSED_TYPES]
    assert (flagged["flags"], flagged["ejected"]) == (1, False)
    assert flagged["score"] > 0
    assert sum(flagged["type_scores"].values()) == flagged["score"]
    assert sum(flagged["window_entries"].values()) > 0
    assert broken["score"] == 0
    assert 0 < min(broken["reputations"].values()) < 0.5
    assert broken["skill_types"] == []  # its declaration has expired
    assert (evil["uid"], evil["dispatches"], evil["registered"]) == (200, 0, True)


def test_a_hostile_hotkey_is_shown_escaped(example: Example) -> None:
    for command in (["neurons", "list"], ["flags", "list", "--all"], ["weights", "show"], ["flags", "show", EVIL]):
        for form in ([], ["--json"]):
            done = called(*command, *form, "--config", str(example.config))
            assert (done.returncode, done.stderr) == (0, "")
            assert not {"\x1b", "\u202e", "\x07"} & set(done.stdout), command
            assert EVIL_SHOWN in done.stdout


def on_a_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a command prints on a terminal."""
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm", COLUMNS=str(columns))
    with subprocess.Popen([*PROGRAM, *arguments], stdout=theirs, stderr=theirs, env=env, close_fds=True) as running:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux tells that the other side is closed
            while piece := os.read(ours, 65_536):
                shown += piece
    os.close(ours)
    assert running.returncode == 0
    return shown.decode().split("\r\n")


def test_a_table_on_a_terminal_folds_words_and_cuts_off_nothing(own_example: Example) -> None:
    where = ["--config", str(own_example.config)]
    reason = "seen the image, " * 15 + "~" * 80
    assert called("flags", "clear", FLAGGED, "--reason", reason, *where).returncode == 0
    lines = on_a_terminal(260, "flags", "list", "--all", *where)
    assert max(map(len, lines)) <= 260 + len("\x1b[1m\x1b[0m") * 24
    assert sum(FLAGGED in line for line in lines) == 1
    assert len(lines) > 5
    assert "\x1b[31m" not in "".join(lines)
    assert ("".join(lines).count("image,"), "".join(lines).count("~")) == (15, 80)
    narrow = on_a_terminal(40, "neurons", "list", *where)
    assert {FLAGGED, GARBAGE, EVIL_SHOWN} <= {line.split(" ")[0] for line in narrow}


def test_flags_are_listed(example: Example) -> None:
    where = ["--config", str(example.config)]
    standing = answered("flags", "list", *where)["flags"]
    assert [(flag["id"], flag["hotkey"], flag["standing"]) for flag in standing] == [(1, FLAGGED, True)]
    every = answered("flags", "list", "--all", *where)["flags"]
    assert [list(flag) for flag in every] == [FLAG_KEYS, FLAG_KEYS]
    assert every[1]["raised_at"] == "2026-01-01T00:01:00Z"
    assert every[1]["cleared_at"] == "2026-01-02T00:01:00Z"
    assert every[1]["cleared_reason"] == r"[red]looked\u0007 at it[/red]"
    assert FLAGGED in validator("flags", "list", *where).stdout


def test_a_flag_is_shown_with_its_agreements(example: Example) -> None:
    where = ["--config", str(example.config)]
    for which in ("1", FLAGGED):
        found = answered("flags", "show", which, *where)["flags"]
        assert [list(detail["flag"]) for detail in found] == [FLAG_KEYS]
        assert found[0]["agreements"] == [], "its round had no task with a truth (D-50)"
    text = validator("flags", "show", "1", *where).stdout
    assert f"Flag 1 of {FLAGGED} for declarative: standing" in text
    assert "0.9530 with primaries, 0.4120 with auditors" in text


def test_flags_that_are_not_there(example: Example) -> None:
    for which in ("3", "4294967297", str(10**40), GARBAGE, "nobody"):
        done = called("flags", "show", which, "--config", str(example.config))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"no flag has this id or hotkey: {which}\n"


def test_clearing_needs_a_reason_and_happens_once(own_example: Example) -> None:
    where = ["--config", str(own_example.config)]
    missing = called("flags", "clear", FLAGGED, *where)
    assert missing.returncode == 2
    assert "--reason" in missing.stderr
    empty = called("flags", "clear", FLAGGED, "--reason", " \t", *where)
    assert (empty.returncode, empty.stdout) == (2, "")
    assert empty.stderr.startswith("Clearing flags needs a reason: ")
    assert len(empty.stderr.splitlines()) == 1
    assert len(answered("flags", "list", *where)["flags"]) == 1

    done = called("flags", "clear", FLAGGED, "--reason", "same base image", *where)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"cleared 1 flag of {FLAGGED}\n", "")
    flag = answered("flags", "show", FLAGGED, *where)["flags"][0]["flag"]
    assert (flag["standing"], flag["cleared_reason"]) == (False, "same base image")

    again = called("flags", "clear", FLAGGED, "--reason", "again", *where)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"nothing to clear: {FLAGGED} has no standing flag\n"
    assert called("flags", "list", *where).stdout == "no standing flags\n"


def test_text_that_no_database_takes_is_bad_input(example: Example) -> None:
    done = subprocess.run(
        [*PROGRAM, "flags", "clear", b"\xff\xfe", "--reason", "x", "--config", str(example.config)],
        capture_output=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        r"A value has no place in a table: text with a NUL or a lone surrogate: \udcff\udcfe"
    ]


def test_the_newest_weights_are_shown(example: Example) -> None:
    found = answered("weights", "show", "--config", str(example.config))
    assert (found["state"], found["epoch"], found["block"], found["extrinsic"]) == ("confirmed", 7, 140, "0x1")
    assert (found["sum"], found["unallocated"]) == (0.2, 0.8)
    assert [(line["hotkey"], line["score"], line["weight"]) for line in found["miners"]] == [
        (FLAGGED, 1 / 3, 0.15),
        (EVIL, 0.25, 0.05),
        (GARBAGE, 0.0, 0.0),
    ]
    assert found["miners"][1]["uid"] == 200
    text = validator("weights", "show", "--config", str(example.config)).stdout
    assert "message: [green]fine[/green]" in text
    assert "sum 0.200000000, unallocated 0.800000000" in text
    assert "computed under scoring version 1.0.0" in text


def test_who_was_not_paid_is_shown_as_it_was_when_the_weights_were_computed(example: Example) -> None:
    found = answered("weights", "show", "--config", str(example.config))
    assert found["scoring_version"] == "1.0.0"
    (window,) = found["unpaid"]
    assert window == {
        "hotkey": GARBAGE,
        "skill_type": "mcp_server",
        "reason": "low_reputation",
        "meaning": Reason.LOW_REPUTATION.meaning,
        "detail": "its reputation is 0.1000",
        "remedy": REMEDIES[Reason.LOW_REPUTATION],
        "since_epoch": 6,
        "since_round": 0,
    }
    lines = validator("weights", "show", "--config", str(example.config)).stdout.splitlines()
    unpaid = lines[lines.index("not paid:") :]
    row = next(line for line in unpaid if GARBAGE in line)
    assert row.split()[1:] == ["mcp_server", "low_reputation", "6", "0", "its", "reputation", "is", "0.1000"]
    assert unpaid[-1] == f"low_reputation: {window['meaning']} {window['remedy']}"
