"""Cuts of the power under a SQLite store: what was acknowledged exists, what was not exists whole or not at all.

The writes and syncs of a real process are recorded by a preloaded library; `pytest tests/crashes` takes many cuts.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from numbered_writes import moment, written
from power_cuts import SYNC, WRITE, Cut, Operation, cuts, operations
from recorded_writer import KEPT

from validator.store import open_store

CORE = Path(__file__).parents[1] / "core"
CUTS = int(os.environ.get("POWER_CUTS", "40"))
WRITES = max(150, CUTS // 2)
COMPILER = shutil.which("cc")

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"),
]


def recorded(folder: Path) -> list[Operation]:
    library, record, store = folder / "recorder.so", folder / "record", folder / "store.sqlite"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", library, CORE / "write_recorder.c"], check=True)
    record.touch()
    environ = os.environ | {
        "LD_PRELOAD": str(library),
        "RECORD": str(record),
        "RECORDED": str(store),
        "PYTHONPATH": os.pathsep.join((str(CORE), str(CORE.parents[1]))),
    }
    command = [sys.executable, str(CORE / "recorded_writer.py"), f"sqlite:///{store}", str(WRITES)]
    subprocess.run(command, env=environ, check=True)
    return operations(record.read_bytes())


def held(file: Path, cut: Cut) -> int:
    """Write the files as the cut left them; return how many writes the database has, which must be the first ones."""
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()
    file.write_bytes(cut.files[b"d"])
    file.with_name(f"{file.name}-wal").write_bytes(cut.files[b"w"])
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'drains'").fetchone()[0]:
            return 0
        many = int(database.execute("SELECT count(*) FROM drains").fetchone()[0])
        kept = {int(row[0]) for row in database.execute("SELECT sha256 FROM bundles")}
    assert kept == set(range(max(0, many - KEPT), many))
    return many


async def test_a_cut_of_the_power_loses_nothing_acknowledged_and_tears_nothing(tmp_path: Path) -> None:
    done = recorded(tmp_path)
    kinds = Counter((one.kind, one.file) for one in done)
    assert kinds[SYNC, b"d"] >= 2  # checkpoints
    chance = Random(CUTS)
    places = sorted(chance.sample(range(len(done)), CUTS))
    file, ahead = tmp_path / "after" / "store.sqlite", 0
    file.parent.mkdir()
    for cut in cuts(done, places, chance):
        many = held(file, cut)
        assert cut.acknowledged <= many <= cut.acknowledged + 1
        ahead += many > cut.acknowledged
    async with open_store(f"sqlite:///{file}", writer=True) as store:
        await store.lasting(lambda tx: tx.drains.ask(moment(many)))
        assert await written(store) == Counter(range(many + 1))
    print(  # noqa: T201 - the figures are the point
        f"\n{CUTS} cuts among {WRITES} writes ({kinds[WRITE, b'w']} parts of the log, {kinds[WRITE, b'd']} pages,"
        f" {kinds[SYNC, b'w']} and {kinds[SYNC, b'd']} syncs): none lost, none torn;"
        f" {ahead} times a write was there that had not been acknowledged"
    )


def test_a_store_that_is_not_synced_loses_writes(tmp_path: Path) -> None:
    """As the test above without syncs: so it would find one that is missing."""
    done = [one for one in recorded(tmp_path) if one.kind != SYNC]
    file, lost = tmp_path / "after" / "store.sqlite", 0
    file.parent.mkdir()
    for cut in cuts(done, range(len(done) // 2, len(done), len(done) // 8), Random(1)):
        try:
            lost += held(file, cut) < cut.acknowledged
        except (AssertionError, sqlite3.DatabaseError):
            lost += 1
    assert lost
