"""Commands that write to a full disk report it in one line and leave neither files nor folders."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_store import Example, called, copied
from no_room import no_room
from package_files import ROOT
from store_faults import fill, small_disk

from validator.daemon.exits import Exit

DEBATE = str(ROOT / "docs" / "examples" / "debate.json")
INIT = "--netuid", "7", "--network", "test", "--database", "postgresql://u:p@postgres/d"
# What each is asked for, where it must go, and the code that it ends with.
CommandLine = Callable[[Example, Path], list[str]]
WITHOUT_STORE: dict[str, tuple[CommandLine, Exit]] = {
    "init": (lambda _, disk: ["init", str(disk / "new" / "deep"), *INIT], Exit.NOT_READY),
    "tasks pack": (lambda own, disk: ["tasks", "pack", str(_skill(own)), "--out", str(disk / "t" / "x")], Exit.INPUT),
    "proof build": (lambda _, disk: ["proof", "build", DEBATE, "--out", str(disk / "p.json")], Exit.NOT_READY),
}
OF_STORE: dict[str, tuple[CommandLine, Exit]] = {
    "audit export": (lambda own, disk: ["audit", "export", "--out", str(disk / "log"), *at(own)], Exit.NOT_READY),
    "db backup": (lambda own, disk: ["db", "backup", str(disk / "backup.sqlite"), *at(own)], Exit.NOT_READY),
    "db restore": (lambda own, disk: ["db", "restore", str(_backup(own)), *at(own, disk)], Exit.NOT_READY),
}


def at(own: Example, disk: Path | None = None) -> list[str]:
    """The store's settings, or those of one that must be on the disk."""
    if disk is None:
        return ["--config", str(own.config)]
    config = own.config.with_name("other.toml")
    config.write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "sqlite:///{disk}/restored.sqlite"\n')
    return ["--config", str(config)]


def _skill(own: Example) -> Path:
    folder = own.config.with_name("skill")
    folder.mkdir()
    (folder / "SKILL.md").write_text("# A skill\n")
    (folder / "data.bin").write_bytes(os.urandom(20_000))
    return folder


def _backup(own: Example) -> Path:
    file = own.config.with_name("backup.sqlite")
    assert called("db", "backup", str(file), *at(own)).returncode == Exit.FINE
    return file


@pytest.fixture
def own(example: Example, tmp_path: Path) -> Example:
    (tmp_path / "own").mkdir()
    return copied(example, tmp_path / "own")


@pytest.mark.parametrize("command", [*WITHOUT_STORE, *OF_STORE])
def test_a_full_disk_is_one_line_and_nothing_is_left(command: str, own: Example, tmp_path: Path) -> None:
    command_line, code = {**WITHOUT_STORE, **OF_STORE}[command]
    with small_disk(tmp_path / "disk", "1m") as disk:
        arguments = command_line(own, disk)
        fill(disk)
        done = called(*arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert len(done.stderr.splitlines()) == 1
        assert str(disk) in done.stderr or "`x`" in done.stderr
        assert "free some space there" in done.stderr
        assert [path.name for path in disk.iterdir()] == ["filler"]


@pytest.mark.parametrize("command", WITHOUT_STORE)
def test_a_limit_on_the_size_of_files_is_one_line_and_nothing_is_left(
    command: str, own: Example, tmp_path: Path
) -> None:
    command_line, code = WITHOUT_STORE[command]
    place = tmp_path / "place"
    place.mkdir()
    arguments = command_line(own, place)
    with no_room(100):
        done = called(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    assert "File too large" in done.stderr
    assert "ulimit -f" in done.stderr
    assert not list(place.iterdir())


@pytest.mark.parametrize(("more", "room"), [(30_000, 10_000), (10, 100)])
def test_a_task_stays_where_the_new_one_finds_no_room(own: Example, tmp_path: Path, more: int, room: int) -> None:
    out = tmp_path / "task"
    skill = _skill(own)
    assert called("tasks", "pack", str(skill), "--out", str(out)).returncode == Exit.FINE
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (skill / "data.bin").write_bytes(os.urandom(more))
    with no_room(room):
        done = called("tasks", "pack", str(skill), "--out", str(out), "--replace")
    assert done.returncode == Exit.INPUT
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_files_that_were_begun_with_are_taken_back_where_one_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_bytes(b"dear")
    done = called("init", str(tmp_path), *INIT)
    assert done.returncode == Exit.INPUT
    assert done.stderr.endswith(f"{tmp_path}/secrets exists; name another folder\n")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("secrets", b"dear")]


def test_a_proof_goes_where_a_link_leads_and_into_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "proof.json")
    assert called("proof", "build", DEBATE, "--out", str(tmp_path / "link")).returncode == Exit.FINE
    assert (tmp_path / "link").is_symlink()
    assert called("proof", "verify", str(tmp_path / "proof.json")).returncode == Exit.FINE
    os.mkfifo(tmp_path / "pipe")
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        assert called("proof", "build", DEBATE, "--out", str(tmp_path / "pipe")).returncode == Exit.FINE
        assert reader.read() == (tmp_path / "proof.json").read_bytes()
