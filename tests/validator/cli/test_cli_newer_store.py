"""A store whose newest round is of a version that this program does not score: refused, in one line, by everything."""

import asyncio
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_store import Example, called, copied, environment, example_in, write_config
from fork_start import ran
from sqlalchemy import update

from validator.store import open_store
from validator.store.tables import rounds

COMMANDS = (
    ("rounds", "list"),
    ("rounds", "show", "0"),
    ("neurons", "list"),
    ("explain", "5", "--round", "0"),
    ("explain", "5"),
    ("replay", "0"),
    ("weights", "show"),
    ("flags", "list"),
    ("proof", "show", "0"),
    ("audit", "export", "--out", "log.jsonl"),
)
REFUSAL = (
    "No code here scores this version: `9.0.0`; this program scores 1.0.0, 2.0.0; round 1 of the store has it: "
    "use the program that froze it, or a newer one\n"
)


@pytest.fixture
def newer(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Example:
    example = copied(example_in(tmp_path_factory.getbasetemp() / "example"), tmp_path)
    asyncio.run(_doctor(f"sqlite:///{example.database}"))
    return example


async def _doctor(url: str) -> None:
    async with open_store(url) as store, store.begin() as tx:
        newest = rounds.c.round_id == 1
        await tx.connection.execute(update(rounds).where(newest).values(scoring_version="9.0.0"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_it_in_one_line(command: tuple[str, ...], newer: Example, tmp_path: Path) -> None:
    done = called(*command, "--config", str(newer.config), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", REFUSAL)


def test_the_daemon_refuses_it_in_one_line_and_leaves_it_as_it_was(newer: Example, tmp_path: Path) -> None:
    more = '[chain]\nkind = "simulated"\nstate = "chain.json"\n[wallet]\nuri = "//Alice"\n[tasks]\ndirectory = "."\n'
    config = write_config(tmp_path, f"sqlite:///{newer.database}", more)
    before = hashlib.sha256(newer.database.read_bytes()).digest()
    done = ran("run", "--config", str(config), cwd=tmp_path, env=environment())
    assert "Traceback" not in done.stderr
    assert (done.returncode, done.stderr) == (3, REFUSAL)
    assert hashlib.sha256(newer.database.read_bytes()).digest() == before


def test_a_daemon_older_than_the_tables_says_what_to_do_and_leaves_them_as_they_are(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    example = copied(example_in(tmp_path_factory.getbasetemp() / "example"), tmp_path)
    with closing(sqlite3.connect(example.database)) as connection, connection:
        connection.execute("UPDATE schema_version SET version_num = 'r9999'")
    more = '[chain]\nkind = "simulated"\nstate = "chain.json"\n[wallet]\nuri = "//Alice"\n[tasks]\ndirectory = "."\n'
    config = write_config(tmp_path, f"sqlite:///{example.database}", more)
    before = hashlib.sha256(example.database.read_bytes()).digest()
    done = ran("run", "--config", str(config), cwd=tmp_path, env=environment())
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3
    assert "is newer than this program, which `validator db upgrade` cannot undo: install the version that made" in line
    assert line.endswith("or restore the backup that was made before its upgrade")
    assert hashlib.sha256(example.database.read_bytes()).digest() == before


def test_the_daemon_refuses_a_schedule_that_it_cannot_follow(tmp_path: Path) -> None:
    more = '[chain]\nkind = "simulated"\nstate = "chain.json"\n[wallet]\nuri = "//Alice"\n[tasks]\ndirectory = "."\n'
    more += '[scoring]\nschedule = { "9.9.9" = 0 }\n'
    config = write_config(tmp_path, "sqlite:///none.sqlite", more)
    done = ran("run", "--config", str(config), cwd=tmp_path, env=environment())
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("this program scores 1.0.0, 2.0.0")
    assert "scoring.schedule" in done.stderr
    assert not (tmp_path / "none.sqlite").exists()
