"""Commands that the demo recommends at its end: each exists, with its meaning below it."""

import shlex
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from shell_kit import parse

from localnet.screen import print_next


def test_every_command_is_one_and_the_readmes_first_is_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    for named in ("config/demo.toml", "log.jsonl"):
        Path(named).touch()
    shown = StringIO()
    print_next(Path("config/demo.toml"), ".venv/bin/validator", Console(file=shown, width=80))
    heading, *lines = shown.getvalue().strip().splitlines()
    commands = [line.strip().partition("  ")[0] for line in lines]
    assert heading == "What to try next:"
    assert ".venv/bin/validator explain 7 --config config/demo.toml" in commands
    for command in commands:
        parse(tuple(shlex.split(command)))
    meanings = {len(line) - len(line[2:].partition("  ")[2].lstrip()) for line in lines}
    assert len(meanings) == 1
