"""`validator replay` as a user runs it: which rounds, what it says, how it ends."""

import json
import re
import sqlite3
from pathlib import Path

import pytest
from cli_store import Example, called, copied, validator, write_config

from validator.store import open_store

GATES = "gates: 60 answers judged again\n"


@pytest.fixture
def clean(clean_example: Example, tmp_path: Path) -> Example:
    return copied(clean_example, tmp_path)


def test_equal_rounds_are_summed_up_and_an_open_one_is_said_to_be_open(clean: Example) -> None:
    done = validator("replay", "--all", "--config", str(clean.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "round 1: open, not settled yet; nothing was scored\n"
        "2 rounds: 1 equal, 0 different, 1 without scores (1 open)\n" + GATES
    )
    one = called("replay", "0", "--config", str(clean.config))
    assert (one.returncode, one.stdout) == (0, "1 rounds: 1 equal, 0 different, 0 without scores\n" + GATES)
    since = called("replay", "--since", "1", "--config", str(clean.config))
    assert (since.returncode, since.stdout.splitlines()[-1]) == (
        0,
        "1 rounds: 0 equal, 0 different, 1 without scores (1 open)",
    )


def test_json_is_a_line_per_round(clean: Example) -> None:
    runs = [validator("replay", "--all", "--json", "--config", str(clean.config)) for _ in range(2)]
    assert len({done.stdout for done in runs}) == 1
    assert {done.returncode for done in runs} == {0}
    first, second = (json.loads(line) for line in runs[0].stdout.splitlines())
    assert (first["round_id"], first["verdict"], first["judged"], len(first["receipt"])) == (0, "equal", 60, 64)
    assert (second["round_id"], second["state"], second["verdict"]) == (1, "open", "unscored")
    assert runs[0].stderr.endswith(GATES)


def test_a_difference_is_named_and_ends_with_one(clean: Example) -> None:
    with sqlite3.connect(clean.database) as connection:
        connection.execute("DELETE FROM answers WHERE hotkey = (SELECT min(hotkey) FROM answers)")
        connection.execute("UPDATE rounds SET block = 4711 WHERE round_id = 0")
    connection.close()
    done = called("replay", "--all", "--config", str(clean.config))
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("round 0: round.block: stored 4711, the receipt says ")
    assert lines[-1] == "2 rounds: 0 equal, 1 different, 1 without scores (1 open)"


def test_answers_that_are_gone_are_counted(clean: Example) -> None:
    with sqlite3.connect(clean.database) as connection:
        connection.execute("DELETE FROM answers WHERE hotkey = (SELECT min(hotkey) FROM answers)")
    connection.close()
    done = called("replay", "0", "--config", str(clean.config))
    assert done.returncode == 0
    assert re.fullmatch(r"round 0: \d+ answers judged again, \d+ pruned", done.stdout.splitlines()[0])


def test_what_cannot_be_asked(clean_example: Example, tmp_path: Path) -> None:
    config = str(clean_example.config)
    for arguments in (
        [],
        ["0", "--all"],
        ["--since", "0", "--all"],
        ["99"],
        ["--since", "99"],
    ):
        done = called("replay", *arguments, "--config", config)
        assert (done.returncode, done.stdout) == (2, ""), arguments
    missing = called("replay", "--all", "--config", str(write_config(tmp_path, f"sqlite:///{tmp_path}/none.sqlite")))
    assert missing.returncode == 3


async def test_an_empty_store_has_nothing_that_differs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.sqlite"
    async with open_store(url, create=True):
        pass
    done = validator("replay", "--all", "--config", str(write_config(tmp_path, url)))
    assert (done.returncode, done.stdout) == (0, "0 rounds: 0 equal, 0 different, 0 without scores\n")


def test_a_store_that_goes_away_is_an_error_of_one_line(clean: Example) -> None:
    with sqlite3.connect(clean.database) as connection:
        connection.execute("DROP TABLE receipts")
    connection.close()
    done = validator("replay", "--all", "--config", str(clean.config))
    assert done.returncode == 3
    assert done.stderr.count("The database could not be opened") == len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command", [("replay",), ("replay", "--since"), ("audit", "export", "--since"), ("rounds", "list", "--before")]
)
def test_a_round_beyond_every_store_is_bad_input(clean_example: Example, command: tuple[str, ...]) -> None:
    ran = called(*command, "9" * 30, "--config", str(clean_example.config))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Invalid value" in ran.stderr
