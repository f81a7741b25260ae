"""`validator audit export --public` and `validator tasks retire`, as a user starts them."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_store import called
from hidden_truths import GOALS, SECRET, secret_tasks, truths_world

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.workflow_plan import goal_sha256
from sssa.protocol.workflow_task import task_sha256
from validator.store import open_store

SHELL, KNOWLEDGE = (sourced.task for sourced in secret_tasks())
SETTINGS = """
validator.netuid = 1
wallet.uri = "//Validator"
chain.kind = "simulated"
chain.state = "chain.json"
store.url = "sqlite:///{folder}/store.sqlite"
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Settings of a store with one round: two curated tasks, two canaries, two workflows."""
    asyncio.run(_play(tmp_path))
    path = tmp_path / "validator.toml"
    path.write_text(SETTINGS.format(folder=tmp_path))
    return str(path)


async def _play(folder: Path) -> None:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        await truths_world(store).play()


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Nothing but the program itself keeps others from reading."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_an_export_is_for_its_owner_and_a_public_one_for_all(config: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    whole, public = folder / "whole", folder / "public"
    assert called("audit", "export", "--config", config, "--out", str(whole)).returncode == 0
    assert called("audit", "export", "--config", config, "--public", "--out", str(public)).returncode == 0
    assert (oct(whole.stat().st_mode & 0o777), oct(public.stat().st_mode & 0o777)) == ("0o600", "0o644")
    assert sorted(folder.iterdir()) == [public, whole]
    shown = called("audit", "verify", str(public)).stdout
    assert "truths: 2 shown as their rounds committed to them, 4 not shown" in shown
    assert "because their truth is not shown: 8 assessment, 8 workflow" in shown
    data = public.read_bytes()
    for secret in (SECRET.encode(), b"planted.example", *(canonical_bytes(goal.reference) for goal in GOALS)):
        assert secret not in data
    compared = called("audit", "verify", str(public), "--compare", str(whole)).stdout
    assert "one history, to the same end" in compared


def test_a_broken_export_leaves_nothing(config: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    assert called("audit", "export", "--config", config, "--since", "9", "--out", str(folder / "x")).returncode == 1
    assert list(folder.iterdir()) == []


def retired(config: str) -> set[str]:
    shown = json.loads(called("tasks", "retired", "--config", config, "--json").stdout)
    return {one["source_sha256"] for one in shown["retired"]}


def test_tasks_are_retired_by_name_type_and_date(config: str, tmp_path: Path) -> None:
    def retire(*arguments: str) -> int:
        return called("tasks", "retire", "--config", config, *arguments).returncode

    log = tmp_path / "log"
    assert called("audit", "export", "--config", config, "--out", str(log)).returncode == 0
    input_ = json.loads(log.read_bytes().splitlines()[2])["input"]
    shell = next(one["task_id"] for one in input_["tasks"] if one["source_sha256"] == SHELL.bundle_sha256)
    names = tmp_path / "names"
    names.write_text(f"# old ones\n\n{KNOWLEDGE.bundle_sha256.upper()}\n")
    assert retired(config) == set()
    assert retire(shell, "--before", "2026-01-01", "--yes") == 1  # its round began on that day
    assert retire() == retire("nonsense", "--yes") == 2
    assert retire("0" * 64, "--yes") == 1
    assert retire(shell) == 1  # nobody answers
    assert retire(shell, "--yes") == 0
    assert retired(config) == {SHELL.bundle_sha256}
    assert retire("--file", str(names), "--before", "2026-01-02", "--yes") == 0
    assert retired(config) == {SHELL.bundle_sha256, KNOWLEDGE.bundle_sha256}
    assert retire(goal_sha256(GOALS[0]), "--yes") == 0
    assert retired(config) - {SHELL.bundle_sha256, KNOWLEDGE.bundle_sha256} == {task_sha256(GOALS[0])}
    assert retire("--type", "workflow", "--yes") == 0
    assert {task_sha256(goal) for goal in GOALS[:2]} < retired(config)
    public = tmp_path / "public"
    assert called("audit", "export", "--config", config, "--public", "--out", str(public)).returncode == 0
    assert public.read_bytes() == log.read_bytes()
