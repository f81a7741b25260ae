"""`validator serve` as a process: off unless it is turned on, and ended by SIGTERM."""

import signal
import subprocess
import urllib.request
from pathlib import Path

from cli_store import PROGRAM, called, environment, write_config


def test_it_says_how_to_turn_it_on(sqlite_url: str, tmp_path: Path) -> None:
    done = called("serve", "--config", str(write_config(tmp_path, sqlite_url)))
    assert done.returncode == 2
    assert done.stderr.startswith("The API is turned off: set [web] api = true")


def test_it_serves_until_it_is_told_to_stop(sqlite_url: str, tmp_path: Path) -> None:
    config = write_config(tmp_path, sqlite_url, '[web]\napi = true\nport = 0\n[log]\nformat = "json"\n')
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--config", str(config)], stdout=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.partition('"addresses": ["')[2].partition('"')[0]
        with urllib.request.urlopen(f"http://{address}/api/v1/rounds") as response:
            assert response.read() == b'{"rounds":[],"next":null}'
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()
