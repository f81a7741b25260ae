"""No command shows a piece of the database's password, however odd it is; what it prints as JSON is JSON alone."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from chain_worlds import ME, ServedWorld
from cli_commands import TREE, commands
from cli_store import called
from subtensor_node import NEWER
from wallet_files import write_hotkey

from sssa.redaction import PIECE
from validator.store import upgrade

SIMULATED = 'kind = "simulated"\nstate = "chain.json"'
SETTINGS = """
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "chain.json"
[health]
port = 1
"""
LONG_RUNNING = {
    ("devnet",),
    ("miner", "run"),
    ("tasks", "serve"),
    ("localnet", "up"),
    ("planner", "run"),
    ("simulate", "study"),
}
# What a command cannot do without, and what makes it read the settings; `1` is a file.
ARGUMENTS = {
    "folder": "out",
    "target": "postgresql://127.0.0.1:1/other",
    "url": "http://127.0.0.1:1",
    "--hotkey": ME.hotkey,
}
FURTHER = {
    ("audit", "verify"): ("--chain",),
    ("proof", "build"): ("--sign",),
    ("replay",): ("1",),
    ("tasks", "retire"): ("1" * 32,),
}
DEBATE = """{"debate_version": "1.0", "debate_id": "1", "task": "1", "final_claim": "1", "consensus_reached": true,
"proposals": [{"agent": "a", "content": "b"}]}"""
SWEPT = 24  # passwords


def password(number: int) -> str:
    draw = random.Random(number)
    return "".join(draw.choices("@:/?#%[]&=+ '\"ÄΩ日QWXZJK7902", k=draw.randrange(8, 30)))


def with_option(name: str) -> Iterator[tuple[str, ...]]:
    """Every command that has the option, with words for what it requires."""
    for command_line in commands():
        command = TREE
        for word in command_line:
            command = command.commands[word]
        if hasattr(command, "commands") or command_line in LONG_RUNNING:
            continue
        options = {option for one in command.params for option in one.opts}
        if name not in options:
            continue
        given: list[str] = []
        for one in command.params:
            if one.required and one.param_type_name == "argument":
                given.append(ARGUMENTS.get(one.name, "1"))
            elif one.required:
                given += [one.opts[-1], ARGUMENTS.get(one.opts[-1], "1")]
        yield (*command_line, *given)


READING = sorted(with_option("--config"))


@pytest.mark.parametrize("many", [1, pytest.param(SWEPT, marks=pytest.mark.attack)])
@pytest.mark.parametrize("command_line", READING, ids=" ".join)
def test_no_command_shows_a_piece_of_the_databases_password(
    command_line: tuple[str, ...], many: int, tmp_path: Path
) -> None:
    (tmp_path / "my.toml").write_text(SETTINGS)
    (tmp_path / "1").write_text(DEBATE)
    further = next((more for named, more in FURTHER.items() if command_line[: len(named)] == named), ())
    for number in range(READING.index(command_line), READING.index(command_line) + many):
        secret = password(number % SWEPT)
        forms = (secret, quote(secret, safe=""))
        for written in forms:
            url = f"postgresql://validator:{written}@127.0.0.1:1/v"
            done = called(*command_line, *further, "--config", "my.toml", cwd=tmp_path, VALIDATOR_STORE__URL=url)
            output = done.stdout + done.stderr
            assert set(written).isdisjoint(":/?#[]@") or "store.url" in output, output  # it reads the setting
            shown = {
                form[i : i + PIECE]
                for form in forms
                for i in range(len(form) - PIECE + 1)
                if form[i : i + PIECE] in output
            }
            assert shown == set(), output


async def test_json_is_one_document_or_nothing_on_a_chain_that_lacks_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)  # the commands are in a thread next to the node
    world = await ServedWorld.open("", {})
    world.node.lacks = NEWER
    settings = SETTINGS.replace(SIMULATED, f'endpoints = ["{world.proxy.url}"]')
    settings = settings.replace('uri = "//Validator"', f'path = "{tmp_path}/wallets"')
    settings += f'[store]\nurl = "sqlite:///{tmp_path}/store.sqlite"\n[tasks]\ndirectory = "{tmp_path}"\n'
    write_hotkey(tmp_path / "wallets", ME)
    (tmp_path / "my.toml").write_text(settings)
    await upgrade(f"sqlite:///{tmp_path}/store.sqlite")
    logged = 0
    try:
        for command_line in sorted(with_option("--json")):
            config = ["--config", "my.toml"] if command_line in READING else []
            done = await asyncio.to_thread(called, *command_line, "--json", *config, cwd=tmp_path)
            lines = done.stdout.splitlines()
            assert len(lines) <= 1, (command_line, done.stdout)
            for line in lines:
                json.loads(line)
            logged += "chain_old_runtime" in done.stderr
    finally:
        await world.close()
    assert logged > 1
