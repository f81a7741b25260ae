"""The directory digest of a skill is the same in every container, and that of other tools (SPEC 13, D-47)."""

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from archive_forms import FORMS, suffix_of

from sssa.attestation.directory_digest import NoDigestError, bundle_content, read_content
from sssa.protocol import limits
from sssa.protocol.archives import pack

FILES = {
    "SKILL.md": b"---\nname: a-skill\n---\n",
    "a.py": b"print(1)\n" * 2_000,
    "a/b.py": b"",
    ".git/HEAD": b"ref: x\n",
    "é.md": b"\xff\x00",
    "x.pyc": b"y",
    "\U0001f600": b"smile",
    "\uffee": b"before a smile, by code point",
}
SSSA = [sys.executable, "-c", "from sssa.cli import main; main()"]


def by_shell(folder: Path) -> str:
    """The digest as coreutils make it: Go's directory hash 1, in hex."""
    command = r"find . -type f -printf '%P\0' | sort -z | xargs -0 sha256sum | sha256sum"
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True
    )
    return done.stdout.decode()[:64]


def folder_of(place: Path) -> Path:
    for name, data in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def tar_of(top: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in FILES.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def by_gzip(data: bytes) -> bytes:
    """The program uses its own deflate implementation."""
    return subprocess.run(["gzip", "-nc"], input=data, capture_output=True, check=True).stdout


def containers(place: Path) -> Iterator[Path]:
    yield folder_of(place / "one name")
    yield folder_of(place / "another")
    for name, data in {
        "skill.tar": tar_of(""),
        "below-a-folder.tar": tar_of("skill-1.0/"),
        "bundle.tar.gz": pack(FILES),
        "another-zlib.tar.gz": by_gzip(tar_of("x/")),
        "npm.tgz": by_gzip(tar_of("package/")),
    }.items():
        (place / name).write_bytes(data)
        yield place / name
    for name, method in (("skill.zip", zipfile.ZIP_DEFLATED), ("skill-1.0-py3-none-any.whl", zipfile.ZIP_STORED)):
        with zipfile.ZipFile(place / name, "w", method) as archive:
            for each, data in FILES.items():
                archive.writestr(each, data)
        yield place / name


def test_equal_skills_have_one_digest_in_every_container(tmp_path: Path) -> None:
    expected = by_shell(folder_of(tmp_path / "shell"))
    paths = list(containers(tmp_path))
    assert {path.name: read_content(path).digest for path in paths} == {path.name: expected for path in paths}
    gzipped = [path.read_bytes() for path in paths if path.name in {"bundle.tar.gz", "another-zlib.tar.gz"}]
    assert gzipped[0] != gzipped[1]


def test_the_program_prints_digests_and_files(tmp_path: Path) -> None:
    paths = [str(path) for path in containers(tmp_path)]
    done = subprocess.run([*SSSA, "digest", *paths], capture_output=True, text=True, check=True)
    digest = by_shell(tmp_path / "another")
    assert done.stdout.splitlines() == [f"{digest}  {path}" for path in paths]
    (tmp_path / "link").symlink_to("another")
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "link").symlink_to("/etc/passwd")
    more = [*SSSA, "digest", "--files", "--json", paths[0], str(tmp_path / "hidden")]
    done = subprocess.run(more, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "`link` is neither a regular file nor a folder" in done.stderr
    known, unknown = json.loads(done.stdout)["skills"]
    assert (known["digest"], list(known["files"])) == (digest, sorted(FILES))
    assert unknown["digest"] is None


def test_the_common_folder_of_a_tar_alone_is_left_off(tmp_path: Path) -> None:
    (tmp_path / "up" / "docs").mkdir(parents=True)
    (tmp_path / "up" / "docs" / "a.md").write_bytes(b"a")
    with zipfile.ZipFile(tmp_path / "docs.zip", "w") as archive:
        archive.writestr("docs/a.md", b"a")
    (tmp_path / "docs.tar.gz").write_bytes(pack({"docs/a.md": b"a"}))
    below, above = read_content(tmp_path / "up").digest, read_content(tmp_path / "up" / "docs").digest
    assert read_content(tmp_path / "docs.zip").digest == below
    assert read_content(tmp_path / "docs.tar.gz").digest == above != below


def test_what_packing_added_is_no_part_of_the_digest(tmp_path: Path) -> None:
    packed = {**FILES, "manifest.json": b"{}"}
    assert bundle_content(packed, ("manifest.json",)).digest == read_content(folder_of(tmp_path)).digest
    assert bundle_content(packed).digest != bundle_content(packed, ("manifest.json",)).digest
    added = {"docs/a.md": b"a", "manifest.json": b"{}"}
    assert list(bundle_content(added, ("manifest.json",)).files) == ["docs/a.md"]


@contextmanager
def small(limit: str, value: int) -> Iterator[None]:
    with mock.patch.object(limits, limit, value):
        yield


UNKNOWN: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda skill: (skill / "a").symlink_to("SKILL.md"), "neither a regular file nor a folder"),
    "a link to a folder": (lambda skill: (skill / "a").symlink_to("/etc"), "neither a regular file nor a folder"),
    "a pipe": (lambda skill: os.mkfifo(skill / "a"), "neither a regular file nor a folder"),
    "a direction mark": (lambda skill: (skill / "a\u202eb").write_bytes(b""), "not a plain relative NFC name"),
    "a line break": (lambda skill: (skill / "a\nb").write_bytes(b""), "not a plain relative NFC name"),
    "no UTF-8": (lambda skill: Path(os.fsdecode(bytes(skill) + b"/\xff")).write_bytes(b""), "not a plain relative"),
    "case alone": (lambda skill: (skill / "skill.MD").write_bytes(b""), "differ in case alone"),
    "a folder in other case": (lambda skill: (skill / "Skill.md").mkdir(), "is both a file and a folder"),
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_a_folder_that_cannot_be_told_has_no_digest(tmp_path: Path, form: str) -> None:
    make, fault = UNKNOWN[form]
    (tmp_path / "SKILL.md").write_bytes(b"x")
    read_content(tmp_path)
    make(tmp_path)
    with pytest.raises(NoDigestError, match=fault):
        read_content(tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_that_two_readers_read_differently_has_no_digest(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"skill{suffix_of(FORMS[form])}"
    path.write_bytes(FORMS[form])
    with pytest.raises(NoDigestError, match="is ambiguous"):
        read_content(path)


def test_a_skill_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(NoDigestError, match="there are no files"):
        read_content(tmp_path)
    with pytest.raises(NoDigestError, match="No such file"):
        read_content(tmp_path / "nothing")
    folder_of(tmp_path)
    with small("MAX_PACKAGE_ENTRIES", 3), pytest.raises(NoDigestError, match="too many entries"):
        read_content(tmp_path)
    with small("MAX_PACKAGE_EXPANDED", 10_000), pytest.raises(NoDigestError, match="over their size limit"):
        read_content(tmp_path)
