import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tracing_kit import MCP, PROBE, PYTHON, SCRIPT, fields, python_bundle, read, running, script_bundle, traced

from localnet.tracing import run
from localnet.tracing.places import Folder
from localnet.tracing.policy import RunPolicy, Tracer
from localnet.tracing.records import TracingError
from localnet.tracing.run import trace, trace_bundle
from validator.protocol.answer import ProbeEvidence
from validator.protocol.canonical import sha256_hex
from validator.protocol.skill_types import SkillType


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


async def test_repeated_and_countless_records_are_bounded() -> None:
    source = """
def run():
    for number in range(20_000):
        try:
            open(f"gone-{number}")
        except OSError:
            open("main.py").close()
"""
    result = await traced(python_bundle(source), PYTHON)
    assert result.runs[0].ended == "done"
    paths = [path for _, path in fields(result.records, "fs", "op", "path")]
    assert paths.count("/skill/main.py") == 8
    assert len(paths) <= 4_000


@pytest.mark.parametrize("seconds", ["71234.1", "71234.2"])
async def test_nothing_runs_on_after_the_end_or_the_time_limit(seconds: str) -> None:
    spawn = "for _ in 1 2 3 4 5 6 7 8; do sleep " + seconds + " & done\n"
    result = await traced(script_bundle(spawn + ("wait\n" if seconds.endswith("1") else "")), SCRIPT, timeout_s=2)
    assert result.runs[0].ended == ("timeout" if seconds.endswith("1") else "done")
    assert await gone(f"sleep {seconds}")


async def test_a_process_that_leaves_the_group_ends_too_where_it_has_its_own_namespace() -> None:
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
    if not result.runs[0].isolated:
        pytest.skip("this system allows no process namespace")
    assert ("sleep 71234.3",) in fields(result.records, "process", "cmd")
    assert await gone("sleep 71234.3")


async def test_forking_is_limited_where_limits_bind_and_ends_everywhere() -> None:
    source = """
import os


def run():
    for number in range(300):
        try:
            child = os.fork()
        except OSError:
            open("refused", "w")
            break
        if child == 0:
            os.execvp("sleep", ["sleep", "71234.5"])
"""
    result = await traced(python_bundle(source), PYTHON, timeout_s=10)
    assert result.runs[0].ended == "done"
    if result.runs[0].isolated and os.getuid() != 0:  # no process limit binds root
        assert ("write", "/skill/refused") in fields(result.records, "fs", "op", "path")
    assert await gone("sleep 71234.5")


async def test_the_environment_is_empty_but_for_the_decoys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "real")
    source = "import os\ndef run():\n    for name in sorted(os.environ):\n        open(f'has-{name}', 'w')\n"
    result = await traced(python_bundle(source), PYTHON)
    names = {str(path).partition("has-")[2] for _, path in fields(result.records, "fs", "op", "path")[1:]}
    decoys = {"AWS_SECRET_ACCESS_KEY", "API_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY", "SSSA_DECOY_SECRET"}
    assert names == {"PATH", "HOME", "TMPDIR", "LC_ALL", "RES_OPTIONS", *decoys}


async def test_the_private_folder_and_the_probe_file_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await traced(python_bundle("import os\ndef run():\n    os.mkdir('d')\n    open('d/x', 'w')\n"), PYTHON)
    assert left_behind(tmp_path) == []


async def test_only_permitted_bundles_are_run() -> None:
    bundle = python_bundle("def run():\n    open('ran', 'w')\n")
    mine, canary, foreign = (sha256_hex(name) for name in (b"mine", b"canary", b"foreign"))
    tracer = Tracer(RunPolicy([mine.upper()], lambda sha256: sha256 == canary), timeout_s=20)
    for sha256, runs in ((mine, True), (canary, True), (foreign, False)):
        records = await tracer.trace(sha256, bundle, PYTHON, PROBE)
        assert (("write", "/skill/ran") in fields(records, "fs", "op", "path")) is runs
        assert read(records, PYTHON).probes == (True, True, True)
    records = await tracer.trace(mine, bundle, PYTHON, PROBE, run=False)
    assert records["fs"] == [{"op": "write", "path": PROBE.file_path, "ts": records["fs"][0]["ts"]}]


@pytest.mark.parametrize("field", ProbeEvidence.__struct_fields__)
async def test_probe_values_that_name_something_else_are_refused(field: str) -> None:
    values = {name: getattr(PROBE, name) for name in ProbeEvidence.__struct_fields__}
    for text in ("/etc/passwd", "../x", values[field] + "\n", ""):
        with pytest.raises(TracingError, match="SPEC 5"):
            await trace_bundle({}, PYTHON, ProbeEvidence(**{**values, field: text}), timeout_s=5)


async def test_content_types_are_not_run() -> None:
    with pytest.raises(TracingError, match="declarative"):
        await trace_bundle({}, SkillType.DECLARATIVE, PROBE, timeout_s=5)


async def test_many_at_once_all_show_their_probes() -> None:
    tracer = Tracer(RunPolicy(), timeout_s=60)
    every = await asyncio.gather(*(tracer.trace("00", {}, MCP, PROBE) for _ in range(12)))
    assert all(read(records, MCP).probes == (True, True, True) for records in every)


_WITHOUT_NAMESPACES = """
import asyncio, sys
sys.path[:0] = sys.argv[1:]
from tracing_kit import PROBE, PYTHON, fields, python_bundle, read, traced
source = '''
import os, socket, subprocess

def run():
    subprocess.Popen(["sleep", "71234.4"])
    socket.create_connection(("198.51.100.7", 443))
'''
result = asyncio.run(traced(python_bundle(source), PYTHON))
run = result.runs[0]
assert not run.isolated
assert run.detail.startswith("gaierror"), run.detail
assert fields(result.records, "network", "domain", "dst_port")[1:] == [("198.51.100.7", 443)]
assert read(result.records, PYTHON).probes == (True, True, True)
"""


async def test_without_namespaces_it_falls_back_to_refusing_connections_and_killing_the_group() -> None:
    unshare = shutil.which("unshare")
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_net_namespaces && exec "
    command = [str(unshare), "--user", "--map-root-user", "sh", "-c", forbid + '"$@"', "sh", sys.executable]
    trial = await asyncio.to_thread(subprocess.run, [*command, "-c", ""], capture_output=True, check=False)
    if trial.returncode != 0:
        pytest.skip("this system allows no namespaces: every other test here ran without them")
    here, root = Path(__file__).parent, Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = await asyncio.to_thread(
        subprocess.run,
        [*command, "-c", _WITHOUT_NAMESPACES, str(here), str(root)],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert await gone("sleep 71234.4")


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
