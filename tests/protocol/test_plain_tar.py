"""Plain tars are read without tarfile: what is said of one is what tarfile says of it."""

import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from validator.protocol.archives import Entry, pack_tar, plain_files

NAMES = st.text("ab./ é", min_size=1, max_size=5) | st.sampled_from(["a" * 100, "a/" + "b" * 120])
FILES = st.dictionaries(NAMES, st.sampled_from([b"", b"x", b"y" * 512, b"z" * 700]), max_size=4)


def listed(tar: bytes) -> list[Entry]:
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        return [Entry(member.name, member.size, member.offset_data) for member in opened if member.isreg()]


def test_the_tars_that_are_packed_here_are_plain() -> None:
    tar = pack_tar({"a.txt": b"x" * 700, "b/c.json": b"", "d" * 100: b"1"})
    assert plain_files(tar, 3) == listed(tar)
    assert [entry.name for entry in listed(tar)] == ["a.txt", "b/c.json", "d" * 100]


def test_a_tar_of_more_files_is_not_read_to_its_end() -> None:
    tar = pack_tar({f"{i}": b"" for i in range(9)})
    assert plain_files(tar, 3) == listed(tar)[:4]


@given(FILES, st.lists(st.tuples(st.integers(0, 4096), st.integers(0, 255)), max_size=2), st.none() | st.integers(0, 9))
def test_a_plain_tar_holds_what_tarfile_finds(
    files: dict[str, bytes], touches: list[tuple[int, int]], cut: int | None
) -> None:
    data = bytearray(pack_tar(files))
    for place, byte in touches:
        data[place % len(data)] = byte
    tar = bytes(data if cut is None else data[: cut * 300])
    found = plain_files(tar, 9)
    if found is not None:
        assert found == listed(tar)
    elif not touches and cut is None and all(name.isascii() and len(name) <= 100 for name in files):
        assert not files


def test_what_is_not_plain_is_left_to_tarfile() -> None:
    in_two = tarfile.TarInfo("a" * 60 + "/" + "b" * 60)
    for info in (tarfile.TarInfo("é"), in_two, folder(), linked()):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            tar.addfile(info)
        assert plain_files(raw.getvalue(), 9) is None
    assert plain_files(b"", 9) is None
    assert plain_files(bytes(1024), 9) is None


def folder() -> tarfile.TarInfo:
    info = tarfile.TarInfo("a")
    info.type = tarfile.DIRTYPE
    return info


def linked() -> tarfile.TarInfo:
    info = tarfile.TarInfo("a")
    info.linkname = "b"
    return info
