"""`validator db backup` and `db restore` as an operator meets them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli_store import Example, answered, called, copied, write_config
from recorded import dispatched, harm

from validator.daemon.exits import Exit


@pytest.fixture
def own(clean_example: Example, tmp_path: Path) -> Example:
    return copied(clean_example, tmp_path)


def elsewhere(tmp_path: Path) -> tuple[Path, Path]:
    """Settings of a store that is not there."""
    folder = tmp_path / "new"
    folder.mkdir()
    return write_config(folder, f"sqlite:///{folder}/validator.sqlite"), folder / "validator.sqlite"


def test_a_backup_comes_back_and_says_what_was_proven(own: Example, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    made = answered("db", "backup", str(file), "--config", str(own.config))
    assert (made["file"], made["bytes"], made["state"]) == (str(file), file.stat().st_size, "current")
    config, database = elsewhere(tmp_path)
    done = called("db", "restore", str(file), "--config", str(config))
    assert (done.returncode, done.stderr) == (Exit.FINE, "")
    first, second, third = done.stdout.splitlines()
    assert first == f"sqlite:///{database} holds {file}, which was current; newest round 1"
    assert second == "2 rounds replayed, 1 equal, 1 without scores"
    assert "`validator weights unlock --reason TEXT`" in third
    listed = [called("rounds", "list", "--json", "--config", str(each)).stdout for each in (config, own.config)]
    assert listed[0] == listed[1]
    again = called("db", "restore", str(file), "--config", str(config))
    assert (again.returncode, again.stdout) == (Exit.NOT_READY, "")
    assert again.stderr.startswith("A store is copied only into an empty one: ")


def test_a_backup_that_does_not_replay_is_not_restored(own: Example, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    assert called("db", "backup", str(file), "--config", str(own.config)).returncode == Exit.FINE
    harm(file, dispatched(rank=7))
    config, database = elsewhere(tmp_path)
    done = called("db", "restore", str(file), "--config", str(config))
    assert done.returncode == Exit.NO
    assert "round 0: dispatches[" in done.stdout
    assert done.stdout.endswith("nothing was restored: take an older backup\n")
    assert not database.exists()
    assert called("db", "restore", str(file), "--rounds", "1", "--config", str(config)).returncode == Exit.FINE


def test_a_backup_needs_a_new_name(clean_example: Example) -> None:
    done = called("db", "backup", str(clean_example.database), "--config", str(clean_example.config))
    assert (done.returncode, done.stdout) == (Exit.NOT_READY, "")
    assert done.stderr == f"There is no backup: {clean_example.database} exists already; name a new file\n"


def test_a_restored_store_is_json_too(own: Example, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    called("db", "backup", str(file), "--config", str(own.config))
    config, database = elsewhere(tmp_path)
    document = json.loads(called("db", "restore", str(file), "--json", "--config", str(config)).stdout)
    assert document["store"] == f"sqlite:///{database}"
    assert (document["was"], document["newest_round"], document["replayed"], document["equal"]) == ("current", 1, 2, 1)


def test_a_check_says_what_was_looked_at_and_how_it_ends(own: Example) -> None:
    where = ["--config", str(own.config)]
    document = answered("db", "check", *where)
    assert document["sound"] is True
    assert [check["name"] for check in document["checks"]] == [
        "pages",
        "tables",
        "references",
        "digests",
        "rows",
        "receipts",
        "state",
    ]
    with closing(sqlite3.connect(own.database)) as connection:
        connection.execute("UPDATE rounds SET outcome_sha256 = 'aa' WHERE round_id = 0")
        connection.commit()
    done = called("db", "check", *where)
    assert (done.returncode, done.stderr) == (Exit.NO, "")
    assert (
        done.stdout.splitlines()[-1] == "digests: the record of round 0: its outcome is not what outcome_sha256 names"
    )
    with closing(sqlite3.connect(own.database)) as connection:
        page, size = connection.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = 'records'"
        ).fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with own.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x55" * 200)
    done = called("db", "check", *where)
    assert done.returncode == Exit.STORE_DAMAGED
    assert "malformed" in done.stderr


def test_a_state_that_does_not_follow_is_found(own: Example) -> None:
    with closing(sqlite3.connect(own.database)) as connection:
        connection.execute("DELETE FROM state_miners")
        connection.commit()
    done = called("db", "check", "--config", str(own.config))
    assert done.returncode == Exit.NO
    assert "does not follow from the rounds" in done.stdout


def test_pruning_shows_before_and_after(own: Example) -> None:
    where = ["--config", str(own.config)]
    with closing(sqlite3.connect(own.database)) as connection:
        connection.execute("UPDATE answers SET stored_at = '2000-01-01 00:00:00'")
        connection.execute("UPDATE bundles SET stored_at = '2100-01-01 00:00:00'")
        (answers,), (bundles,) = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("answers", "bundles")
        )
        connection.commit()
    document = answered("db", "prune", *where)
    found = {row["table"]: row for row in document["tables"]}
    assert (found["answers"]["removed"], found["answers"]["rows_before"]) == (60, answers)
    assert found["answers"]["rows_after"] == answers - 60
    assert found["answers"]["bytes_after"] < found["answers"]["bytes_before"]
    assert (found["bundles"]["removed"], found["bundles"]["rows_after"]) == (0, bundles)
    assert document["store"]["reusable"] > 0
    shown = called("db", "prune", *where)
    assert (shown.returncode, shown.stderr) == (Exit.FINE, "")
    assert "free to be filled again" in shown.stdout
