"""REPLAY_ROUNDS: long runs of the local network are the same when they are computed again, wherever that is."""

import json
import os
import time
from pathlib import Path

import pytest
from replay_kit import copied, ended, environment_of, other_pythons, replayed, started

ROUNDS = int(os.environ.get("REPLAY_ROUNDS", "0"))


@pytest.mark.skipif(not ROUNDS, reason="long: REPLAY_ROUNDS runs it")
def test_long_runs_replay_byte_for_byte_on_both_databases_and_every_python(
    tmp_path: Path,
    empty_sqlite_url: str,
    empty_postgres_url: str,
    postgres_server: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    urls = {"SQLite": empty_sqlite_url, "Postgres": empty_postgres_url}
    runs = {name: started(url, "devnet", "--rounds", str(ROUNDS), "--json") for name, url in urls.items()}
    for name, run in runs.items():
        code, out, err = ended(run)
        assert code == 0, err[-3000:]
        assert json.loads(out)["settled"] == ROUNDS, name
    digests = {}
    for name, url in urls.items():
        begun = time.monotonic()
        digests[name] = replayed(url)
        seconds = time.monotonic() - begun
        with capsys.disabled():
            print(f"\n{name}: {ROUNDS} rounds replayed in {seconds:.1f} s, {ROUNDS / seconds:.2f} rounds/s", flush=True)  # noqa: T201 - figures
        assert len(digests[name].splitlines()) == ROUNDS

    target = f"sqlite:///{tmp_path}/from-postgres.sqlite"
    copied(empty_postgres_url, target)
    assert replayed(target) == digests["Postgres"]

    pythons = other_pythons()
    with capsys.disabled():
        print(f"other Pythons: {', '.join(pythons) or 'none on this machine: not compared'}", flush=True)  # noqa: T201
    for version, python in pythons.items():
        own = environment_of(python, tmp_path / version)
        for name, url in (("SQLite", empty_sqlite_url), ("Postgres", empty_postgres_url)):
            assert replayed(url, python=own) == digests[name], (version, name)
