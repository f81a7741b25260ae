"""`validator serve` as a process: off unless it is turned on, and ended by SIGTERM."""

import json
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
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
        started = json.loads(line)
        file, url = Path(started["token_file"]), f"http://{started['addresses'][0]}/api/v1/rounds"
        token = file.read_text().strip()
        assert (oct(file.stat().st_mode), len(token), token in line) == ("0o100600", 64, False)
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as response:
            assert response.read() == b'{"rounds":[],"next":null}'
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url)
        assert called("serve", "--show-token", "--config", str(config)).stdout == f"{token}\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("text", "mode", "message"), [("short\n", 0o600, "delete it"), ("a" * 64, 0o644, "lets others at it")]
)
def test_a_token_that_others_can_read_or_guess_is_refused(tmp_path: Path, text: str, mode: int, message: str) -> None:
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/store.sqlite", "[web]\napi = true\n")
    file = tmp_path / "store.sqlite.web-token"
    file.write_text(text)
    file.chmod(mode)
    done = called("serve", "--show-token", "--config", str(config))
    assert (done.returncode, message in done.stderr, text.strip() in done.stderr) == (2, True, False)


def test_calling_it_leaves_this_process_its_signals(tmp_path: Path) -> None:
    def taken() -> list[object]:
        return [*map(signal.getsignal, signal.valid_signals()), signal.set_wakeup_fd(-1), threading.excepthook]

    before = taken()
    called("serve", "--config", str(write_config(tmp_path, f"sqlite:///{tmp_path}/store.sqlite")))
    assert taken() == before
