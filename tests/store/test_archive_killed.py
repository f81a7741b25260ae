"""`validator db archive` killed at random moments: every round is somewhere, and the next run continues."""

import asyncio
import json
import random
import subprocess
from pathlib import Path

import pytest
from cli_store import PROGRAM, environment, write_config
from old_rounds import log_of, put

from validator.store.archive import archives_in

pytestmark = pytest.mark.attack


def test_no_kill_loses_a_round(played: Path, tmp_path: Path) -> None:
    url = put(played, f"sqlite:///{tmp_path}/own.sqlite")
    log, folder = asyncio.run(log_of(url)), tmp_path / "archive"
    folder.mkdir()
    config = write_config(
        tmp_path, url, '[wallet]\nuri = "//Validator"\n[chain]\nkind = "simulated"\nstate = "chain.json"\n'
    )
    # A file for each round, and of the newest two alone none.
    keep_little = (
        "import sys, validator.store.archiving as it; it.Archiver.__init__.__defaults__ = (2, 1, it._unsaid);"
        " from validator.cli import main; main()"
    )
    command = [PROGRAM[0], "-c", keep_little, "db", "archive", "--to", str(folder), "--config", str(config), "--json"]
    draws, kills = random.Random(7), 0
    for _ in range(12):
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        try:
            out, _ = running.communicate(timeout=draws.uniform(0.3, 1.5))
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
            kills += 1
        else:
            assert running.returncode == 0
            if not json.loads(out)["files"]:
                break
        assert asyncio.run(log_of(url, folder)) == log
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert json.loads(done.stdout)["first_round"] is None or json.loads(done.stdout)["files"]
    assert asyncio.run(log_of(url, folder)) == log
    assert kills
    assert len(archives_in(folder)) >= 4
