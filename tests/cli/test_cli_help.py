"""Every command explains itself, and the pages of docs/reference are what the code says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_store import called, validator

from validator.cli import app
from validator.cli.joined import Joined, loaded
from validator.cli.reference import pages
from validator.protocol.reasons import Reason
from validator.settings import reference
from validator.telemetry import Event

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, listed in group.commands.items():
        command = loaded(listed)
        yield (*path, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


EVERY = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    done = called(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: validator {' '.join(command)} ")
    assert re.search(r"^  [A-Z]\w", done.stdout, re.MULTILINE)  # a sentence of its own
    assert "  --help" in done.stdout


def test_the_stable_commands_are_there() -> None:
    stable = """
    run, devnet, health, rounds list, rounds show, miners list, flags list, flags show, flags clear, weights show,
    tasks pack, tasks check, tasks serve, db upgrade, db state, groups select, score consensus, score weights,
    score workflow, score keys, score emission, score collusion, score reputation, explain
    """
    assert {tuple(name.split()) for name in stable.split(",")} <= set(EVERY)


def test_listing_commands_have_json_and_settings() -> None:
    for command in ("explain", "rounds list", "rounds show", "miners list", "flags list", "flags show", "weights show"):
        text = called(*command.split(), "--help").stdout
        assert "--json" in text
        assert "--config FILE" in text


def test_the_top_level_explains_itself_without_loading_the_rooms() -> None:
    done = validator("--help")
    assert (done.returncode, done.stderr) == (0, "")
    heavy = {
        "localnet",
        "sqlalchemy",
        "aiohttp",
        "pydantic",
        "bittensor",
        "bittensor_core",
        "rich",
        "msgspec",
        "asyncio",
    }
    code = f"import sys; import validator.cli; print(sorted({heavy!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"


def test_commands_that_join_are_listed_with_their_own_help() -> None:
    listed: Any = typer.main.get_command(app)
    joined = {name: command for name, command in listed.commands.items() if isinstance(command, Joined)}
    assert set(joined) == {"devnet", "miner"}
    for command in joined.values():
        assert loaded(command).help == command.help


def test_an_unknown_command_is_bad_usage() -> None:
    done = called("rounds", "dance")
    assert (done.returncode, done.stdout) == (2, "")
    assert "dance" in done.stderr


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_of_the_reference_are_what_the_code_says(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == pages()[name], "run: make reference"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(pages())


def test_the_pages_name_everything() -> None:
    made = pages()
    for command in EVERY:
        assert re.search(rf"^#+ validator {' '.join(command)}$", made["commands.md"], re.MULTILINE)
    for reason in Reason:
        assert f"| `{reason}` | {reason.meaning} |" in made["reasons.md"]
    for event in Event:
        assert f"| `{event}` | {event.meaning} |" in made["events.md"]
    for entry in reference().values():
        assert f"`{entry.variable}`" in made["settings.md"]
        assert entry.description in made["settings.md"]


def test_reasons_stand_under_their_gate() -> None:
    part = ""
    for line in pages()["reasons.md"].splitlines():
        part = line if line.startswith("## ") else part
        match = re.match(r"\| `(\w+)` \|", line)
        if match:
            gate = Reason(match[1]).gate
            assert part.startswith(f"## Gate {gate}:") if gate else not part.startswith("## Gate")
