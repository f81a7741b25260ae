"""An operator's installation: the built wheel and the locked packages in an empty environment, without a clone."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dry_run import until_a_round_ends, write_settings
from package_files import ROOT, wheel_of

from validator import __version__

ABSENT = ("localnet", "bandit", "tree_sitter", "tree_sitter_bash", "pip", "hatchling", "pytest")


def install(python: Path, *what: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *what], check=True, timeout=240)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that holds the validator's wheel alone, as pip installs it."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install(python, "--require-hashes", "-r", str(ROOT / "requirements" / "runtime.txt"))
    houses = (".", "sssa", "publisher", "taskmaker")
    wheels = [wheel_of(ROOT / house, folder) for house in houses]
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        *wheels,
    ]
    subprocess.run(pip, check=True, timeout=120)
    return python.parent


def environment() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VALIDATOR_", "VIRTUAL_"))
    }


def run(programs: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / command[0], *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
        env=environment(),
    )


def test_nothing_of_the_local_network_is_installed(installed: Path, tmp_path: Path) -> None:
    code = f"from importlib.util import find_spec; print([name for name in {ABSENT!r} if find_spec(name)])"
    assert run(installed, tmp_path, "python", "-c", code).stdout == "[]\n"
    code = "import validator; print(validator.__file__, validator.__version__)"
    place, version = run(installed, tmp_path, "python", "-c", code).stdout.split()
    assert Path(place).is_relative_to(installed.parent)
    assert version == __version__


def test_its_migrations_make_the_tables(installed: Path, tmp_path: Path) -> None:
    config = str(write_settings(tmp_path))
    done = run(installed, tmp_path, "validator", "db", "upgrade", "--config", config)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(installed, tmp_path, "validator", "db", "state", "--config", config)
    assert (done.returncode, done.stdout.split()[-1]) == (0, "current")


def test_without_the_local_network_a_simulated_chain_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "validator", "run", "--config", str(write_settings(tmp_path)))
    assert done.returncode == 2
    assert "install sssa-localnet" in done.stderr


@pytest.mark.parametrize(
    ("command", "name", "folder"),
    [
        ("devnet", "devnet", "localnet"),
        ("devnet --help", "devnet", "localnet"),
        ("localnet up", "localnet", "localnet"),
        ("miner run --port 0", "miner", "miner"),
        ("miner", "miner", "miner"),
        ("tasks draft bundle.tar.gz", "tasks draft", "miner"),
    ],
)
def test_commands_of_other_distributions_give_one_line_of_advice(
    command: str, name: str, folder: str, installed: Path, tmp_path: Path
) -> None:
    done = run(installed, tmp_path, "validator", *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"The distribution of this command is not installed: `validator {name}` comes with sssa-{folder}: "
    )


def test_help_lists_them_all_the_same(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "validator", "--help")
    assert done.returncode == 0
    listed = set(re.findall(r"^  (\w+) ", done.stdout.partition("Commands:")[2], re.MULTILINE))
    assert {"run", "db", "tasks", "devnet", "miner"} <= listed


def test_the_local_networks_wheel_brings_its_commands_and_a_dry_run(installed: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    install(python, "--require-hashes", "-r", str(ROOT / "requirements" / "miner.txt"))
    install(
        python,
        "--no-deps",
        *(str(wheel_of(ROOT / part, tmp_path)) for part in (".", "sssa", "taskmaker", "runner", "miner", "localnet")),
    )
    done = run(python.parent, tmp_path, "validator", "miner", "run", "--port", "0", "--config", "missing.toml")
    assert done.returncode == 2
    assert "missing.toml" in done.stderr
    code = "from miner.bundles.written import written_bundles; print(len(written_bundles()))"
    assert run(python.parent, tmp_path, "python", "-c", code).stdout == "18\n"
    command = [str(python.parent / "validator"), "run", "--config", str(write_settings(tmp_path))]
    assert asyncio.run(until_a_round_ends(command, tmp_path, environment())) == 0
    assert (tmp_path / "chain.json").exists()
    assert run(python.parent, tmp_path, "validator", "rounds", "list", "--config", command[-1]).returncode == 0
