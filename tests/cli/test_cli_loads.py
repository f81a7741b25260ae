"""A command loads no more than it needs: nothing of its work for its help, neither chain nor client for a listing."""

import asyncio
from pathlib import Path

import pytest
from cli_commands import commands, ran_alone
from cli_store import write_config
from old_rounds import log_of

from validator.cli.tree import TREE

EVERY = list(commands())
# Slow to import; Typer needs pydantic where it reads options.
HEAVY = {
    "aiodocker",
    "aiohttp",
    "aiosqlite",
    "alembic",
    "asyncio",
    "bandit",
    "bittensor",
    "bittensor_core",
    "jiter",
    "msgspec",
    "procrastinate",
    "prometheus_client",
    "psycopg",
    "pydantic",
    "rapidfuzz",
    "re2",
    "rich",
    "sqlalchemy",
    "stamina",
    "structlog",
    "validator.settings",
}
OWN = {"validator.cli.dispatch", "validator.cli.errors"}


@pytest.mark.parametrize("first", TREE.commands)
def test_no_help_loads_what_its_command_works_with(first: str) -> None:
    those = [command for command in EVERY if command[0] == first]
    helped = ran_alone([[*command, "--help"] for command in those])
    assert [words[:-1] for words in helped] == those
    for (*command, _), ran in helped.items():
        assert (ran.code, ran.output.split(" [")[0]) == (0, " ".join(["Usage: validator", *command]))
        own = {name for name in ran.modules if name.startswith(("validator.cli.", "localnet."))}
        assert (command, HEAVY & ran.modules, own) == (command, set(), OWN)


@pytest.mark.parametrize("command", ["rounds list", "executions list", "db state"])
def test_a_listing_loads_no_more_than_it_needs(command: str, sqlite_url: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, sqlite_url)
    heavy = {"alembic", "mako", "aiohttp", "aiodocker", "bittensor", "psycopg", "sqlalchemy.dialects.postgresql"}
    (ran,) = ran_alone([[*command.split(), "--config", str(config)]]).values()
    assert (ran.code, heavy & ran.modules) == (0, set())


def test_verifying_and_comparing_logs_loads_neither_store_nor_chain(played: Path, tmp_path: Path) -> None:
    log = str(tmp_path / "log.jsonl")
    Path(log).write_bytes(asyncio.run(log_of(f"sqlite:///{played}")))
    ran = ran_alone([["audit", "verify", log], ["audit", "compare", log, log]]).values()
    heavy = {"sqlalchemy", "aiosqlite", "alembic", "aiohttp", "bittensor", "stamina"}
    assert [(one.code, heavy & one.modules) for one in ran] == [(0, set())] * 2
