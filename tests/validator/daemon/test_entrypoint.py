"""The image's entry point: what a restart would not better waits for somebody, everything else ends as it is."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import IO

import pytest
from daemon_process import PROGRAM, free_port
from package_files import ROOT

from sssa.sources import VirtualClock
from validator.daemon.entrypoint import _PARKED
from validator.daemon.exits import Exit
from validator.daemon.parking import LINE_EVERY_S, Parked
from validator.health.board import Board
from validator.health.report import HealthState
from validator.telemetry import configure_logging

ENTRY = (sys.executable, "-m", "validator.daemon.entrypoint")
SETTINGS = """
[validator]
netuid = 1
[wallet]
path = "{folder}"
[store]
url = "sqlite:///{folder}/validator.sqlite"
[health]
port = {port}
"""


@contextmanager
def entered(
    *arguments: str, entry: Sequence[str] = ENTRY, folder: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The entry point as a process, its standard error next to its output; killed if the test leaves it."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    with subprocess.Popen(
        [*entry, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=folder
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(stream: IO[str] | None, until: str) -> list[str]:
    """Return the stream's lines up to the first that contains `until`."""
    assert stream is not None
    found = []
    for line in stream:
        found.append(line)
        if until in line:
            return found
    raise AssertionError(f"no {until}: {found}")


@pytest.fixture
def program_folder(tmp_path: Path) -> Path:
    """A folder with this interpreter, where a test puts the program that the entry point finds next to it."""
    (tmp_path / "python").symlink_to(sys.executable)
    return tmp_path


def with_program(folder: Path, script: str) -> tuple[str, ...]:
    program = folder / "validator"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(folder / "python"), *ENTRY[1:]


async def test_it_says_once_an_hour_what_it_waits_for() -> None:
    clock, out = VirtualClock(), StringIO()
    health = HealthState(clock, 600.0, "1", Board(clock))
    configure_logging("info", "json", out)
    parked = Parked(Exit.NOT_REGISTERED, "The hotkey is not registered: 5Dhe…", clock, health)

    running = asyncio.create_task(parked.run())
    await clock.advance(0)
    for passed, said in ((0, 1), (LINE_EVERY_S - 1, 1), (1, 2), (24 * LINE_EVERY_S, 26)):
        await clock.advance(passed)
        written = [json.loads(line) for line in out.getvalue().splitlines()]
        assert len([line for line in written if line["event"] == "daemon_parked"]) == said
    running.cancel()
    last = {key: value for key, value in written[-1].items() if key != "timestamp"}
    assert last == {
        "event": "daemon_parked",
        "level": "error",
        "exit_code": 13,
        "reason": "The hotkey is not registered: 5Dhe…",
        "advice": "Register it (`btcli tx burned-register`), or correct wallet.hotkey or validator.netuid. "
        "Then start the container again.",
    }
    health.beat()
    report = health.report()
    assert (report.status, [one.condition.name for one in report.conditions]) == ("unhealthy", ["parked"])
    assert report.conditions[0].detail == "exit code 13: The hotkey is not registered: 5Dhe…"
    assert health.stuck() is None  # a restart ends nothing


def test_a_missing_hotkey_waits_unhealthy_and_ends_with_its_code(tmp_path: Path) -> None:
    config = tmp_path / "validator.toml"
    config.write_text(SETTINGS.format(folder=tmp_path, port=free_port()))
    with entered("run", "--config", str(config)) as process:
        failed, *_, parked = lines(process.stdout, '"event": "daemon_parked"')
        told = json.loads(parked)
        assert told["reason"] == json.loads(failed)["reason"]
        assert told["reason"].startswith("The hotkey's file is not there: hotkey `default` of wallet `default` in ")
        assert (told["exit_code"], told["advice"]) == (
            11,
            f"{Exit.HOTKEY_MISSING.advice} Then start the container again.",
        )
        health = _health(config)
        assert health.returncode == 1
        assert "parked (unhealthy): " in health.stdout
        assert "Seen: exit code 11: The hotkey's file is not there: " in health.stdout
        process.terminate()
        assert process.wait(timeout=10) == 11
        assert process.stderr is not None
        assert process.stderr.read().startswith("The hotkey's file is not there: ")


def _health(config: Path) -> subprocess.CompletedProcess[str]:
    """`validator health`, once something listens."""
    for _ in range(100):
        done = subprocess.run(
            [*PROGRAM, "health", "--config", str(config)], capture_output=True, text=True, check=False
        )
        if "no answer" not in done.stdout:
            return done
    raise AssertionError(done.stdout)


def test_settings_that_cannot_be_read_wait_as_well(program_folder: Path) -> None:
    entry = with_program(program_folder, "echo 'validator.netuid: is required' >&2; exit 2")
    with entered("run", entry=entry, folder=program_folder) as process:
        told = json.loads(lines(process.stdout, '"event": "daemon_parked"')[-1])
        assert (told["exit_code"], told["reason"]) == (2, "validator.netuid: is required")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 2


@pytest.mark.parametrize("ending", ["exit 0", "exit 3", "exit 4", "exit 10", "exit 17", "kill -9 $$"])
def test_what_a_restart_may_better_ends_as_it_is(program_folder: Path, ending: str) -> None:
    with entered("run", entry=with_program(program_folder, ending)) as process:
        assert process.wait(timeout=30) == (int(ending.split()[1]) if ending.startswith("exit") else 137)


def test_a_stop_reaches_the_program_once_and_is_never_followed_by_waiting(program_folder: Path) -> None:
    entry = with_program(
        program_folder, "trap 'echo asked; exit 16' TERM; echo ready; while :; do read -r _ || sleep 0.05; done"
    )
    with entered("run", entry=entry) as process:
        lines(process.stdout, "ready")
        process.terminate()
        assert process.stdout is not None
        assert process.stdout.read() == "asked\n"
        assert process.wait(timeout=10) == 16


def test_other_commands_are_not_held(program_folder: Path) -> None:
    entry = with_program(program_folder, 'echo "$@"; exit 2')
    with entered("doctor", "--json", entry=entry) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "doctor --json\n"
        assert process.wait(timeout=10) == 2


def test_what_waits_is_what_the_specification_of_operators_names() -> None:
    assert sorted(_PARKED) == [2, 11, 12, 13, 14, 15, 16, 18]
    assert {code: code.advice for code in Exit if code.advice.endswith(".")} == {
        code: code.advice for code in Exit if code.advice
    }


def test_the_documented_systemd_unit_leaves_ended_what_the_container_waits_with() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operators" / "install.md").read_text()
    codes = re.findall(r"^RestartPreventExitStatus=(.*)$", page, re.MULTILINE)
    assert [[int(code) for code in line.split()] for line in codes] == [sorted(_PARKED)]
