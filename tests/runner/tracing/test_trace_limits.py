import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tracer import run
from tracer.places import Folder
from tracer.records import Probes, TracingError
from tracer.run import trace, trace_bundle
from tracing_kit import MCP, NONCE, PROBE, PYTHON, SCRIPT, fields, python_bundle, read, running, script_bundle, traced

from miner.tracing import Tracer
from sssa.protocol.answer import probe_values
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType


async def gone(marker: str) -> bool:
    for _ in range(500):
        if not running(marker):
            return True
        await asyncio.sleep(0.01)
    return False


def left_behind(folder: Path) -> list[Path]:
    return [*folder.iterdir(), *Path(PROBE.file_path).parent.glob(Path(PROBE.file_path).name)]


async def test_an_endless_loop_is_cut_off_and_keeps_its_traces() -> None:
    source = "def run():\n    open('a.txt', 'w')\n    while True:\n        pass\n"
    result = await traced(python_bundle(source), PYTHON, timeout_s=2)
    assert [run.ended for run in result.runs] == ["timeout"]
    assert ("write", "/skill/a.txt") in fields(result.records, "fs", "op", "path")
    assert read(result.records, PYTHON).probes == (True, True, True)


# In its own process, whose descriptors up to that number are its own: others would be somebody's.
HOLDING = """
import asyncio, json, os, sys
from tracing_kit import PYTHON, fields, python_bundle, traced

number, held = int(sys.argv[1]), [os.open(os.devnull, os.O_RDONLY)]
while held[-1] < number:
    held.append(os.open(os.devnull, os.O_RDONLY))
assert {number - 1, number} <= {*held}
os.close(number - 1)  # the pipe of the run's claims takes these two: it is written to through the second
os.close(number)
result = asyncio.run(traced(python_bundle("def run():\\n    open('a.txt', 'w')\\n"), PYTHON))
json.dump([[run.ended for run in result.runs], fields(result.records, "fs", "op", "path")], sys.stdout)
"""


@pytest.mark.parametrize("number", [30, 31])
def test_a_run_begins_whatever_descriptors_its_miner_has_open(number: int) -> None:
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDING, str(number)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    ended, paths = json.loads(done.stdout)
    assert ended == ["done"]
    assert ["write", "/skill/a.txt"] in paths


async def test_a_huge_file_is_refused() -> None:
    source = """
import os


def run():
    try:
        with open("big", "wb") as file:
            for _ in range(1024):
                file.write(b"x" * 2**20)
    except OSError as error:
        open(f"errno-{error.errno}", "w")
    open(f"size-{os.path.getsize('big')}", "w")
"""
    result = await traced(python_bundle(source), PYTHON)
    written = [path for op, path in fields(result.records, "fs", "op", "path") if op == "write"]
    assert written[2:] == ["/skill/errno-27", f"/skill/size-{16 * 2**20}"]


async def test_memory_is_limited() -> None:
    result = await traced(python_bundle("def run():\n    bytearray(2**31)\n"), PYTHON)
    assert (result.runs[0].ended, result.runs[0].detail) == ("failed", "MemoryError: ")


async def test_open_files_are_limited() -> None:
    result = await traced(python_bundle("def run():\n    kept = [open('main.py') for _ in range(500)]\n"), PYTHON)
    assert "Too many open files" in result.runs[0].detail


async def test_endless_tracing_is_cut_off() -> None:
    result = await traced(script_bundle("while true; do echo x; done\n"), SCRIPT)
    assert [run.ended for run in result.runs] == ["flooded"]
    assert 100 < len(result.records["shell_commands"]) < 200_000
    assert read(result.records, SCRIPT).probes == (True, True, True)


async def test_repeated_records_are_bounded_and_countless_ones_end_the_run() -> None:
    """An action over the record limit is not performed: the file after it is never written."""
    source = """
def run():
    for number in range(20_000):
        try:
            open(f"gone-{number}")
        except OSError:
            open("data.txt").close()
    open("after.txt", "w")
"""
    result = await traced({**python_bundle(source), "data.txt": b"x"}, PYTHON)
    assert result.runs[0].ended == "flooded"
    paths = [path for _, path in fields(result.records, "fs", "op", "path")]
    assert paths.count("/skill/data.txt") == 8
    assert 7_000 < len(paths) <= 8_000
    assert "/skill/after.txt" not in paths


