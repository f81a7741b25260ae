"""`audit verify` needs nothing of what a validator runs on: no database, no chain, no HTTP (docs/auditors.md)."""

import asyncio
import subprocess
import sys
from pathlib import Path

from audit_file import export
from world import World, on_virtual_time, tasks_of_all_types

from validator.store import open_store
from validator.tasks.source import MemorySource

ABSENT = ("sqlalchemy", "alembic", "aiosqlite", "psycopg", "aiohttp", "bittensor", "async_substrate_interface")
VERIFY = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from validator.cli import main
sys.argv = ["validator", "audit", "verify", *sys.argv[1:]]
main()
"""


async def _log(folder: Path) -> Path:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = World(store, miners=4, source=MemorySource(tasks_of_all_types()[3:4]))
        for _ in range(2):
            await on_virtual_time(world, world.service.one_round())
        return await export(store, folder / "log.jsonl")


def test_a_log_is_verified_where_no_database_and_no_chain_can_be_imported(tmp_path: Path) -> None:
    log = asyncio.run(_log(tmp_path))
    ended = subprocess.run([sys.executable, "-c", VERIFY, str(log)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "2 rounds" in ended.stdout
