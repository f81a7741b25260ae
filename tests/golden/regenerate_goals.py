"""Writes the newest version of the benchmark of goals. A released one never changes: raise `BENCHMARK` before."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent / "localnet" / "planner"))

from goals_written.files import files  # noqa: E402 - it lies beside the tests

from miner.goals import goal_files  # noqa: E402

folder = Path(goal_files.__file__).parent / str(goal_files.BENCHMARK)
new = files()
folder.mkdir(exist_ok=True)
for old in folder.glob("*.json"):
    old.unlink()
for name, data in new.items():
    (folder / name).write_bytes(data)
