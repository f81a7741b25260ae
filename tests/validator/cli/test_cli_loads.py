"""The help of all loads no command; a listing loads neither chain nor client."""

import asyncio
from pathlib import Path

import pytest
from cli_commands import ran_alone
from cli_store import write_config
from old_rounds import log_of

HEAVY = {"aiohttp", "asyncio", "importlib.metadata", "msgspec", "pydantic", "rich", "sqlalchemy", "structlog"}


def test_the_help_of_all_commands_loads_none_of_them() -> None:
    (ran,) = ran_alone([["--help"]]).values()
    own = {name for name in ran.modules if name.startswith(("validator.cli.", "sssa.cli.", "localnet."))}
    assert (ran.code, HEAVY & ran.modules) == (0, set())
    assert own == {"validator.cli.commands", "sssa.cli.errors", "sssa.cli.lazy_commands"}


@pytest.mark.parametrize("command", ["rounds list", "waiting list", "db state"])
def test_a_listing_loads_no_more_than_it_needs(command: str, sqlite_url: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, sqlite_url)
    heavy = {"alembic", "mako", "aiohttp", "aiodocker", "bittensor", "psycopg", "sqlalchemy.dialects.postgresql"}
    (ran,) = ran_alone([[*command.split(), "--config", str(config)]]).values()
    assert (ran.code, heavy & ran.modules) == (0, set())


def test_verifying_and_comparing_logs_loads_neither_store_nor_chain(played: Path, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    Path(log).write_bytes(asyncio.run(log_of(f"sqlite:///{played}")))
    ran = ran_alone([["audit", "verify", log], ["audit", "verify", log, "--compare", log]]).values()
    heavy = {"sqlalchemy", "aiosqlite", "alembic", "aiohttp", "bittensor", "stamina"}
    assert [(one.code, heavy & one.modules) for one in ran] == [(0, set())] * 2
