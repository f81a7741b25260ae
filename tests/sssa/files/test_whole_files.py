"""Files and folders are there whole or not at all, and nothing is written over that was not meant."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from no_room import no_room
from store_faults import fill, small_disk

from sssa import files
from sssa.files import OWN, PUBLIC, made_folders, new_file, put, write_file

DATA = b"data\n" * 10_000


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("mode", "umask", "rights"),
    [(OWN, 0o000, 0o600), (PUBLIC, 0o077, 0o644), (0o444, 0o077, 0o444), (None, 0o027, 0o640)],
)
def test_a_file_has_the_rights_that_were_asked_for(tmp_path: Path, mode: int | None, umask: int, rights: int) -> None:
    before = os.umask(umask)
    try:
        write_file(tmp_path / "a", DATA, mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "a").read_bytes() == DATA
    assert (tmp_path / "a").stat().st_mode & 0o777 == rights
    assert names(tmp_path) == ["a"]


def test_until_it_is_whole_it_has_another_name_and_nobody_else_reads_it(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"old", mode=PUBLIC)
    with new_file(tmp_path / "a", mode=PUBLIC, replace=True) as stream:
        stream.write(DATA)
        stream.flush()
        assert (tmp_path / "a").read_bytes() == b"old"
        (part,) = set(tmp_path.iterdir()) - {tmp_path / "a"}
        assert part.name.startswith(".a.")
        assert part.stat().st_mode & 0o777 == OWN
    assert (tmp_path / "a").read_bytes() == DATA
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("there", ["file", "folder", "link", "link to nothing", "pipe"])
def test_nothing_is_written_over_unless_asked(tmp_path: Path, there: str) -> None:
    place = tmp_path / "a"
    make: dict[str, Callable[[], Any]] = {
        "file": lambda: place.write_bytes(b"dear"),
        "folder": place.mkdir,
        "link": lambda: place.symlink_to(tmp_path),
        "link to nothing": lambda: place.symlink_to(tmp_path / "b"),
        "pipe": lambda: os.mkfifo(place),
    }
    make[there]()
    before = place.lstat()
    with pytest.raises(FileExistsError, match=f"{place}'$"):
        write_file(place, DATA)
    assert place.lstat() == before
    assert names(tmp_path) == ["a"]


def test_what_comes_meanwhile_is_left(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match=r"/a'$"), new_file(tmp_path / "a"):
        (tmp_path / "a").write_bytes(b"dear")
    assert (tmp_path / "a").read_bytes() == b"dear"
    assert names(tmp_path) == ["a"]


def test_a_file_system_without_links_takes_files_and_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    write_file(tmp_path / "a", DATA)
    (tmp_path / "part").write_bytes(b"other")
    with pytest.raises(FileExistsError):
        put(tmp_path / "part", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == DATA
    assert names(tmp_path) == ["a", "part"]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "dear").write_bytes(b"dear")
    (tmp_path / "link").symlink_to(tmp_path / "dear")
    write_file(tmp_path / "link", DATA, replace=True)
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "dear").read_bytes() == b"dear"


def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:  # has room for all of it
        write_file(tmp_path / "pipe", DATA, replace=True)
        assert reader.read() == DATA
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "null").symlink_to("/dev/null")  # never that itself: broken code would put a file in its place
    write_file(tmp_path / "null", DATA, replace=True)
    assert (tmp_path / "null").is_symlink()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError, OSError(5, "Input/output error")])
def test_what_is_broken_off_leaves_nothing_and_what_was_there(tmp_path: Path, error: Any) -> None:
    kind = error if isinstance(error, type) else type(error)
    write_file(tmp_path / "a", b"old")

    def broken_off(stream: BinaryIO) -> None:
        stream.write(DATA)
        raise error

    with pytest.raises(kind), new_file(tmp_path / "a", replace=True) as stream:
        broken_off(stream)
    with pytest.raises(kind), new_file(tmp_path / "b") as stream:
        broken_off(stream)
    with pytest.raises(kind), made_folders(tmp_path / "d" / "e"):
        raise error
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_no_room_leaves_nothing_and_what_was_there_and_names_the_file(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"old")
    for name, replace in (("a", True), ("b", False)):
        with no_room(100), pytest.raises(OSError, match="File too large") as caught:
            write_file(tmp_path / name, DATA, replace=replace)
        assert caught.value.filename == str(tmp_path / name)
        assert files.why(caught.value).startswith("File too large; raise the limit")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_leaves_nothing_and_what_was_there_and_names_the_file(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        write_file(disk / "a", b"old")
        fill(disk)
        for name, replace in (("a", True), ("b", False)):
            with pytest.raises(OSError, match="No space left on device") as caught:
                write_file(disk / name, DATA, replace=replace)
            assert caught.value.filename == str(disk / name)
            assert files.why(caught.value) == ("No space left on device; free some space there, or name another place")
        assert names(disk) == ["a", "filler"]
        assert (disk / "a").read_bytes() == b"old"


def test_other_errors_are_told_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(ConnectionRefusedError) as caught, new_file(tmp_path / "a"):
        raise ConnectionRefusedError(111, "Connection refused")
    assert caught.value.filename is None
    with pytest.raises(FileNotFoundError, match=r"/no/a'$"):
        write_file(tmp_path / "no" / "a", DATA)
    assert files.why(OSError("odd")) == "odd"


def _twice(file: Path) -> None:
    file.touch()
    file.touch(exist_ok=False)


def test_folders_are_made_and_stay_where_something_is_in_them(tmp_path: Path) -> None:
    with made_folders(tmp_path / "a" / "b", mode=0o700):
        pass
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    with pytest.raises(FileExistsError), made_folders(tmp_path / "a" / "c" / "d"):
        _twice(tmp_path / "a" / "c" / "mine")
    assert names(tmp_path / "a") == ["b", "c"]
    assert names(tmp_path / "a" / "c") == ["mine"]
    with pytest.raises(FileExistsError), made_folders(tmp_path / "a" / "c" / "mine"):
        pytest.fail("a file was there")


def test_a_long_name_has_a_part_too(tmp_path: Path) -> None:
    write_file(tmp_path / ("ä" * 127), DATA)
    assert names(tmp_path) == ["ä" * 127]
