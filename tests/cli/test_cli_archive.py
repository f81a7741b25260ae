"""`validator db archive` as an operator meets it, and what the other commands say of the rounds that it took."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_store import answered, called, write_config
from old_rounds import MINERS, put

from validator.daemon.exits import Exit
from validator.store.record import SKIPPED as SKIPPED_ROUND
from validator.store.record import frames

SKIPPED = 40  # so many newer rounds are behind those that were played
LAST = 5  # of a later one code waits to be judged


@pytest.fixture
def config(played: Path, tmp_path: Path) -> Path:
    """Settings of a store that is long past the rounds that were played."""
    url = put(played, f"sqlite:///{tmp_path}/own.sqlite")
    with closing(sqlite3.connect(tmp_path / "own.sqlite")) as connection:
        first = connection.execute("SELECT max(round_id) + 1 FROM rounds").fetchone()[0]
        connection.executemany(
            "INSERT INTO rounds (round_id, epoch, block, block_hash, state, reason, started_at, settled_at, task_count,"
            " dispatch_count) SELECT ?, epoch, block, block_hash, 'skipped', 'skipped_no_tasks', started_at,"
            " settled_at, 0, 0 FROM rounds WHERE round_id = 0",
            [(first + number,) for number in range(SKIPPED)],
        )
        (skipped,) = frames(SKIPPED_ROUND)
        connection.executemany(
            "INSERT INTO records (round_id, part, frame) VALUES (?, 0, ?)",
            [(first + number, skipped) for number in range(SKIPPED)],
        )
        connection.commit()
    return write_config(
        tmp_path, url, '[wallet]\nuri = "//Validator"\n[chain]\nkind = "simulated"\nstate = "chain.json"\n'
    )


def test_rounds_are_archived_and_every_command_reads_them(config: Path, tmp_path: Path) -> None:
    where = ["--config", str(config)]
    commands = [
        ["rounds", "show", "1"],
        ["rounds", "list"],
        ["neurons", "list", "--json"],
        ["explain", MINERS[0], "--round", "1", "--json"],
        ["explain", MINERS[0], "--last", "100"],
        ["replay", "1"],
        ["audit", "export"],
    ]
    before = [called(*command, *where) for command in commands]
    assert [done.returncode for done in before] == [Exit.FINE] * len(commands)
    folder = tmp_path / "archive"
    to = ["db", "archive", "--to", str(folder), *where]

    planned = called(*to, "--dry-run")
    assert (planned.returncode, planned.stderr) == (Exit.FINE, "")
    assert planned.stdout.splitlines() == [
        f"rounds 0 to {LAST} would go into {folder}",
        f"the rest stays: round {LAST + 1} has a code check that is not over, or not counted yet",
    ]
    assert not folder.exists()

    done = called(*to)
    assert (done.returncode, done.stderr) == (Exit.FINE, "")
    *_, file, took, rest, advice = done.stdout.splitlines()
    assert file.startswith("rounds-0000000000-0000000005.archive")
    assert took == f"rounds 0 to {LAST} are in {folder}"
    assert rest.startswith("the rest stays: ")
    assert advice == f"set store.archive to {folder}: replay, explain and audit export look there for these rounds"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert answered(*to)["files"] == []

    for asked in ("rounds show 1", f"explain {MINERS[0]} --round 1", "replay 1", f"audit export --out {tmp_path}/log"):
        lost = called(*asked.split(), *where)
        assert (lost.returncode, lost.stdout) == (Exit.NOT_READY, "")
        assert lost.stderr.startswith("The round is archived: round ")
        assert lost.stderr.endswith("; name the folder of this file in store.archive\n")
    assert not (tmp_path / "log").exists()
    config.write_text(config.read_text().replace("[wallet]", f'archive = "{folder}"\n[wallet]'))
    for command, was in zip(commands, before, strict=True):
        now = called(*command, *where)
        assert (now.returncode, now.stdout, now.stderr) == (was.returncode, was.stdout, was.stderr), command
    with closing(sqlite3.connect(tmp_path / "own.sqlite")) as connection:
        (done_check,) = connection.execute("SELECT min(work_id) FROM waiting_work WHERE kind = 'code'").fetchone()
        connection.execute(
            "UPDATE waiting_work SET state = 'inconclusive', result = NULL, entered_in = NULL WHERE work_id = ?",
            (done_check,),
        )
        connection.commit()
    again = called("code-checks", "retry", done_check, *where)
    assert (again.returncode, again.stderr) == (Exit.NO, "round 0 is archived: nothing of it is run again\n")
    assert answered("db", "check", *where)["checks"][-1] == {
        "name": "archives",
        "looked": LAST + 1,
        "faults": [],
        "more": 0,
    }


def test_copies_say_that_the_files_are_not_in_them(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("[wallet]", f'archive = "{tmp_path}/archive"\n[wallet]'))
    where = ["--config", str(config)]
    made = answered("db", "archive", *where)
    assert [(one["first_round"], one["last_round"]) for one in made["files"]] == [(0, LAST)]
    lies = f"rounds 0 to {LAST} are in 1 archive file in {tmp_path}/archive; "
    backup = called("db", "backup", f"{tmp_path}/backup.sqlite", *where)
    assert backup.stdout.endswith(f"{lies}the backup does not hold them: back up that folder as well\n")
    copy = called("db", "copy", f"sqlite:///{tmp_path}/copy.sqlite", *where)
    assert copy.stdout.endswith(f"{lies}they serve the copy as well: keep store.archive as it is\n")
    settings = json.dumps(f"sqlite:///{tmp_path}/restored.sqlite")
    config.write_text(config.read_text().replace(json.dumps(f"sqlite:///{tmp_path}/own.sqlite"), settings))
    restored = called("db", "restore", f"{tmp_path}/backup.sqlite", *where)
    assert (restored.returncode, restored.stderr) == (Exit.FINE, "")
    assert restored.stdout.endswith(f"{lies}the backup did not hold them: have them there\n")
    assert called("replay", "1", *where).returncode == Exit.FINE


def test_a_folder_must_be_named(config: Path) -> None:
    done = called("db", "archive", "--config", str(config))
    assert done.returncode == Exit.INPUT
    assert "name a folder, here or in store.archive" in done.stderr
