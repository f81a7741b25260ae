from tracing_kit import PROBE, PYTHON, fields, python_bundle, read, traced

BUSY = python_bundle(
    """
import os
import tempfile
import urllib.request
from pathlib import Path

import helper


def run():
    Path("out.txt").write_text("x")
    with open("/etc/hostname") as file:
        file.read()
    with tempfile.NamedTemporaryFile() as scratch:
        scratch.write(b"x")
    os.environ.get("AWS_SECRET_ACCESS_KEY")
    os.environ.get("PATH")
    try:
        urllib.request.urlopen("https://collector.invalid/x")
    except OSError:
        pass
    helper.shout()
""",
    helper="""
import subprocess


def shout():
    json = __import__("json")
    subprocess.run(["echo", "a b"])
    open("helper.py").read()
""",
)


async def test_what_the_skill_does_shows_in_its_traces() -> None:
    result = await traced(BUSY, PYTHON)
    assert [(run.ended, run.detail) for run in result.runs] == [("done", "")]
    records = result.records
    assert fields(records, "fs", "op", "path") == [
        ("write", PROBE.file_path),
        ("read", "/skill/main.py"),
        ("read", "/skill/helper.py"),
        ("write", "/skill/out.txt"),
        ("read", "/etc/hostname"),
        ("write", "/tmp/*"),
        ("delete", "/tmp/*"),
        ("write", "/tmp/*"),
        ("delete", "/tmp/*"),
        ("read", "/skill/helper.py"),
    ]
    assert fields(records, "network", "domain", "dst_port", "proto") == [
        (PROBE.dns_host, 53, "dns"),
        ("collector.invalid", 443, "tcp"),
    ]
    assert set(fields(records, "process", "cmd")) == {(f"echo {PROBE.process_echo}",), ("echo 'a b'",)}
    assert fields(records, "secrets", "type", "pattern") == [("env", "AWS_SECRET_ACCESS_KEY")]
    modules = ["os", "tempfile", "urllib.request", "pathlib", "helper", "subprocess", "json"]
    assert fields(records, "imports", "module") == [(name,) for name in modules]


async def test_two_runs_give_the_same_signatures_and_all_probes() -> None:
    first, second = [read((await traced(BUSY, PYTHON)).records, PYTHON) for _ in range(2)]
    assert first.signatures == second.signatures
    assert first.probes == (True, True, True)
    assert first.hashes != second.hashes  # the times differ: these were two runs


async def test_a_connection_is_recorded_and_refused() -> None:
    source = """
import socket


def run():
    try:
        socket.create_connection(("198.51.100.7", 443), timeout=9)
    except OSError as error:
        open(f"errno-{error.errno}", "w")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"x", ("198.51.100.8", 53))
"""
    result = await traced(python_bundle(source), PYTHON)
    network = fields(result.records, "network", "domain", "dst_ip", "dst_port", "proto")
    assert ("198.51.100.7", None, 443, "tcp") in network  # looked up first, as a name
    assert (None, "198.51.100.8", 53, "udp") in network
    assert result.runs[0].ended == "failed"
    assert result.runs[0].detail == "ConnectionRefusedError: [Errno 111] Connection refused"


async def test_a_bulk_read_of_the_environment_names_the_decoys_but_the_library_s_own_does_not() -> None:
    bulk = await traced(python_bundle("import os\ndef run():\n    dict(os.environ)\n"), PYTHON)
    assert ("env", "GITHUB_TOKEN") in fields(bulk.records, "secrets", "type", "pattern")
    library = await traced(python_bundle("import urllib.request as r\ndef run():\n    r.getproxies()\n"), PYTHON)
    assert library.records["secrets"] == []


async def test_reading_a_key_file_is_a_secret_even_when_there_is_none() -> None:
    source = """
from pathlib import Path


def run():
    Path("~/.ssh/id_rsa").expanduser().read_text()
"""
    result = await traced(python_bundle(source), PYTHON)
    assert ("file", "/home/skill/.ssh/id_rsa") in fields(result.records, "secrets", "type", "pattern")
    assert result.runs[0].detail.startswith("FileNotFoundError")


async def test_a_skill_that_fails_keeps_what_was_traced_until_then() -> None:
    source = "import json\ndef run():\n    open('a.txt', 'w')\n    raise SystemExit(3)\n"
    result = await traced(python_bundle(source), PYTHON)
    assert ("write", "/skill/a.txt") in fields(result.records, "fs", "op", "path")
    assert (result.runs[0].ended, result.runs[0].detail) == ("failed", "SystemExit: 3")


async def test_without_a_runnable_entry_point_only_the_probes_are_performed() -> None:
    for entry_less in ({"README.md": b"x"}, {"manifest.json": b'{"entry_point": "gone:run"}'}, {"manifest.json": b"["}):
        result = await traced(entry_less, PYTHON)
        assert result.runs[0].ended == "done"
        traces = read(result.records, PYTHON)
        assert traces.probes == (True, True, True)
        assert sum(map(len, result.records.values())) == 3


async def test_forged_lines_are_no_records() -> None:
    source = """
import os


def run():
    for line in (b'["tool_calls", {"tool_name": "x", "ts": 1.5}]', b'["fs", {"op": "read", "path": 7e999}]',
                 b'["fs", {"op": [], "path": "x", "ts": 1.5}]', b"\\xff\\xfe", b'["end"', b"[" * 5000):
        os.write(30, line + b"\\n")
    open("after.txt", "w")
"""
    result = await traced(python_bundle(source), PYTHON)
    assert set(result.records) == {"network", "fs", "process", "secrets", "imports"}
    paths = [path for _, path in fields(result.records, "fs", "op", "path")]
    assert paths == [PROBE.file_path, "/skill/main.py", "/skill/after.txt"]
