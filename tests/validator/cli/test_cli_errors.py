"""External faults: settings, stores, pipes. Exit codes have meanings; messages are lines without a traceback."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from cli_store import FOREIGN, PROGRAM, Example, answered, called, environment, started, validator, write_config

from validator.daemon import exits

STORE_COMMANDS = [
    ["rounds", "list"],
    ["rounds", "show", "0"],
    ["neurons", "list"],
    ["flags", "list"],
    ["flags", "show", "1"],
    ["flags", "clear", "x", "--reason", "y"],
    ["weights", "show"],
]


def test_the_errors_named_in_the_table_of_exit_codes_exist() -> None:
    for name in exits._OF_ERRORS:
        module, _, kind = name.rpartition(".")
        found = getattr(__import__(module, fromlist=[kind]), kind)
        assert issubclass(found, Exception)
        assert f"{found.__module__}.{found.__qualname__}" == name


@pytest.mark.parametrize("command", [*STORE_COMMANDS, ["db", "state"], ["db", "upgrade"], ["health"]], ids=" ".join)
def test_without_settings(command: list[str], tmp_path: Path) -> None:
    done = called(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("no settings file: --config names none, $VALIDATOR_CONFIG is not set")
    assert len(done.stderr.splitlines()) == 1
    named = called(*command, "--config", "absent.toml", cwd=tmp_path)
    assert (named.returncode, named.stdout) == (2, "")
    assert named.stderr == "absent.toml: cannot be read: No such file or directory\n"


def test_all_faults_of_the_settings_are_told_at_once(tmp_path: Path) -> None:
    config = tmp_path / "broken.toml"
    config.write_text('[validator]\nnetuid = -1\nnetiud = 2\n[store]\nurl = "mysql://u:secret@h/d"\n[what]\n')
    done = validator("rounds", "list", "--config", str(config), VALIDATOR_LOG__LEVEL="loud\x1b[31m")
    assert (done.returncode, done.stdout) == (2, "")
    for named in ("validator.netuid", "validator.netiud", "store.url", "what", "VALIDATOR_LOG__LEVEL"):
        assert sum(named in line for line in done.stderr.splitlines()) == 1
    assert len(done.stderr.splitlines()) == 5
    assert "secret" not in done.stderr
    assert "\x1b" not in done.stderr


def test_the_environment_names_the_settings(example: Example, tmp_path: Path) -> None:
    done = called("rounds", "list", cwd=tmp_path, VALIDATOR_CONFIG=str(example.config))
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "validator.toml").write_text(example.config.read_text())
    assert len(answered("rounds", "list", cwd=tmp_path)["rounds"]) == 2


@pytest.mark.parametrize("command", STORE_COMMANDS, ids=" ".join)
def test_a_store_that_is_not_there_is_not_ready(command: list[str], tmp_path: Path) -> None:
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/new.sqlite")
    done = called(*command, "--config", str(config))
    assert (done.returncode, done.stdout) == (3, "")
    assert "new.sqlite is not there: correct store.url, or make it with " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "new.sqlite").exists()


def test_a_fresh_store_has_nothing_to_show(tmp_path: Path) -> None:
    config = ["--config", str(write_config(tmp_path, f"sqlite:///{tmp_path}/new.sqlite"))]
    assert answered_state(config) == (1, "empty\n")
    made = validator("db", "upgrade", *config)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == f"sqlite:///{tmp_path}/new.sqlite: was empty, is current now\n"
    assert called("db", "upgrade", *config).stdout == f"sqlite:///{tmp_path}/new.sqlite: is current\n"
    assert answered_state(config) == (0, "current\n")
    assert answered("rounds", "list", *config) == {"rounds": []}
    assert answered("neurons", "list", *config) == {"miners": []}
    assert answered("flags", "list", *config) == {"flags": []}
    assert called("rounds", "list", *config).stdout == "no rounds\n"
    none = called("weights", "show", "--json", *config)
    assert (none.returncode, none.stderr) == (1, "no weights were submitted yet\n")
    assert json.loads(none.stdout) == {"error": {"exit_code": 1, "message": "no weights were submitted yet"}}


def answered_state(config: list[str]) -> tuple[int, str]:
    done = called("db", "state", *config)
    return done.returncode, done.stdout


def test_tables_of_a_newer_version(own_example: Example) -> None:
    with sqlite3.connect(own_example.database) as connection:
        connection.execute("UPDATE schema_version SET version_num = 'r9999'")
    connection.close()
    where = ["--config", str(own_example.config)]
    assert answered_state(where) == (1, "ahead\n")
    for command in STORE_COMMANDS:
        done = called(*command, *where)
        assert (done.returncode, done.stdout) == (3, "")
        assert f"{own_example.database.name} is newer than this program" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    refused = called("db", "upgrade", *where)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (3, 1)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "junk.sqlite").write_bytes(b"no database at all, and long enough to be looked at\n" * 100)
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/junk.sqlite")
    for command in (["rounds", "list"], ["db", "state"], ["db", "upgrade"]):
        done = called(*command, "--config", str(config))
        assert (done.returncode, done.stdout) == (3, "")
        assert len(done.stderr.splitlines()) == 1
        assert "junk.sqlite" in done.stderr


def test_a_damaged_table_is_told_in_one_line(own_example: Example) -> None:
    with sqlite3.connect(own_example.database) as connection:
        connection.execute("ALTER TABLE flags RENAME TO moved")
    connection.close()
    done = called("flags", "list", "--config", str(own_example.config))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"The database could not be opened: sqlite:///{own_example.database}: no such table: flags\n"


def test_a_postgres_that_is_not_there_is_told_without_its_password(tmp_path: Path) -> None:
    config = write_config(tmp_path, "postgresql://me:hunter2@127.0.0.1:1/db")
    done = validator("rounds", "list", "--config", str(config))
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "hunter2" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(example: Example) -> None:
    command = [*PROGRAM, "rounds", "show", "0", "--config", str(example.config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert running.stderr.read() == b""


def test_output_that_the_encoding_lacks_is_escaped(example: Example) -> None:
    done = started("neurons", "list", "--config", str(example.config), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert FOREIGN.encode("ascii", "backslashreplace").decode() in done.stdout


def test_under_json_an_error_is_a_document_on_standard_output(tmp_path: Path) -> None:
    config = write_config(tmp_path, "postgresql://me:hunter2@127.0.0.1:1/db")
    for arguments, code in (
        (("rounds", "list", "--config", str(config)), 3),
        (("rounds", "list", "--config", str(tmp_path / "absent.toml")), 2),
        (("rounds", "list", "--limit", "0"), 2),
        (("rounds", "dance"), 2),
        (("rounds", "list", "--nope\x1b"), 2),
    ):
        done = called(*arguments, "--json")
        document = json.loads(done.stdout)
        assert done.returncode == code == document["error"]["exit_code"]
        assert document["error"]["message"] in done.stderr
        assert "hunter2" not in done.stdout + done.stderr
        assert called(*arguments).stdout == ""


@pytest.mark.parametrize(
    "arguments", [("--help",), ("rounds", "list"), ("rounds", "list", "--json"), ("rounds", "dance")]
)
def test_a_standard_output_that_takes_nothing_is_one_line(example: Example, arguments: tuple[str, ...]) -> None:
    named = ("--config", str(example.config)) if "list" in arguments else ()
    reader, pipe = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    for stdout in (full, pipe):
        done = subprocess.run(
            [*PROGRAM, *arguments, *named],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
        )
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) <= (7 if "dance" in arguments else 1)  # how a group is called has lines
    os.close(full)
    os.close(pipe)


def test_a_closed_standard_output_is_told() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (3, "[Errno 0] standard output is closed\n")
