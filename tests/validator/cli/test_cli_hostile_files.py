"""Commands that anybody may run on a stranger's file: bounded time and memory, one line that names file or field."""

import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_store import PROGRAM, called

from sssa.protocol.limits import MAX_CASE_MEMBERS, MIB

START = b'{"receipt":{"x":'
READERS = [
    ("audit", "verify"),
    ("proof", "verify"),
    ("proof", "build"),
    ("score", "keys"),
    ("score", "weights"),
    ("groups", "select"),
]
PEAK_MIB = 512
DEBATE = Path(__file__).parents[3] / "docs" / "examples" / "debate.json"


def refused(*arguments: str, code: int = 2) -> str:
    """The one line, fit for a terminal, with which the command ends."""
    done = called(*arguments)
    lines = (done.stderr + done.stdout).splitlines()
    assert (done.returncode, len(lines)) == (code, 1), lines
    assert lines[0].isprintable()
    return lines[0]


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_pipe_is_refused_and_not_waited_for(command: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is no regular file" in refused(*command, str(tmp_path / "pipe"))


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_device_is_refused_and_not_read(command: tuple[str, ...]) -> None:
    assert "is no regular file" in refused(*command, "/dev/zero")


@pytest.mark.parametrize("command", READERS[1:], ids=" ".join)
def test_a_file_of_ten_gigabytes_is_refused_by_its_size(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(10 * 1024 * MIB)
    assert "large.json: " in refused(*command, str(path))


@pytest.mark.parametrize("command", READERS[1:], ids=" ".join)
@pytest.mark.parametrize("name", ["absent\x1b[31m.json", "folder"])
def test_what_is_no_file_is_named(command: tuple[str, ...], name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "absent" in (line := refused(*command, str(tmp_path / name))) or "directory" in line


def test_a_group_of_too_many_members_is_refused_before_all_are_compared(tmp_path: Path) -> None:
    members = [{"hotkey": f"h{i}", "role": "primary", "sssa": None} for i in range(MAX_CASE_MEMBERS + 1)]
    path = tmp_path / "group.json"
    path.write_text(json.dumps({"task_id": "t", "members": members}))
    assert f"$.members: Expected `array` of length <= {MAX_CASE_MEMBERS}" in refused("score", "consensus", str(path))
    path.write_text(json.dumps({"task_id": "t", "members": members[1:]}))
    assert called("score", "consensus", str(path)).returncode == 0


@pytest.mark.parametrize(
    ("bound", "message"), [("MAX_JSON_VALUES", "more than 50 values"), ("MAX_DOCUMENT", "at most 50")]
)
def test_a_debate_whose_proof_nobody_could_check_is_not_built(
    bound: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"sssa.proofs.document.{bound}", 50)
    assert message in refused("proof", "build", str(DEBATE), "--out", str(tmp_path / "proof.json"))
    assert list(tmp_path.iterdir()) == []


def doubled_twice(make: Callable[[int], bytes], n: int, path: Path, *command: str) -> float:
    """Return the factor in CPU time for four times the input, which is less sensitive to noise than one doubling."""
    costs = []
    for size in (n // 2, 2 * n):
        path.write_bytes(make(size))
        times = []
        for _ in range(3):
            gc.collect()
            before = resource.getrusage(resource.RUSAGE_SELF)
            called(*command, str(path))
            after = resource.getrusage(resource.RUSAGE_SELF)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        costs.append(min(times))
    return costs[1] / costs[0]


def of_samples(n: int) -> bytes:
    return json.dumps(
        {"samples": [{"with_primaries": 0.9, "with_auditors": 0.1, "auditor_agreement": None}] * n}
    ).encode()


def of_events(n: int) -> bytes:
    return json.dumps({"start": 0.5, "events": ["rerun_pass", "violation"] * (n // 2)}).encode()


def of_windows(miners: int, entries: int) -> bytes:
    standing = {"declared": True, "dispatches": 5, "failures": 0, "proven": True, "reputation": 0.5}
    kinds = ("declarative", "workflow")
    return json.dumps(
        {
            "scoring_version": "1.0.0",
            "windows": {f"h{i}": dict.fromkeys(kinds, [1.5] * entries) for i in range(miners)},
            "standing": {f"h{i}": {"types": dict.fromkeys(kinds, standing)} for i in range(miners)},
        }
    ).encode()


LINEAR: list[tuple[Callable[[int], bytes], int, tuple[str, ...]]] = [
    (lambda n: START + b'"' + b'\\"' * n, 2_000_000, ("audit", "verify")),
    (lambda n: START + b"1}}\n" * n, 400_000, ("audit", "verify")),
    (lambda n: b'{"receipt":{"salts":[{}]}}\n' * n, 8_000, ("audit", "verify")),
    (lambda n: START + b"1}}\n" + b'{"receipt":{"salts":[{' * n, 400_000, ("audit", "verify")),
    (lambda n: b'{"proof_id":' + b"[[]," * n, 400_000, ("proof", "verify")),
    (of_samples, 40_000, ("score", "collusion")),
    (of_events, 400_000, ("score", "reputation")),
    (lambda n: of_windows(n, 20), 2_000, ("score", "weights")),
    (lambda n: of_windows(2, n), 100_000, ("score", "weights")),
]


@pytest.mark.attack
@pytest.mark.parametrize(("make", "n", "command"), LINEAR)
def test_twice_as_much_costs_at_most_two_and_a_half_times(
    make: Callable[[int], bytes], n: int, command: tuple[str, ...], tmp_path: Path
) -> None:
    assert doubled_twice(make, n, tmp_path / "file", *command) <= 2.5**2


HOSTILE_64_MB: dict[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "one line of an audit file": (lambda: START + b'"' + b'\\"' * (32 * MIB - 9), ("audit", "verify")),
    "tiny lines of an audit file": (lambda: START + (b"1}}\n" + START) * (3 * MIB), ("audit", "verify")),
    "brackets in a proof": (lambda: b'{"proof_id":' + b"[" * (64 * MIB - 12), ("proof", "verify")),
    "one string in a case": (lambda: b'{"findings":"' + b"a" * (64 * MIB - 15) + b'"}', ("score", "keys")),
}


@pytest.mark.attack
@pytest.mark.parametrize("name", HOSTILE_64_MB)
def test_a_hostile_file_of_64_mib_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    make, command = HOSTILE_64_MB[name]
    path = tmp_path / "file"
    path.write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *PROGRAM, *command, str(path)], capture_output=True, text=True, check=False
    )
    code, peak = map(int, done.stdout.splitlines()[-1].split())
    assert code in (1, 2)
    assert peak < PEAK_MIB * 1024


MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