@pytest.mark.parametrize("seconds", ["71234.1", "71234.2"])
async def test_nothing_runs_on_after_the_end_or_the_time_limit(seconds: str) -> None:
    spawn = "for _ in 1 2 3 4 5 6 7 8; do sleep " + seconds + " & done\n"
    result = await traced(script_bundle(spawn + ("wait\n" if seconds.endswith("1") else "")), SCRIPT, timeout_s=2)
    assert result.runs[0].ended == ("timeout" if seconds.endswith("1") else "done")
    assert await gone(f"sleep {seconds}")


async def test_a_process_that_leaves_the_group_ends_too() -> None:
    source = """
import os
import time


def run():
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", ["sleep", "71234.3"])
            os._exit(0)
    time.sleep(600)
"""
    result = await traced(python_bundle(source), PYTHON, timeout_s=2)
    assert ("sleep 71234.3",) in fields(result.records, "process", "cmd")
    assert await gone("sleep 71234.3")


async def test_who_forks_too_often_is_ended() -> None:
    source = """
import os


def run():
    for number in range(300):
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "71234.5"])
"""
    result = await traced(python_bundle(source), PYTHON, timeout_s=10)
    assert result.runs[0].ended == "flooded"
    assert await gone("sleep 71234.5")


async def test_the_environment_is_empty_but_for_the_decoys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "real")
    source = "import os\ndef run():\n    for name in sorted(os.environ):\n        open(f'has-{name}', 'w')\n"
    result = await traced(python_bundle(source), PYTHON)
    names = {str(path).partition("has-")[2] for _, path in fields(result.records, "fs", "op", "path")[2:]}
    decoys = {"AWS_SECRET_ACCESS_KEY", "API_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY", "SSSA_DECOY_SECRET"}
    ours = {"PATH", "HOME", "TMPDIR", "LC_ALL", "RES_OPTIONS", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "TZ"}
    assert names == {*ours, *decoys}


async def test_the_private_folder_and_the_probe_file_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await traced(python_bundle("import os\ndef run():\n    os.mkdir('d')\n    open('d/x', 'w')\n"), PYTHON)
    assert left_behind(tmp_path) == []


async def test_only_permitted_bundles_are_run() -> None:
    bundle = python_bundle("def run():\n    open('ran', 'w')\n")
    mine, canary, foreign = (sha256_hex(name) for name in (b"mine", b"canary", b"foreign"))
    tracer = Tracer({mine, canary}.__contains__, timeout_s=20)
    for sha256, runs in ((mine.upper(), True), (canary, True), (foreign, False)):
        records = await tracer.trace(sha256, bundle, PYTHON, probe_values(NONCE))
        assert (("write", "/skill/ran") in fields(records, "fs", "op", "path")) is runs
        assert read(records, PYTHON).probes == (True, True, True)
    records = await tracer.trace(mine, bundle, PYTHON, probe_values(NONCE), run=False)
    assert records["fs"] == [{"op": "write", "path": PROBE.file_path, "ts": records["fs"][0]["ts"]}]


@pytest.mark.parametrize("field", Probes._fields)
async def test_probe_values_that_name_something_else_are_refused(field: str) -> None:
    values = {name: getattr(PROBE, name) for name in Probes._fields}
    for text in ("/etc/passwd", "../x", values[field] + "\n", ""):
        with pytest.raises(TracingError, match="SPEC 5"):
            await trace_bundle({}, PYTHON, Probes(**{**values, field: text}), timeout_s=5)


async def test_content_types_are_not_run() -> None:
    with pytest.raises(TracingError, match="declarative"):
        await trace_bundle({}, SkillType.DECLARATIVE, PROBE, timeout_s=5)


async def test_many_at_once_all_show_their_probes() -> None:
    tracer = Tracer(timeout_s=60)
    every = await asyncio.gather(*(tracer.trace("00", {}, MCP, probe_values(NONCE)) for _ in range(12)))
    assert all(read(records, MCP).probes == (True, True, True) for records in every)


async def test_who_is_cancelled_while_the_folder_is_filled_leaves_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    filled, go = threading.Event(), threading.Event()

    class Slow(Folder):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            filled.set()
            go.wait()

    monkeypatch.setattr(run, "Folder", Slow)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tracing = asyncio.create_task(trace(python_bundle("x = 1"), PYTHON, PROBE, timeout_s=5.0))
    await asyncio.to_thread(filled.wait)
    tracing.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await tracing
    assert left_behind(tmp_path) == []
