"""`validator completion`: the index says what may be next, and a shell offers it."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_store import PROGRAM, called, environment

from validator.cli.dispatch import COMPLETE, INDEX, candidates


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ex"], ["explain", "executions"]),
        (["rounds", ""], ["list", "show"]),
        (["rounds", "show", ""], []),  # a round's id
        (["rounds", "list", "--be"], ["--before"]),
        (["rounds", "list", "--config", ""], []),  # a file
        (["rounds", "list", "--limit", "--"], []),  # a number
        (["rounds", "list", "--json", "--lim"], ["--limit"]),
        (["status", "--no"], ["--no-chain"]),
        (["nonsense", ""], []),
        (["miner", "ch"], ["check"]),
        (["explain", "7", "--ro"], ["--round"]),
    ],
)
def test_what_may_stand_next(words: list[str], offered: list[str]) -> None:
    assert list(candidates(json.loads(INDEX.read_bytes()), words)) == offered
    assert called(COMPLETE, *words).stdout.splitlines() == offered


def test_every_command_and_nothing_else_is_offered_first() -> None:
    index = json.loads(INDEX.read_bytes())
    assert set(candidates(index, [""])) == {name for name in index if name and " " not in name}


ASKED = """
{load}
COMP_WORDS=(validator audit ver) COMP_CWORD=2
{call}
echo "${{COMPREPLY[*]}}"
COMP_WORDS=(validator audit verify --ch) COMP_CWORD=3
{call}
echo "${{COMPREPLY[*]}}"
"""


def test_bash_completes(tmp_path: Path) -> None:
    here = tmp_path / "validator"
    here.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    here.chmod(0o700)
    script = ASKED.format(load=called("completion", "bash").stdout, call="_validator")
    found = environment() | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True, env=found)
    assert done.stdout.splitlines() == ["verify", "--chain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_reads_its_script_and_asks_this_program(shell: str, tmp_path: Path) -> None:
    script = called("completion", shell).stdout
    assert COMPLETE in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, "-n", str(tmp_path / "script")], check=False).returncode == 0


def test_another_shell_is_refused() -> None:
    assert called("completion", "tcsh").returncode == 2
