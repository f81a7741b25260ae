"""Every command of README, CONTRIBUTING and docs is run, on a store of three rounds; or is below with a reason.

What is below is read by the program all the same: a command, an option or a file that is gone fails.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from cli_store import called
from doc_pages import ROOT
from shell_kit import PAGES, Command, blocks, commands, parse, prepare, prepared_store

FROM_ZERO = r"README\.md|docs/tutorial-(testnet|miner)\.md"


class Skip(NamedTuple):
    """Commands that are not run here: of which pages, which, why, and what runs the like."""

    pages: str
    pattern: str
    reason: str


SKIPPED = (
    Skip(
        r"docs/localnet\.md",
        r"\S*validator devnet --tasks .*",
        "a miner that serves; tests/localnet/own/test_own_network.py runs it with the page's file of miners",
    ),
    Skip(
        r"docs/localnet\.md",
        r".*",
        "a chain node; tests/localnet/network/test_localnet_page.py runs every one, in memory or on SUBTENSOR_URL",
    ),
    Skip(
        r"docs/attestations\.md",
        r".*",
        "an API that serves; tests/docs/test_docs_attestations.py follows the page",
    ),
    Skip(
        r"docs/tutorial-miner\.md",
        r"(validator miner|python) .*",
        "a miner that serves; tests/miner/test_miner_tutorial.py follows the page",
    ),
    Skip(r".*", r"docker.*", "a container engine; `make engine-test` runs images, tests/packaging reads the files"),
    Skip(r".*", r"systemctl .*", "a host with systemd"),
    Skip(FROM_ZERO, r"btcli .*|export .*", "testnet, and somebody who types a password"),
    Skip(FROM_ZERO, r"validator (doctor|run|status --watch|weights plan)$", "testnet; run on other pages"),
    Skip(r".*", r"make .*", "minutes; .ci/run makes demo's network, test, attack and faults"),
    Skip(r".*", r"python3 -m venv .*|\S*pip install .*", "an index; tests/acceptance/test_installed_wheel.py installs"),
    Skip(r".*", r"(sudo|install) .*", "rights on the host"),
    Skip(r".*", r"validator (drain|health)\b.*", "a validator that runs; tests/acceptance run it"),
    Skip(
        r".*", r"validator miner check .*", "a miner that answers; tests/validator/cli/test_cli_miner_check.py calls it"
    ),
    Skip(r".*", r"validator simulate study .*", "an hour of two processors; tests/laboratory/test_study.py calls it"),
    Skip(
        r".*",
        r"validator (tasks )?serve .*",
        "it serves until it is stopped; tests/validator/tasks and tests/validator/incoming serve",
    ),
    Skip(
        r"docs/api\.md",
        r"(validator (serve|wallet link)|curl) .*",
        "it serves until it is stopped; tests/publisher/web serves and signs links",
    ),
    Skip(r".*", r".*python -m code_runner .*", "a solution of somebody's; tests/runner runs it"),
)
# What a page's command says, and what stands for it here.
SUBSTITUTES = (
    (r"/backup/", "backup/"),
    (r"postgresql://validator@db\.example/validator", "sqlite:///copied.sqlite"),
    (r"\brounds show 5\b", "rounds show 1"),
    (r"\bexplain 7 --round 5\b", "explain 1 --round 1"),
    (r"\bexplain 7\b", "explain 1"),
    (r"--since (120|1200)\b", "--since 1"),
    (r"(export analysis)( --table)", r"\1-of-tables\2"),
    (r"--hotkey 5\w{47}", "--hotkey 5CzRdZLnRxWkyWoGZZbfvSCY4mbw1cmsow5q8cgZyGg1aiDq"),
    (r"(--wallet validator)", r"--wallet-path wallets \1"),
)
ENVIRONMENT = {r"validator db restore": {"VALIDATOR_STORE__URL": "sqlite:///restored.sqlite"}}
ENDS = {
    r"validator tasks check tasks/my-skill$": {1},  # somebody has yet to decide what is true of it
    r"validator doctor": {0, 1, 6},  # it says how this machine is
    r"validator audit verify log.jsonl --against": {1},  # the page's digest is of another log
    r"validator audit verify log.jsonl --chain": {2},  # no chain is next to the page
}
SETTINGS = """
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "chain.json"
[store]
url = "sqlite:///{database}.sqlite"
[tasks]
directory = "tasks"
[health]
port = 0
"""
HARMLESS = {"mkdir"}
COMPOSE = {"build", "up", "run", "exec", "stop", "start", "restart", "rm", "logs", "ps", "kill", "pull", "cp"}
ALL = commands()


def skip_reason(command: Command) -> str | None:
    """Return the reason why a command is not run here; None if it is run."""
    line = " ".join(command.argv)
    found = (one.reason for one in SKIPPED if re.fullmatch(one.pages, command.page) and re.fullmatch(one.pattern, line))
    return next(found, None)


@pytest.fixture(scope="module")
def store(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_store(played, tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize("page", sorted({command.page for command in ALL if skip_reason(command) is None}))
def test_every_command_of_a_page_runs(page: str, store: Path, tmp_path: Path) -> None:
    prepare(tmp_path, store, SETTINGS)
    if re.fullmatch(FROM_ZERO, page):
        (tmp_path / "validator.toml").unlink()  # `validator init` writes it, with the simulated chain's rounds to come
    for command in (one for one in ALL if one.page == page and skip_reason(one) is None):
        if command.program in HARMLESS:
            subprocess.run(command.argv, check=True, cwd=tmp_path)
            continue
        assert command.program == "validator", f"{command.line}: run it here, or list it in LEFT with a reason"
        line = shlex.join(command.argv[1:])
        for said, here in SUBSTITUTES:
            line = re.sub(said, here, line)
        env = next((some for said, some in ENVIRONMENT.items() if re.match(said, f"validator {line}")), {})
        done = called(*shlex.split(line), cwd=tmp_path, **env)
        ends = next((codes for said, codes in ENDS.items() if re.match(said, f"validator {line}")), {0})
        assert done.returncode in ends, f"{command.line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("reason", sorted({one.reason for one in SKIPPED}))
def test_what_is_not_run_is_read_all_the_same(reason: str) -> None:
    mine = [command for command in ALL if skip_reason(command) == reason]
    assert mine, "nothing is left for this reason: take it off the list"
    for command in mine:
        for argv in _validators(command):
            parse(argv)
        _files_are_there(command)
    if lines := sorted({tuple(command.argv[1:]) for command in mine if command.program == "btcli"}):
        _btcli_knows(lines)
    pytest.skip(f"{len(mine)} commands are read, not run: {reason}")


def _validators(command: Command) -> Iterator[tuple[str, ...]]:
    """The calls of `validator` in a command: itself, or what a container is to run."""
    argv = command.argv
    if command.program == "validator":
        yield tuple(argv)
    elif command.program == "docker-compose" and argv[1] in {"run", "exec"}:
        service, *inner = argv[next(number for number in range(2, len(argv)) if argv[number][0] != "-") :]
        if service == "validator":
            yield tuple(inner) if argv[1] == "exec" else ("validator", *inner)


# Each in a fork: the SDK takes a second to import.
BTCLI = """
import json, os, sys
from bittensor.cli.main import main
for line in json.load(sys.stdin):
    if not os.fork():
        sys.argv = ["btcli", *line, "--help"]
        sys.exit(main())
    if os.waitstatus_to_exitcode(os.wait()[1]):
        sys.exit(" ".join(line))
