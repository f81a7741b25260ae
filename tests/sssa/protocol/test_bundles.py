"""Bundles: packing is deterministic, unpacking trusts nothing (SPEC 13)."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol import limits
from sssa.protocol.answer import canary_marker
from sssa.protocol.archives import ArchiveError, pack
from sssa.protocol.bundles import count_lines, index_bundle, read_bundle, with_canary

NONCE = "ab" * 32
names = st.lists(st.sampled_from(["a", "b", "ü", "c.md", "dé"]), min_size=1, max_size=3).map("/".join)
trees = st.dictionaries(names, st.binary(max_size=300), max_size=6)


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue())


def entry(name: str) -> tarfile.TarInfo:
    return tarfile.TarInfo(name)


def conflicts(files: dict[str, bytes]) -> bool:
    return any(other.startswith(name + "/") for name in files for other in files)


@given(trees)
def test_what_was_packed_comes_out_again_and_equal_trees_give_equal_bytes(files: dict[str, bytes]) -> None:
    packed = pack(files)
    assert pack(dict(reversed(files.items()))) == packed
    if conflicts(files):
        with pytest.raises(ArchiveError):
            read_bundle(packed)
    else:
        assert read_bundle(packed) == files


@given(st.binary(max_size=400))
def test_any_bytes_are_a_bundle_or_an_archive_error(data: bytes) -> None:
    for candidate in (data, gzip.compress(data)):
        try:
            read_bundle(candidate)
        except ArchiveError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up", "a/../../b", "a\\b", "nul\x01", "u\u0308", "..", "line\nbreak"]
)
def test_names_that_lead_outside_or_deceive_are_refused(name: str) -> None:
    with pytest.raises(ArchiveError):
        read_bundle(tar_of((entry(name), b"x")))


def test_bombs_are_refused_before_they_expand() -> None:
    ratio = tar_of((entry("zeros"), bytes(8 * limits.MIB)))
    with pytest.raises(ArchiveError, match="size limit"):
        read_bundle(ratio)
    endless = gzip.compress(bytes(100 * limits.MIB))
    with pytest.raises(ArchiveError, match="size limit"):
        read_bundle(endless)
    many = tar_of(*((entry(f"f{i}"), b"") for i in range(limits.MAX_BUNDLE_ENTRIES + 1)))
    with pytest.raises(ArchiveError, match="entries"):
        read_bundle(many)


def test_damage_and_bytes_after_the_end_are_refused() -> None:
    whole = pack({"a": b"x" * 1000})
    for broken in (whole[:-5], whole + b"more", b"", b"\x1f\x8b", whole[:20] + b"\0" + whole[21:]):
        with pytest.raises(ArchiveError):
            read_bundle(broken)


@pytest.mark.parametrize(
    ("content", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2)]
)
def test_lines_are_newlines_and_one_more_for_an_unterminated_last_one(content: bytes, lines: int) -> None:
    assert count_lines(content) == lines


@pytest.mark.parametrize(("path", "content"), [("a.md", b"one\ntwo"), ("a.txt", b"one\n"), ("a.md", b"")])
def test_the_marker_is_a_last_line_of_its_own_and_shifts_nothing(path: str, content: bytes) -> None:
    files = read_bundle(with_canary({path: content, "b": b"kept"}, path, NONCE))
    assert files["b"] == b"kept"
    assert files[path].startswith(content)
    last = files[path].decode().splitlines()[-1]
    marker = canary_marker(NONCE)
    assert last == (f"<!-- {marker} -->" if path.endswith(".md") else marker)
    assert index_bundle(files)[0].lines == count_lines(content) + 1


def test_a_marker_needs_its_file() -> None:
    with pytest.raises(ArchiveError, match="not in the bundle"):
        with_canary({"a": b""}, "b", NONCE)
