"""Running the user's tools: what they may take, what they are told, and what they leave behind."""

import os
from pathlib import Path

import pytest

from validator.tasks import downloads
from validator.tasks.downloads import run_tool
from validator.tasks.source import TaskError


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a program that the PATH finds as `fake`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(downloads, "_INSTEAD", {"fake": "name a file"})
    return tmp_path / "bin" / "fake"


def run(tool: Path, script: str) -> str:
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return run_tool("fake", ("a b", "$(id)", ";"), tool.parent.parent / "work", {"ITS": "own"})


def test_it_gets_its_arguments_and_the_users_environment_but_no_repository(
    tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere/.git")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://index")
    printed = run(tool, 'printf "%s|" "$@"; pwd; env; cat')
    assert printed.startswith(f"a b|$(id)|;|{tool.parent.parent / 'work'}\n")
    words = dict(line.split("=", 1) for line in printed.splitlines()[1:])
    assert words["TMPDIR"] == str(tool.parent.parent / "work")
    assert (words["ITS"], words["https_proxy"], words["PIP_INDEX_URL"]) == ("own", "http://proxy:1", "http://index")
    assert "GIT_DIR" not in words


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "`fake` failed: exit code 3"),
        ("echo one >&2; echo ERROR: no such thing >&2; echo WARNING: old >&2; exit 1", "`fake` failed: no such thing"),
        (
            "echo npm error code E404 >&2; echo npm error 404 Not Found >&2; echo npm error x >&2; exit 1",
            "code E404 404 Not",
        ),
        ("printf 'a\\033[31mb\\377' >&2; exit 1", "a\\u001b[31mb"),
        ("kill -9 $$", "exit code -9"),
        ("yes | head -c 3000; exit 0", "it wrote more than 2000 bytes"),
        ("head -c 3000 /dev/zero > big", "it wrote more than 2000 bytes"),
        ("mkdir -p a/b; head -c 3000 /dev/zero > a/b/big; exec sleep 60", "it wrote more than 2000 bytes"),
        ("exec sleep 60", "it took more than 0.6 s"),
        ("exec >&- 2>&-; exec sleep 60", "it took more than 0.6 s"),
    ],
)
def test_what_fails_or_takes_too_much_is_one_line(
    tool: Path, script: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "SECONDS", 0.6 if "0.6" in said else 60)
    monkeypatch.setattr(downloads, "DISK", 2000)
    with pytest.raises(TaskError) as caught:
        run(tool, script)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_what_it_started_ends_with_it(tool: Path) -> None:
    os.mkfifo(tool.parent.parent / "work" / "alive")
    alive = os.open(tool.parent.parent / "work" / "alive", os.O_RDONLY | os.O_NONBLOCK)
    try:
        run(tool, "sleep 1000 >alive 2>/dev/null &\necho started")
        os.set_blocking(alive, True)
        assert os.read(alive, 1) == b""  # its end: anyone who could write is gone
    finally:
        os.close(alive)


def test_more_errors_than_anybody_reads_cost_no_memory(tool: Path) -> None:
    with pytest.raises(TaskError, match="failed: y"):
        run(tool, "yes | head -c 3000000 >&2; exit 1")


def test_a_missing_tool_is_named_with_what_to_do(tool: Path) -> None:
    with pytest.raises(TaskError, match="`fake` is not on the PATH: install it, or name a file"):
        run_tool("fake", (), tool.parent)


def test_what_cannot_be_started_is_one_line(tool: Path) -> None:
    tool.write_bytes(b"\x7fELF nothing")
    tool.chmod(0o755)
    with pytest.raises(TaskError, match="`fake` cannot be started: Exec format error"):
        run_tool("fake", (), tool.parent.parent / "work")