"""


def _btcli_knows(lines: Sequence[tuple[str, ...]]) -> None:
    """The SDK's own program parses the whole line before it shows its help."""
    done = subprocess.run(
        [sys.executable, "-c", BTCLI], input=json.dumps(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _files_are_there(command: Command) -> None:
    for word, after in zip(command.argv, (*command.argv[1:], ""), strict=True):
        if word in {"-r", "--file"}:
            assert (ROOT / after).is_file(), command.line
    if command.program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in command.argv[1:] if "=" not in word} <= set(targets), command.line
    if command.program == "docker-compose":
        compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
        profiles = {profile for service in compose["services"].values() for profile in service.get("profiles", ())}
        for word, after in zip(command.argv, (*command.argv[1:], ""), strict=True):
            assert word != "--profile" or after in profiles, command.line
        begun = next(number for number, word in enumerate(command.argv) if word in COMPOSE)
        named = [word for word in command.argv[begun + 1 :] if not word.startswith("-")]
        assert not named or set(named) & set(compose["services"]), command.line


def test_commands_are_found_on_the_pages_and_none_escapes() -> None:
    pages = {command.page for command in ALL}
    assert {"README.md", "docs/operators/database.md", "docs/auditors.md", "docs/localnet.md", "docs/spec.md"} <= pages
    for page in PAGES:
        lines = re.findall(r"^ *(?:\S*/)?(validator [a-z].*)$", "\n".join(blocks(page)), re.MULTILINE)
        found = [command for command in ALL if command.page == str(page.relative_to(ROOT))]
        assert len(lines) <= len([one for one in found if "validator" in one.line]), page.name


def test_a_command_or_an_option_that_is_gone_is_seen() -> None:
    for line in ("validator nonsense", "validator rounds lost", "validator run --nonsense", "validator doctor --only"):
        with pytest.raises(Exception, match=r"(?i)no such|requires an argument"):
            parse(tuple(line.split()))


def test_a_page_of_every_kind_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [str(path) for path in pages if str(path) != "README.md" and f"]({path}" not in index] == []
    assert re.findall(r"^## (To [a-z ]+)", index, re.MULTILINE) == [
        "To learn",
        "To do something",
        "To look something up",
        "To understand",
    ]
